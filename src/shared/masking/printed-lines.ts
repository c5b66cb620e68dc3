import { cardNumbersIn } from "./card-numbers.ts";
import { containsPan, maskPan, maskPansInText } from "./mask.ts";

/** Printed lines as one ticket, in which no card number stands that a line end breaks. */
export function ticketOfLines(lines: readonly string[]): string {
  const broken = lines.map((line) => line.replace(lineEnd, "\n").split("\n").map(plain));
  const pieces = withoutBrokenPans(broken.flat());
  let at = 0;
  return broken
    .map(({ length }) => {
      at += length;
      return pieces
        .slice(at - length, at)
        .join(" ")
        .trimEnd();
    })
    .join("|")
    .replace(/^\|+|\|+$/g, "");
}

const lineEnd = /[\n\v\f\r\u0085\u2028\u2029]/g;

/** The separator and control characters have no place inside a line. */
const plain = (line: string): string => line.replace(/[\p{Cc}|]/gu, " ");

/**
 * A narrow printer breaks a card number: it begins in one line and ends in one of the next. Masking
 * keeps the length, so each line gets its own part back.
 */
function withoutBrokenPans(lines: readonly string[]): string[] {
  const words = lines.map((line) => line.trim());
  const whole = words.filter((word) => word !== "").join(" ");
  if (!containsPan(whole)) return withoutStuckPans(lines);
  const hidden = maskPansInText(whole);
  let at = 0;
  const masked = lines.map((line, i) => {
    const word = words[i] ?? "";
    if (word === "") return line;
    const part = hidden.slice(at, at + word.length);
    at += word.length + 1;
    return line.replace(word, () => part);
  });
  return withoutStuckPans(masked);
}

/** Digits that one line ends with and the next begins with. */
interface Joined {
  readonly digits: number[];
  /** Where each digit stands. */
  readonly places: Array<{ readonly line: number; readonly at: number }>;
  /** A line without digits has passed since. */
  hasWord: boolean;
}

/**
 * The number may also stand among other digits, of which nothing sets it apart. So that amounts and
 * dates of neighbouring lines are not taken for one, only digits without anything between them
 * count here, up to the end of the one line and from the beginning of the other.
 */
function withoutStuckPans(lines: readonly string[]): string[] {
  const masked = [...lines];
  let joined: Joined | null = null;
  for (const [line, text] of lines.entries()) {
    if (text.trim() === "") continue;
    if (joined && !joined.hasWord && !/\d/.test(text)) {
      joined.hasWord = true;
      continue;
    }
    const head = headOf(text);
    if (joined && head) addDigits(joined, line, head);
    if (joined && head?.isAll === true) continue;
    if (joined) hide(masked, joined);
    joined = null;
    const tail = tailOf(text);
    if (tail) joined = addDigits({ digits: [], places: [], hasWord: false }, line, tail);
  }
  if (joined) hide(masked, joined);
  return masked;
}

interface Part {
  readonly at: number;
  readonly digits: string;
  readonly isAll: boolean;
}

/** Not of an amount, a date or a time. */
function headOf(text: string): Part | null {
  const found = /^(?<before>\s*=?)(?<digits>\d+)(?!\d|[.,:/-]\d)/.exec(text);
  const { before = "", digits = "" } = found?.groups ?? {};
  const isAll = found !== null && /^=?\s*$/.test(text.slice(found[0].length));
  return found && { at: before.length, digits, isAll };
}

function tailOf(text: string): Part | null {
  const found = /(?<=(?<before>.?.?))(?<!\d)(?<digits>\d+)=?\s*$/.exec(text);
  const { before = "", digits = "" } = found?.groups ?? {};
  if (!found || /\d[.,:/-]$/.test(before)) return null;
  return { at: found.index, digits, isAll: false };
}

function addDigits(joined: Joined, line: number, { at, digits }: Part): Joined {
  for (const [i, digit] of [...digits].entries()) {
    joined.digits.push(Number(digit));
    joined.places.push({ line, at: at + i });
  }
  joined.hasWord = false;
  return joined;
}

/** Shorter ones would hide many numbers of other kinds. */
const DIGITS_MIN = 13;
const LINES_MAX = 3;
/** Of its digits in the first and in the last line: a house number completes many numbers. */
const PART_MIN = 3;

function hide(lines: string[], { digits, places }: Joined): void {
  const read = digits.join("");
  const run = { text: read, digits, positions: digits.map((_, i) => i) };
  for (const { first, length } of cardNumbersIn(run)) {
    const end = first + length;
    const line = (i: number): number => places[i]?.line ?? 0;
    const [from, to] = [line(first), line(end - 1)];
    const spans = new Set(places.slice(first, end).map((place) => place.line)).size;
    if (length < DIGITS_MIN || from === to || spans > LINES_MAX) continue;
    if (line(first + PART_MIN - 1) !== from || line(end - PART_MIN) !== to) continue;
    const number = read.slice(first, end);
    for (const [i, character] of [...maskPan(number)].entries()) {
      if (character === "X") overwrite(lines, places[first + i], character);
    }
    const last = places[end - 1];
    if (last) overwrite(lines, { line: to, at: last.at + 1 }, restOf(number, lines[to], last.at));
  }
}

/** Behind the number on a magnetic stripe. */
function restOf(number: string, line = "", at: number): string {
  const behind = line.slice(at + 1);
  return /^[=d^]/i.test(behind) ? maskPansInText(number + behind).slice(number.length) : "";
}

function overwrite(
  lines: string[],
  place: { readonly line: number; readonly at: number } | undefined,
  by: string,
): void {
  const line = place && lines[place.line];
  if (!place || line === undefined) return;
  lines[place.line] = line.slice(0, place.at) + by + line.slice(place.at + by.length);
}
