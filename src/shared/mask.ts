/**
 * Keeps card numbers out of everything that is stored, logged or answered (docs/design.md 6.2): at
 * most the first six and last four digits stay.
 */

const KEPT_FIRST = 6;
const KEPT_LAST = 4;
const PAN_DIGITS_MIN = 12;
const PAN_DIGITS_MAX = 19;

/** Masks a card number given as digits, with any character already masking some of them. */
export function maskPan(pan: string): string {
  const length = pan.length;
  if (length <= KEPT_FIRST + KEPT_LAST) return "X".repeat(length);
  return [...pan]
    .map((c, i) => (i < KEPT_FIRST || i >= length - KEPT_LAST ? digitOrMask(c) : "X"))
    .join("");
}

function digitOrMask(c: string): string {
  return c >= "0" && c <= "9" ? c : "X";
}

const doubled = (digit: number): number => (digit > 4 ? digit * 2 - 9 : digit * 2);

/**
 * Replaces every card number in a text, also one inside a longer run of digits. A stretch counts as
 * a card number when scheme prefix, length and check digit fit. Takes time in proportion to the
 * length of the text: every log line passes here.
 */
export function maskPansInText(text: string): string {
  const inRuns = hasLongRun.test(text) ? hidden(text, digitRuns(text), cardNumbersIn) : text;
  return hasCardForm.test(inRuns) ? hidden(inRuns, cardForms(inRuns), cardNumbersOf) : inRuns;
}

/**
 * {@link maskPansInText} of an address, which a browser has encoded: there digits of the encoding
 * stand between those of the number. Decoded only where it holds one.
 */
export function maskPansInUrl(url: string): string {
  const plain = url.replaceAll("+", " ").replace(/(?:%[\da-f]{2})+/gi, decodedOr);
  const masked = maskPansInText(plain);
  return masked === plain ? maskPansInText(url) : masked;
}

function decodedOr(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function hidden(
  text: string,
  runs: Iterable<Run>,
  numbersIn: (run: Run) => Iterable<Stretch>,
): string {
  const places = new Set<number>();
  for (const run of runs) {
    for (const { first, length } of numbersIn(run)) {
      for (let i = first + KEPT_FIRST; i < first + length - KEPT_LAST; i++) {
        places.add(run.positions[i] as number);
      }
    }
  }
  let masked = "";
  let copied = 0;
  for (const at of [...places].sort((a, b) => a - b)) {
    masked += `${text.slice(copied, at)}X`;
    copied = at + 1;
  }
  return masked + text.slice(copied);
}

/**
 * Whether a text holds a card number written as a number of its own: one or more whole groups of
 * digits. This test is stricter than the masking, because it decides about refusing an order
 * number, and every tenth number of any kind has a correct check digit.
 */
export function containsPan(text: string): boolean {
  for (const run of hasCardForm.test(text) ? cardForms(text) : []) {
    if (cardNumbersOf(run).some(({ length }) => startsGroup(run, length))) return true;
  }
  if (!hasLongRun.test(text)) return false;
  for (const run of digitRuns(text)) {
    for (const { first, length } of cardNumbersIn(run)) {
      if (startsGroup(run, first) && startsGroup(run, first + length)) return true;
    }
  }
  return false;
}

/** Digits that follow each other with few separators between two of them. */
interface Run {
  readonly text: string;
  readonly digits: readonly number[];
  /** Where in the text each digit stands. */
  readonly positions: readonly number[];
}

/**
 * Full stop, and blank and hyphen in every form that Unicode has, because a page or a printer sets
 * typographic ones by itself. The hyphen comes first, where a class of a regular expression means
 * it as it is.
 */
export const separators =
  "- .\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u202f\u205f" +
  "\u2060\u3000\ufeff\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d";

/** A receipt may spread a card number over its width. */
const SEPARATORS_MAX = 2;

/** A run that {@link digitRuns} gives: most texts have none, and are not looked at one by one. */
const hasLongRun = new RegExp(
  `\\d(?:[${separators}]{0,${SEPARATORS_MAX}}\\d){${PAN_DIGITS_MIN - 1}}`,
);

/** By a search: a receipt is looked through for each payment, and little of it is such a run. */
function* digitRuns(text: string): Generator<Run> {
  const search = new RegExp(hasLongRun, "g");
  for (let found = search.exec(text); found; found = search.exec(text)) {
    const run = digitRunAt(text, found.index);
    yield run;
    search.lastIndex = (run.positions.at(-1) as number) + 1;
  }
}

/** From a digit on to the last one of its run. */
function digitRunAt(text: string, start: number): Run {
  const digits: number[] = [];
  const positions: number[] = [];
  let last = start;
  for (let at = start; at < text.length && at - last <= SEPARATORS_MAX + 1; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9) {
      digits.push(digit);
      positions.push(at);
      last = at;
    } else if (!separators.includes(text.charAt(at))) break;
  }
  return { text, digits, positions };
}

/**
 * Digits grouped as on a card, 4-4-4-4-3 or 4-6-5, and joined by a character that also joins dates,
 * times and paths: there only these groups count, and only from their first digit on. The first and
 * the last group may be part of a longer one.
 */
const joint = (name: string): string => ` ?(?<${name}>[/_:]) ?`;
const again = (name: string): string => ` ?\\k<${name}> ?`;
const cardForm =
  `\\d{4}${joint("four")}\\d{4}${again("four")}\\d{4}${again("four")}` +
  `\\d{1,7}(?:${again("four")}\\d{1,3})?|\\d{4}${joint("six")}\\d{6}${again("six")}\\d{4,9}`;
const hasCardForm = new RegExp(cardForm);

function* cardForms(text: string): Generator<Run> {
  for (const found of text.matchAll(new RegExp(`(?=(?<form>${cardForm}))`, "g"))) {
    const digits: number[] = [];
    const positions: number[] = [];
    for (const [i, character] of [...(found.groups?.["form"] ?? "")].entries()) {
      if (!/\d/.test(character)) continue;
      digits.push(Number(character));
      positions.push(found.index + i);
    }
    if (digits.length >= PAN_DIGITS_MIN) yield { text, digits, positions };
  }
}

const cardNumbersOf = (run: Run): Stretch[] =>
  [...cardNumbersIn(run)].filter(({ first }) => first === 0);

interface Stretch {
  /** Index of the first digit in the run. */
  readonly first: number;
  readonly length: number;
}

/** Every stretch of a run that counts as a card number. */
function* cardNumbersIn(run: Run): Generator<Stretch> {
  const { digits } = run;
  const [plainFromEven, plainFromOdd] = luhnSums(digits);
  for (let first = 0; first + PAN_DIGITS_MIN <= digits.length; first++) {
    const lengths = lengthsOf(digits, first);
    for (let length = PAN_DIGITS_MAX; lengths !== 0 && length >= PAN_DIGITS_MIN; length--) {
      const end = first + length;
      if ((lengths & (1 << length)) === 0 || end > digits.length) continue;
      // The check digit counts plain, as does every second one before it.
      const sums = (end - 1) % 2 === 0 ? plainFromEven : plainFromOdd;
      if (((sums[end] as number) - (sums[first] as number)) % 10 !== 0) continue;
      if (!isKnownOtherNumber(run, first, length)) yield { first, length };
    }
  }
}

/** Running sums in which the digits at even, or at odd, places are plain and the others doubled. */
function luhnSums(digits: readonly number[]): readonly [even: Int32Array, odd: Int32Array] {
  const even = new Int32Array(digits.length + 1);
  const odd = new Int32Array(digits.length + 1);
  for (const [i, digit] of digits.entries()) {
    even[i + 1] = (even[i] as number) + (i % 2 === 0 ? digit : doubled(digit));
    odd[i + 1] = (odd[i] as number) + (i % 2 === 1 ? digit : doubled(digit));
  }
  return [even, odd];
}

/** Issuer prefixes (ISO/IEC 7812), four digits, with the lengths their schemes use. */
const schemes: ReadonlyArray<readonly [from: number, to: number, min: number, max: number]> = [
  [4000, 4999, 13, 19], // Visa
  [5100, 5599, 16, 16], // Mastercard
  [2221, 2720, 16, 16], // Mastercard
  [3400, 3499, 15, 15], // American Express
  [3700, 3799, 15, 15], // American Express
  [3000, 3059, 14, 19], // Diners
  [3095, 3095, 14, 19], // Diners
  [3600, 3699, 14, 19], // Diners
  [3800, 3999, 14, 19], // Diners
  [3528, 3589, 16, 19], // JCB
  [5000, 5099, 12, 19], // Maestro
  [5600, 5899, 12, 19], // Maestro
  [6000, 6999, 12, 19], // Maestro, girocard, Discover, UnionPay, RuPay
  [8100, 8299, 16, 19], // UnionPay, RuPay
  [2200, 2204, 16, 19], // Mir
  [9792, 9792, 16, 16], // Troy
];

/** For each four-digit prefix the bits of the lengths a card number with it may have. */
const lengthsByPrefix = new Uint32Array(10_000);
for (const [from, to, min, max] of schemes) {
  for (let prefix = from; prefix <= to; prefix++) {
    for (let length = min; length <= max; length++) {
      lengthsByPrefix[prefix] = (lengthsByPrefix[prefix] as number) | (1 << length);
    }
  }
}

function lengthsOf(digits: readonly number[], first: number): number {
  return lengthsByPrefix[numberAt(digits, first, 4)] ?? 0;
}

function numberAt(digits: readonly number[], first: number, count: number): number {
  let number = 0;
  for (let i = first; i < first + count; i++) number = number * 10 + (digits[i] ?? 0);
  return number;
}

/**
 * Numbers that are surely something else though prefix, length and check digit fit by chance. Each
 * is told by its form alone, which no card number in use can have: a masked log must stay readable,
 * but never at the price of a card number.
 */
function isKnownOtherNumber(run: Run, first: number, length: number): boolean {
  return (
    isInUuid(run, first, length) ||
    isArticleNumber(run, first, length) ||
    isTelephoneNumber(run, first, length) ||
    isInDatedNumber(run, first, length)
  );
}

/** Whether a group of digits starts at this index, or the run has ended before it. */
function startsGroup({ positions }: Run, index: number): boolean {
  return index === 0 || positions[index] !== (positions[index - 1] as number) + 1;
}

const UUID_CHARACTERS = 36;
const UUID_FIRST_HYPHEN = 8;
const uuid = /(?<!\w)[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}(?!\w)/iy;

/** The last four of a UUID's first group begin the one stretch that is grouped like a card. */
const UUID_CARD_OFFSET = 4;

function isInUuid({ text, positions }: Run, first: number, length: number): boolean {
  const from = positions[first] as number;
  const to = positions[first + length - 1] as number;
  for (let start = Math.max(0, to - UUID_CHARACTERS + 1); start <= from; start++) {
    if (text[start + UUID_FIRST_HYPHEN] !== "-") continue; // spares the search in plain digits
    uuid.lastIndex = start;
    if (from - start !== UUID_CARD_OFFSET && uuid.test(text)) return true;
  }
  return false;
}

const ARTICLE_DIGITS = 13;

/** EAN-13 on its own with a correct check digit; cards of 13 digits are no longer issued. */
function isArticleNumber(run: Run, first: number, length: number): boolean {
  let start = first;
  while (first - start < ARTICLE_DIGITS && !startsGroup(run, start)) start--;
  if (!startsGroup(run, start)) return false;
  const end = start + ARTICLE_DIGITS;
  if (first + length > end || end > run.digits.length || !startsGroup(run, end)) return false;
  let sum = 0;
  for (let i = start; i < end; i++) {
    if (i > start && startsGroup(run, i)) return false;
    sum += (run.digits[i] as number) * ((i - start) % 2 === 0 ? 1 : 3);
  }
  return sum % 10 === 0;
}

const TELEPHONE_DIGITS_MAX = 13;

/** "+49 151 23456789": a plus sign and a country code of one to three digits set apart. */
function isTelephoneNumber(run: Run, first: number, length: number): boolean {
  const begins = run.text[(run.positions[0] as number) - 1] === "+";
  const apart = [1, 2, 3].find((index) => startsGroup(run, index));
  return begins && apart !== undefined && first < apart && length <= TELEPHONE_DIGITS_MAX;
}

/** Maestro allows 12 to 15 digits as well, which fit numbers such as 20261121-0001234. */
function isInDatedNumber(run: Run, first: number, length: number): boolean {
  if (length > 15 || ![5, 6].includes(run.digits[first] as number)) return false;
  for (let start = Math.max(0, first - 7); start < first; start++) {
    if (!startsGroup(run, start)) continue;
    const date = String(numberAt(run.digits, start, 8));
    if (/^20\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.test(date)) return true;
  }
  return false;
}
