/*
 * This file finds the digits that count as a card number (docs/design.md 6.2): their prefix, length
 * and check digit are those of a card scheme, and the number is not certainly something else.
 */

export const PAN_DIGITS_MIN = 12;
const PAN_DIGITS_MAX = 19;

/** Digits of a text that are read as one number, although separators may stand between them. */
export interface Run {
  readonly text: string;
  readonly digits: readonly number[];
  readonly positions: readonly number[];
}

/** What each digit adds to the Luhn checksum at a position where it is doubled. */
const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];

export interface Stretch {
  readonly first: number;
  readonly length: number;
}

/** Yields every part of a run of digits that counts as a card number. */
export function* cardNumbersIn(run: Run): Generator<Stretch> {
  const { digits } = run;
  const [plainFromEven, plainFromOdd] = luhnSums(digits);
  for (let first = 0; first + PAN_DIGITS_MIN <= digits.length; first++) {
    const lengths = lengthsByPrefix[numberAt(digits, first, 4)] ?? 0;
    for (let length = PAN_DIGITS_MAX; lengths !== 0 && length >= PAN_DIGITS_MIN; length--) {
      const end = first + length;
      if ((lengths & (1 << length)) === 0 || end > digits.length) continue;
      // The Luhn sum doubles every second digit, beginning with the one before the check digit.
      const sums = (end - 1) % 2 === 0 ? plainFromEven : plainFromOdd;
      if (((sums[end] as number) - (sums[first] as number)) % 10 !== 0) continue;
      if (!isKnownOtherNumber(run, first, length)) yield { first, length };
    }
  }
}

/** Returns running Luhn sums for a check digit at an even index (`even`) and an odd one (`odd`). */
function luhnSums(digits: readonly number[]): readonly [even: Int32Array, odd: Int32Array] {
  const even = new Int32Array(digits.length + 1);
  const odd = new Int32Array(digits.length + 1);
  for (const [i, digit] of digits.entries()) {
    even[i + 1] = (even[i] as number) + ((i % 2 === 0 ? digit : doubled[digit]) as number);
    odd[i + 1] = (odd[i] as number) + ((i % 2 === 1 ? digit : doubled[digit]) as number);
  }
  return [even, odd];
}

/** The ranges of card schemes' first four digits (ISO/IEC 7812), with their numbers' lengths. */
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

/** A bit set for each prefix of four digits: the lengths of the card numbers with this prefix. */
const lengthsByPrefix = new Uint32Array(10_000);
for (const [from, to, min, max] of schemes) {
  for (let prefix = from; prefix <= to; prefix++) {
    for (let length = min; length <= max; length++) {
      lengthsByPrefix[prefix] = (lengthsByPrefix[prefix] as number) | (1 << length);
    }
  }
}

function numberAt(digits: readonly number[], first: number, count: number): number {
  let number = 0;
  for (let i = first; i < first + count; i++) number = number * 10 + (digits[i] ?? 0);
  return number;
}

/**
 * Whether a number is certainly no card number, although prefix, length and check digit agree. Each
 * kind has a form that no card number in use has; leaving them unmasked keeps logs readable.
 */
function isKnownOtherNumber(run: Run, first: number, length: number): boolean {
  return (
    isInUuid(run, first, length) ||
    isArticleNumber(run, first, length) ||
    isTelephoneNumber(run, first, length) ||
    isInDatedNumber(run, first, length)
  );
}

/** Whether a group of adjacent digits starts at this index, or the run ends there. */
export function startsGroup({ positions }: Run, index: number): boolean {
  return index === 0 || positions[index] !== (positions[index - 1] as number) + 1;
}

const UUID_CHARACTERS = 36;
const UUID_FIRST_HYPHEN = 8;
const uuid = /(?<!\w)[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}(?!\w)/iy;

/** The position in a UUID of the only digits that are grouped like a card number: 4-4-4-4. */
const UUID_CARD_OFFSET = 4;

function isInUuid({ text, positions }: Run, first: number, length: number): boolean {
  const from = positions[first] as number;
  const to = positions[first + length - 1] as number;
  for (let start = Math.max(0, to - UUID_CHARACTERS + 1); start <= from; start++) {
    if (text[start + UUID_FIRST_HYPHEN] !== "-") continue;
    uuid.lastIndex = start;
    if (from - start !== UUID_CARD_OFFSET && uuid.test(text)) return true;
  }
  return false;
}

const ARTICLE_DIGITS = 13;

/** Whether a number lies in a correct EAN-13 article number; no new cards have 13 digits. */
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

/** Whether a number is a telephone number with a separate country code: "+49 151 23456789". */
function isTelephoneNumber(run: Run, first: number, length: number): boolean {
  const begins = run.text[(run.positions[0] as number) - 1] === "+";
  const apart = [1, 2, 3].find((index) => startsGroup(run, index));
  return begins && apart !== undefined && first < apart && length <= TELEPHONE_DIGITS_MAX;
}

/** Whether a number of at most 15 digits, as Maestro has, is part of one like 20261121-0001234. */
function isInDatedNumber(run: Run, first: number, length: number): boolean {
  if (length > 15 || ![5, 6].includes(run.digits[first] as number)) return false;
  for (let start = Math.max(0, first - 7); start < first; start++) {
    if (!startsGroup(run, start)) continue;
    const date = String(numberAt(run.digits, start, 8));
    if (/^20\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.test(date)) return true;
  }
  return false;
}
