import { cardNumbersIn, type Run, type Stretch, startsGroup } from "./card-numbers.ts";
import { type Form, nothing, numbersOf, type Region, readingsOf, walk } from "./written-digits.ts";

/*
 * This file masks card numbers in everything that is stored, logged or answered (docs/design.md
 * 6.2): at most the first six and the last four digits stay.
 */

const KEPT_FIRST = 6;
const KEPT_LAST = 4;

/** Masks a card number; some of its digits may be masked already, by any character. */
export function maskPan(pan: string): string {
  const length = pan.length;
  if (length <= KEPT_FIRST + KEPT_LAST) return "X".repeat(length);
  return [...pan]
    .map((c, i) => {
      const isKept = i < KEPT_FIRST || i >= length - KEPT_LAST;
      return isKept && c >= "0" && c <= "9" ? c : "X";
    })
    .join("");
}

/**
 * Masks every card number in a text, even inside longer numbers. Digits count as a card number if
 * scheme prefix, length and check digit are those of a card, in whatever form they are written. The
 * text keeps its length. The time is proportional to the length, because every log line is masked.
 * `read`: the text of the same length that is searched instead: a URL with a blank for each plus.
 */
export function maskPansInText(text: string, read = text): string {
  const walked = walk(read);
  if (walked === nothing) return text;
  const masked = new Set(positionsIn(read, walked.regions));
  for (const { text: other, starts, ends } of walked.isEncoded ? readingsOf(read) : []) {
    for (const position of positionsIn(other, walk(other).regions)) {
      for (let at = starts[position] as number; at < (ends[position] as number); at++) {
        masked.add(at);
      }
    }
  }
  let result = "";
  let copied = 0;
  for (const at of [...masked].sort((a, b) => a - b)) {
    result += `${text.slice(copied, at)}X`;
    copied = at + 1;
  }
  return result + text.slice(copied);
}

/** Masks every card number in a URL, in which a plus sign is a blank. */
export function maskPansInUrl(url: string): string {
  return maskPansInText(url, url.replaceAll("+", " "));
}

/** A value nested deeper than this becomes null; no answer of the gateway is so deep. */
const NESTING_MAX = 20;

/** Masks the card numbers in a JSON value's texts; `withNumbers`: in its whole numbers too. */
export function maskPansInValue(value: unknown, withNumbers = false, depth = 0): unknown {
  if (depth > NESTING_MAX) return null;
  if (typeof value === "string") return maskPansInText(value);
  if (withNumbers && Number.isInteger(value)) {
    const text = maskPansInText(String(value));
    return text === String(value) ? value : text;
  }
  const inner = (one: unknown): unknown => maskPansInValue(one, withNumbers, depth + 1);
  if (Array.isArray(value)) return value.map(inner);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]));
}

function* positionsIn(text: string, regions: readonly Region[]): Generator<number> {
  for (const { run, number } of numbersIn(text, regions)) {
    const { first, length } = number;
    const end = first + length;
    for (let i = first + KEPT_FIRST; i < end - KEPT_LAST; i++) yield run.positions[i] as number;
    yield* restOfTrack(text, (run.positions[end - 1] as number) + 1);
  }
}

/** The rest of a magnetic stripe after the card number: expiry, service code, issuer's data. */
const trackRest = /(?:[=d]|\^[^^]{2,26}\^)(?<data>\d{7,})/iy;

function* restOfTrack(text: string, end: number): Generator<number> {
  trackRest.lastIndex = end;
  const data = trackRest.exec(text)?.groups?.["data"] ?? "";
  const after = trackRest.lastIndex;
  for (let at = after - data.length; at < after; at++) yield at;
}

interface CardNumber {
  readonly run: Run;
  readonly number: Stretch;
  /** Whether the card number stands alone, not inside a longer number or a list of numbers. */
  readonly isOwn: boolean;
}

function* numbersIn(text: string, regions: readonly Region[]): Generator<CardNumber> {
  for (const region of regions) {
    const { runs, forms } = numbersOf(text, region);
    for (const run of runs) {
      for (const number of cardNumbersIn(run)) {
        yield { run, number, isOwn: startsGroup(run, number.first) && endsGroup(run, number) };
      }
    }
    for (const form of forms) yield* numbersOfForm(form);
  }
}

/** Yields the card numbers at the start of grouped digits; a list counts only as a whole. */
function* numbersOfForm({ run, isList, ...form }: Form): Generator<CardNumber> {
  for (const number of cardNumbersIn(run)) {
    const isAll = number.length === run.digits.length;
    if (number.first > 0 || (isList && !isAll)) continue;
    const ends = isAll ? form.endsGroup : endsGroup(run, number);
    yield { run, number, isOwn: form.beginsGroup && ends && !isList };
  }
}

const endsGroup = (run: Run, { first, length }: Stretch): boolean =>
  startsGroup(run, first + length);

/**
 * Whether a text holds a card number that consists of whole groups of digits. This check finds
 * fewer numbers than the masking does, because its finds make an order refused, and every tenth
 * number of any kind has a correct check digit.
 */
export function containsPan(text: string): boolean {
  const walked = walk(text);
  if (holdsWhole(text, walked)) return true;
  return walked.isEncoded && readingsOf(text).some((other) => holdsWhole(other.text));
}

function holdsWhole(text: string, { regions } = walk(text)): boolean {
  return numbersIn(text, regions).some(({ isOwn }) => isOwn);
}
