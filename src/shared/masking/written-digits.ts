import { isUtf8 } from "node:buffer";
import { PAN_DIGITS_MIN, type Run } from "./card-numbers.ts";

/*
 * This file finds the digits that people or programs read as one number (docs/design.md 6.2). First
 * it finds regions with enough digits close together; only these regions are read further.
 */

/** The separators within a number: the full stop, and Unicode's blanks and hyphens. */
const separators =
  "- .\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f" +
  "\u3000\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d";

/** Characters that may stand in a number, and also join dates, times and paths. */
const joints = "/_:";

/** Characters that may stand in a number, and also between entries, columns and lines. */
const listMarks = ",;|\t\n\r\u2028\u2029";

/** The ranges of invisible characters, including the frame of a digit on a keycap (U+20E3). */
const invisible: ReadonlyArray<readonly [from: number, to: number]> = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x20e3, 0x20e3],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
];

/** The ranges of characters that can be digits of other scripts, or half (a surrogate) of one. */
const foreign: ReadonlyArray<readonly [from: number, to: number]> = [
  [0xb2, 0xb3],
  [0xb9, 0xb9],
  [0x660, 0x1fff],
  [0x2070, 0x2089],
  [0x2460, 0x24ff],
  [0x2776, 0x2793],
  [0x3220, 0x32ff],
  [0xa620, 0xabff],
  [0xd800, 0xdbff],
  [0xff10, 0xff19],
];

/** The kinds of characters; a text with `encoding` or `invisible` ones is read a second time. */
const kind = { other: 0, digit: 1, separator: 2, joint: 3, listMark: 4, encoding: 5, invisible: 6 };

const kinds = new Uint8Array(0x10000);
for (const [from, to] of foreign) kinds.fill(kind.encoding, from, to + 1);
for (const [from, to] of invisible) kinds.fill(kind.invisible, from, to + 1);
for (const character of separators) kinds[character.charCodeAt(0)] = kind.separator;
for (const character of joints) kinds[character.charCodeAt(0)] = kind.joint;
for (const character of listMarks) kinds[character.charCodeAt(0)] = kind.listMark;
for (const character of "\\%&") kinds[character.charCodeAt(0)] = kind.encoding;
kinds.fill(kind.digit, 0x30, 0x3a);

const kindAt = (text: string, at: number): number => kinds[text.charCodeAt(at)] as number;

/** The widest gap in a card number, in characters: a receipt can put the number on two lines. */
const GAP_MAX = 40;

/** The most separators between two digits of one number; card groups may be wider apart. */
const SEPARATORS_MAX = 2;

/** A part of a text: digits with only separators, marks and invisible characters between them. */
export interface Region {
  readonly start: number;
  /** The position in the text after the region's last digit. */
  readonly end: number;
}

interface Walk {
  readonly regions: readonly Region[];
  /** Whether the text has escapes whose decoding may show more digits. */
  readonly isEncoded: boolean;
}

/** The result for a text without enough digits for a card number, as most texts are. */
export const nothing: Walk = { regions: [], isEncoded: false };

/** Returns the regions of a text that have at least as many digits as the shortest card number. */
export function walk(text: string): Walk {
  const { length } = text;
  if (length < PAN_DIGITS_MIN) return nothing;
  const regions: Region[] = [];
  let start = 0;
  let last = -1;
  let digits = 0;
  let possible = 0;
  let encodings = 0;
  for (let at = 0; at < length; at++) {
    const what = kinds[text.charCodeAt(at)] as number;
    if (what === kind.digit) {
      if (digits === 0) start = at;
      digits++;
      possible++;
      last = at;
      continue;
    }
    if (what >= kind.encoding) encodings++;
    const isGap = (what >= kind.separator && what <= kind.listMark) || what === kind.invisible;
    if (digits === 0 || (isGap && at - last <= GAP_MAX)) continue;
    if (digits >= PAN_DIGITS_MIN) regions.push({ start, end: last + 1 });
    digits = 0;
  }
  if (digits >= PAN_DIGITS_MIN) regions.push({ start, end: last + 1 });
  const isEncoded = encodings > 0 && possible + encodings >= PAN_DIGITS_MIN;
  return regions.length === 0 && !isEncoded ? nothing : { regions, isEncoded };
}

interface Group {
  readonly first: number;
  readonly length: number;
  /** Whether the gap before the group is wider than a gap within a number. */
  readonly isApart: boolean;
  /** Whether the gap before the group is like a gap between two entries of a list. */
  readonly isEntry: boolean;
}

/** Digits in a card's groups, or one by one; a card number begins only at their first digit. */
export interface Form {
  readonly run: Run;
  readonly beginsGroup: boolean;
  readonly endsGroup: boolean;
  /** Whether the digits are a whole list, each entry as long as a group of a card number. */
  readonly isList: boolean;
}

/**
 * Returns the digits of a region: as runs, with few separators between them, in which a card number
 * may be anywhere, and as forms.
 */
export function numbersOf(text: string, region: Region) {
  const { digits, positions, groups } = groupsOf(text, region);
  const whole = { text, digits, positions };
  const apart = groups.flatMap(({ first, isApart }) => (isApart ? [first] : []));
  if (apart.length === 0) return { runs: [whole], forms: [] };
  const runs = [0, ...apart].flatMap((from, i) => {
    const to = apart[i] ?? digits.length;
    return to - from >= PAN_DIGITS_MIN ? [part(whole, from, to)] : [];
  });
  return { runs, forms: forms(whole, groups) };
}

function forms(whole: Run, groups: readonly Group[]): Form[] {
  return groups.flatMap(({ length }, i) => {
    const ends = length >= 4 ? endsOfCardGroups(groups, i) : endsOfSingles(groups, i);
    const found = ends.map((to) => formOf(whole, groups, i, to));
    // The longest form that begins at a group includes the shorter forms, but not those in a list.
    return found.flatMap((form, at) => (form && (form.isList || at === 0) ? [form] : []));
  });
}

/** Returns the digits from group `i` up to digit `to`; undefined: too few, or part of a list. */
function formOf(whole: Run, groups: readonly Group[], i: number, to: number): Form | undefined {
  const { first, length } = groups[i] as Group;
  const from = first + Math.max(length - 4, 0);
  if (to - from < PAN_DIGITS_MIN) return undefined;
  let after = i + 1;
  while (after < groups.length && (groups[after] as Group).first < to) after++;
  const last = groups[after - 1] as Group;
  const [beginsGroup, endsGroup] = [from === first, to === last.first + last.length];
  const isList = groups.slice(i + 1, after).some(({ isEntry }) => isEntry);
  const hasMore = groups[i]?.isEntry === true || groups[after]?.isEntry === true;
  if (isList && (hasMore || !beginsGroup || !endsGroup)) return undefined;
  return { run: part(whole, from, to), beginsGroup, endsGroup, isList };
}

function part({ text, digits, positions }: Run, from: number, to: number): Run {
  return { text, digits: digits.slice(from, to), positions: positions.slice(from, to) };
}

/**
 * Returns where groups with the lengths of a card's groups end: 4-4-4-4-3 or 4-6-5. The first and
 * last group may be part of longer groups. Dates, times and lists of amounts have other lengths.
 */
function endsOfCardGroups(groups: readonly Group[], i: number): number[] {
  const [second, third, fourth, fifth] = groups.slice(i + 1, i + 5);
  if (second?.length === 6 && third && third.length >= 4) {
    return [third.first + Math.min(third.length, 9)];
  }
  if (second?.length !== 4 || third?.length !== 4 || !fourth) return [];
  const four = fourth.first + Math.min(fourth.length, 7);
  if (fourth.length > 7 || !fifth) return [four];
  return [fifth.first + Math.min(fifth.length, 3), four];
}

const DIGITS_MAX = 19;

/** Returns where a row of single digits ends, before any longer group of digits. */
function endsOfSingles(groups: readonly Group[], i: number): number[] {
  const singles = groups.slice(i, i + DIGITS_MAX);
  const other = singles.findIndex(({ length }) => length > 1);
  const last = singles.at(other === -1 ? -1 : other - 1);
  return singles[0]?.length === 1 && last ? [last.first + 1] : [];
}

function groupsOf(text: string, { start, end }: Region) {
  const digits: number[] = [];
  const positions: number[] = [];
  const groups: Group[] = [];
  let last = start - 1;
  let group = { first: 0, length: 0, isApart: false, isEntry: false };
  let isApart = false;
  let isEntry = false;
  for (let at = start; at < end; at++) {
    const what = kindAt(text, at);
    if (what !== kind.digit) {
      isApart ||= what === kind.joint || what === kind.listMark;
      isEntry ||= what === kind.listMark;
      continue;
    }
    if (at - last > 1) {
      groups.push(group);
      // Digits belong to two entries of a list only if no slash stands between them.
      isEntry ||= !isApart && at - last > SEPARATORS_MAX + 1;
      group = { first: digits.length, length: 0, isApart: isApart || isEntry, isEntry };
    }
    isApart = false;
    isEntry = false;
    group.length += 1;
    digits.push(text.charCodeAt(at) - 0x30);
    positions.push(at);
    last = at;
  }
  groups.push(group);
  return { digits, positions, groups };
}

/** A decoded text; `starts` and `ends`: where each of its characters is written in the original. */
interface Reading {
  text: string;
  readonly starts: number[];
  readonly ends: number[];
}

const longEscape = String.raw`(?<!\\)\\+(?:u\{(?<point>[\da-f]{1,6})\}|u(?<unit>[\da-f]{4})`;
const shortEscape = String.raw`x(?<byte>[\da-f]{2})|[nrt])`;
const percents = String.raw`(?<percent>(?:%[\da-f]{2})+)`;
const reference = String.raw`&(?:#x(?<hex>[\da-f]{1,6})|#(?<decimal>\d{1,7})|nbsp);?`;
const encoded = new RegExp(`${longEscape}|${shortEscape}|${percents}|${reference}`, "giu");

/**
 * Yields two forms of a text, in which the escapes of JSON and JavaScript, the percent signs of an
 * address and the references of HTML are decoded, and digits of other scripts become 0 to 9. The
 * first form keeps invisible characters, which separate groups; the second leaves them out.
 */
export function* readingsOf(text: string): Generator<Reading> {
  const whole = decoded(text);
  yield whole;
  const visible = [...whole.text].flatMap((character, i) => (isInvisible(character) ? [] : [i]));
  if (visible.length === whole.text.length) return;
  const only = (all: readonly number[]) => visible.map((i) => all[i] as number);
  const plain = visible.map((i) => whole.text[i]).join("");
  yield { text: plain, starts: only(whole.starts), ends: only(whole.ends) };
}

const isInvisible = (character: string): boolean => kindAt(character, 0) === kind.invisible;

function decoded(text: string): Reading {
  const read: Reading = { text: "", starts: [], ends: [] };
  let at = 0;
  for (const found of text.matchAll(encoded)) {
    copy(read, text, at, found.index);
    at = found.index + found[0].length;
    decode(read, found[0], found.groups ?? {}, found.index);
  }
  copy(read, text, at, text.length);
  return read;
}

function copy(read: Reading, text: string, from: number, to: number): void {
  let at = from;
  for (const character of text.slice(from, to)) {
    add(read, character, at, at + character.length);
    at += character.length;
  }
}

/** Adds one character, as exactly one UTF-16 unit, to the decoded text. */
function add(read: Reading, character: string, start: number, end: number): void {
  read.text += plainOf(character);
  read.starts.push(start);
  read.ends.push(end);
}

function plainOf(character: string): string {
  if (kindAt(character, 0) !== kind.encoding) return character;
  return String(digitOf(character) ?? "?");
}

/** Returns the value of a digit of any script: its ASCII form, or its distance from the zero. */
function digitOf(character: string): number | undefined {
  const compatible = character.normalize("NFKC");
  if (/^\d$/.test(compatible)) return Number(compatible);
  const inBrackets = /^\((\d)\)$|^(\d)\.$/.exec(compatible);
  if (inBrackets) return Number(inBrackets[1] ?? inBrackets[2]);
  if (!/^\p{Nd}$/u.test(character)) return undefined;
  const point = character.codePointAt(0) as number;
  let zero = point;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero--;
  return (point - zero) % 10;
}

function decode(
  read: Reading,
  written: string,
  groups: Readonly<Record<string, string | undefined>>,
  at: number,
): void {
  const { point, unit, byte, percent, hex, decimal } = groups;
  if (percent !== undefined) {
    decodePercent(read, percent, at);
    return;
  }
  const number = point ?? unit ?? byte ?? hex;
  const code = number === undefined ? Number(decimal ?? 0x20) : Number.parseInt(number, 16);
  const isLine = /\\[nrt]$/.test(written);
  const character = isLine ? "\n" : code > 0x10ffff ? "?" : String.fromCodePoint(code);
  add(read, character, at, at + written.length);
}

const BYTE_CHARACTERS = 3;

function decodePercent(read: Reading, percent: string, start: number): void {
  const bytes = Buffer.from(percent.replaceAll("%", ""), "hex");
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  let at = start;
  for (const character of bytes.toString(encoding)) {
    const end = at + Buffer.byteLength(character, encoding) * BYTE_CHARACTERS;
    add(read, character, at, end);
    at = end;
  }
}
