import { cardNumbersIn, type Run, type Stretch, startsGroup } from "./card-numbers.ts";
import { type Form, nothing, numbersOf, type Region, readingsOf, walk } from "./written-digits.ts";

/**
 * Keeps card numbers out of everything that is stored, logged or answered (docs/design.md 6.2): at
 * most the first six and last four digits stay.
 */

const KEPT_FIRST = 6;
const KEPT_LAST = 4;

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

/**
 * Replaces every card number in a text, also one inside a longer run of digits. A stretch counts as
 * a card number when scheme prefix, length and check digit fit; however its digits are written, the
 * text keeps its length. Takes time in proportion to the length of the text: every log line passes
 * here.
 */
export function maskPansInText(text: string): string {
  return hidden(text, text);
}

/** {@link maskPansInText} of an address, in which a plus sign is a blank. */
export function maskPansInUrl(url: string): string {
  return hidden(url, url.replaceAll("+", " "));
}

/** Deeper than any true answer. */
const NESTING_MAX = 20;

/** A value of JSON, with the card numbers in its texts masked; also in whole numbers if wanted. */
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

/** `read` says, character by character, how the text is to be read. */
function hidden(text: string, read: string): string {
  const walked = walk(read);
  if (walked === nothing) return text;
  const places = new Set(placesIn(read, walked.regions));
  for (const { text: other, starts, ends } of walked.isEncoded ? readingsOf(read) : []) {
    for (const place of placesIn(other, walk(other).regions)) {
      for (let at = starts[place] as number; at < (ends[place] as number); at++) places.add(at);
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

/** Of every digit that must not be seen. */
function* placesIn(text: string, regions: readonly Region[]): Generator<number> {
  for (const { run, number } of numbersIn(text, regions)) {
    const { first, length } = number;
    const end = first + length;
    for (let i = first + KEPT_FIRST; i < end - KEPT_LAST; i++) yield run.positions[i] as number;
    yield* restOfTrack(text, (run.positions[end - 1] as number) + 1);
  }
}

/** Behind the number on a magnetic stripe: expiry, service code and the issuer's own data. */
const trackRest = /(?:[=d]|\^[^^]{2,26}\^)(?<data>\d{7,})/iy;

function* restOfTrack(text: string, end: number): Generator<number> {
  trackRest.lastIndex = end;
  const data = trackRest.exec(text)?.groups?.["data"] ?? "";
  const behind = trackRest.lastIndex;
  for (let at = behind - data.length; at < behind; at++) yield at;
}

interface Found {
  readonly run: Run;
  readonly number: Stretch;
  /** One or more whole groups of digits, and not entries of a list. */
  readonly isOwn: boolean;
}

function* numbersIn(text: string, regions: readonly Region[]): Generator<Found> {
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

/** Of a list the whole of it is one card number, or none. */
function* numbersOfForm({ run, isList, ...form }: Form): Generator<Found> {
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
 * Whether a text holds a card number written as a number of its own: one or more whole groups of
 * digits. This test is stricter than the masking, because it decides about refusing an order, and
 * every tenth number of any kind, and every tenth list, has a correct check digit.
 */
export function containsPan(text: string): boolean {
  const { regions, isEncoded } = walk(text);
  if (holdsWhole(text, regions)) return true;
  for (const { text: other } of isEncoded ? readingsOf(text) : []) {
    if (holdsWhole(other, walk(other).regions)) return true;
  }
  return false;
}

function holdsWhole(text: string, regions: readonly Region[]): boolean {
  for (const { isOwn } of numbersIn(text, regions)) if (isOwn) return true;
  return false;
}
