import { isAscii } from "node:buffer";
import iconv from "iconv-lite";

/** The character sets of text and of tag 14 (docs/zvt.md 11.2, 11.7). */
export type Charset =
  | "cp437"
  | "utf8"
  | "ascii"
  /** The small set with German letters in the place of brackets. */
  | "zvt7"
  | `iso8859-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 13 | 14 | 15 | 16}`;

export const DEFAULT_CHARSET: Charset = "cp437";

/** The characters of the 7-bit set that stand for German letters (docs/zvt.md 11.7). */
const sevenBitLetters: readonly (readonly [string, string])[] = [
  ["[", "Ä"],
  ["\\", "Ö"],
  ["]", "Ü"],
  ["{", "ä"],
  ["|", "ö"],
  ["}", "ü"],
  ["~", "ß"],
];
const lettersOfSevenBit = new Map(sevenBitLetters);
const sevenBitOfLetters = new Map(sevenBitLetters.map(([code, letter]) => [letter, code]));

export function decodeText(bytes: Uint8Array, charset: Charset): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Every one of the sets begins with ASCII.
  if (charset !== "zvt7" && isAscii(buffer)) return buffer.toString("latin1");
  if (charset !== "zvt7") return iconv.decode(buffer, charset, { stripBOM: false });
  return replaceEach(iconv.decode(buffer, "cp437"), lettersOfSevenBit);
}

/** Returns the bytes of a text; a character that the set lacks becomes a question mark. */
export function encodeText(text: string, charset: Charset): Uint8Array {
  const source = charset === "zvt7" ? replaceEach(text, sevenBitOfLetters) : text;
  return new Uint8Array(iconv.encode(source, charset === "zvt7" ? "cp437" : charset));
}

function replaceEach(text: string, map: ReadonlyMap<string, string>): string {
  return [...text].map((character) => map.get(character) ?? character).join("");
}

/** Returns the set that tag 14 names (docs/zvt.md 11.2); undefined for a code without a set. */
export function charsetOfCode(code: number): Charset | undefined {
  if (code === 0x00) return "ascii";
  if (code === 0xfe) return "utf8";
  if (code === 0xff) return "cp437";
  // ISO 8859-12 was never published.
  if (code < 1 || code > 16 || code === 12) return undefined;
  return `iso8859-${code}` as Charset;
}

export function codeOfCharset(charset: Charset): number {
  if (charset === "ascii") return 0x00;
  if (charset === "utf8") return 0xfe;
  if (charset === "cp437" || charset === "zvt7") return 0xff;
  return Number(charset.slice("iso8859-".length));
}
