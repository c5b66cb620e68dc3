import { cardNumbersIn } from "./card-numbers.ts";
import { containsPan, maskPan, maskPansInText } from "./mask.ts";

/** Joins printed lines into a ticket; a card number broken across lines is masked too. */
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

/** Returns a line without control characters and without `|`, which separates a ticket's lines. */
const plain = (line: string): string => line.replace(/[\p{Cc}|]/gu, " ");

/**
 * Masks card numbers that begin in one line and end in a later line, as a narrow printer breaks
 * them. Masking keeps the length, so the masked text is split into the same lines.
 */
function withoutBrokenPans(lines: readonly string[]): string[] {
  const trimmed = lines.map((line) => line.trim());
  const whole = trimmed.filter(Boolean).join(" ");
  if (!containsPan(whole)) return withoutStuckPans(lines);
  const hidden = maskPansInText(whole);
  let at = 0;
  const masked = lines.map((line, i) => {
    const text = trimmed[i] ?? "";
    if (text === "") return line;
    const part = hidden.slice(at, at + text.length);
    at += text.length + 1;
    return line.replace(text, () => part);
  });
  return withoutStuckPans(masked);
}

interface Position {
  readonly line: number;
  readonly at: number;
}

/** The digits at the end of a line, joined with those at the beginning of the next lines. */
interface Joined {
  readonly digits: number[];
  readonly positions: Position[];
  /** Whether a line without any digits followed these digits. */
  isInterrupted: boolean;
}

/**
 * Masks card numbers that are broken across lines and touch other digits. Only digits at the end of
 * a line and at the beginning of the next line count: digits elsewhere are amounts and dates.
 */
function withoutStuckPans(lines: readonly string[]): string[] {
  const masked = [...lines];
  let joined: Joined | null = null;
  for (const [line, text] of lines.entries()) {
    if (text.trim() === "") continue;
    if (joined && !joined.isInterrupted && !/\d/.test(text)) {
      joined.isInterrupted = true;
      continue;
    }
    const head = headOf(text);
    if (joined && head) addDigits(joined, line, head);
    if (joined && head?.isAll === true) continue;
    if (joined) hide(masked, joined);
    joined = null;
    const tail = tailOf(text);
    if (tail) joined = addDigits({ digits: [], positions: [], isInterrupted: false }, line, tail);
  }
  if (joined) hide(masked, joined);
  return masked;
}

interface Part {
  readonly at: number;
  readonly digits: string;
  readonly isAll: boolean;
}

/** Returns the digits with which a line begins; null: none, or an amount, a date or a time. */
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
    joined.positions.push({ line, at: at + i });
  }
  joined.isInterrupted = false;
  return joined;
}

/** The fewest digits of a card number across lines; shorter ones would be found by accident. */
const DIGITS_MIN = 13;
const LINES_MAX = 3;
/** The fewest digits that a broken card number has in each line; two would match by accident. */
const PART_MIN = 3;

function hide(lines: string[], { digits, positions }: Joined): void {
  if (digits.length < DIGITS_MIN) return;
  const read = digits.join("");
  const run = { text: read, digits, positions: [...digits.keys()] };
  for (const { first, length } of cardNumbersIn(run)) {
    const end = first + length;
    const line = (i: number): number => positions[i]?.line ?? 0;
    const [from, to] = [line(first), line(end - 1)];
    const spans = new Set(positions.slice(first, end).map((one) => one.line)).size;
    if (length < DIGITS_MIN || from === to || spans > LINES_MAX) continue;
    if (line(first + PART_MIN - 1) !== from || line(end - PART_MIN) !== to) continue;
    const number = read.slice(first, end);
    for (const [i, character] of [...maskPan(number)].entries()) {
      if (character === "X") overwrite(lines, positions[first + i], character);
    }
    const last = positions[end - 1];
    if (last) overwrite(lines, { line: to, at: last.at + 1 }, restOf(number, lines[to], last.at));
  }
}

/** Returns the rest of a magnetic stripe after a card number, masked; "": there is no rest. */
function restOf(number: string, line = "", at: number): string {
  const rest = line.slice(at + 1);
  return /^[=d^]/i.test(rest) ? maskPansInText(number + rest).slice(number.length) : "";
}

function overwrite(lines: string[], position: Position | undefined, by: string): void {
  const line = position && lines[position.line];
  if (!position || line === undefined) return;
  lines[position.line] = line.slice(0, position.at) + by + line.slice(position.at + by.length);
}
