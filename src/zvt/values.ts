import { isAscii } from "node:buffer";
import iconv from "iconv-lite";
import { maskPan, maskPansInText } from "../shared/masking/mask.ts";
import {
  ByteReader,
  concat,
  decodeBcd,
  decodeBigEndian,
  encodeBcd,
  encodeBigEndian,
  fromHex,
  toHex,
  ZvtCodecError,
} from "./bytes.ts";
import type { Encoding, FieldName, fields } from "./field-table.ts";
import type { Part, PartName, partTable } from "./message-table.ts";
import type { NamedTag, TagName, tags } from "./tag-table.ts";

/** The character sets that a text can have and tag 14 can name (docs/zvt.md 11.2, 11.7). */
export type Charset =
  | "cp437"
  | "utf8"
  | "ascii"
  /** The 7-bit character set of ZVT, with German letters in place of brackets. */
  | "zvt7"
  | `iso8859-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 13 | 14 | 15 | 16}`;

export const DEFAULT_CHARSET: Charset = "cp437";

/** The characters of the 7-bit set that stand for German letters, and these (docs/zvt.md 11.7). */
const SEVEN_BIT = "[\\]{|}~";
const GERMAN = "ÄÖÜäöüß";

export function decodeText(bytes: Uint8Array, charset: Charset): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Every character set except "zvt7" begins with ASCII.
  if (charset !== "zvt7" && isAscii(buffer)) return buffer.toString("latin1");
  if (charset !== "zvt7") return iconv.decode(buffer, charset, { stripBOM: false });
  return replaceEach(iconv.decode(buffer, "cp437"), SEVEN_BIT, GERMAN);
}

/** Returns the bytes of a text; a character that the set lacks becomes a question mark. */
export function encodeText(text: string, charset: Charset): Uint8Array {
  const source = charset === "zvt7" ? replaceEach(text, GERMAN, SEVEN_BIT) : text;
  return new Uint8Array(iconv.encode(source, charset === "zvt7" ? "cp437" : charset));
}

/** Returns the text with each character of `from` replaced by the one at its place in `to`. */
function replaceEach(text: string, from: string, to: string): string {
  return [...text].map((character) => to[from.indexOf(character)] ?? character).join("");
}

/** Returns the character set of a code in tag 14 (docs/zvt.md 11.2); undefined: unknown code. */
export function charsetOfCode(code: number): Charset | undefined {
  if (code === 0x00) return "ascii";
  if (code === 0xfe) return "utf8";
  if (code === 0xff) return "cp437";
  // There is no ISO 8859-12: it was never published.
  if (code < 1 || code > 16 || code === 12) return undefined;
  return `iso8859-${code}` as Charset;
}

export function codeOfCharset(charset: Charset): number {
  if (charset === "ascii") return 0x00;
  if (charset === "utf8") return 0xfe;
  if (charset === "cp437" || charset === "zvt7") return 0xff;
  return Number(charset.slice("iso8859-".length));
}

/** The seven groups of card schemes in field 60, in their order (docs/zvt.md 7.1). */
export const totalsGroups = [
  "girocard",
  "jcb",
  "mastercard",
  "amex",
  "visa",
  "diners",
  "other",
] as const;

export interface Totals {
  readonly receiptFrom: string;
  readonly receiptTo: string;
  readonly groups: readonly {
    readonly group: (typeof totalsGroups)[number];
    readonly count: number;
    readonly amount: number;
  }[];
}

/** Card data, or what could be card data: only the number of its bytes is kept. */
interface Hidden {
  readonly hiddenBytes: number;
}

type ValueOf<E extends AnyEncoding> = E extends "number" | "amount" | "bcd-number"
  ? number
  : E extends "digits" | "secret-digits" | "pan" | "track2" | "text" | "zero-text"
    ? string
    : E extends "totals"
      ? Totals
      : E extends "bytes" | "opaque"
        ? Uint8Array
        : E extends "secret"
          ? Hidden
          : never;

export type PartValues = { readonly [N in PartName]: ValueOf<(typeof partTable)[N][1]> };

export type TagValueOf<N extends TagName> = Exclude<ValueOf<(typeof tags)[N][1]>, Hidden>;

export type FieldValues = {
  readonly [N in Exclude<FieldName, "tlv">]?: ValueOf<(typeof fields)[N]["as"]>;
};

/** Field values to encode, in their order on the wire; bytes are written unchanged. */
export type FieldInputs = {
  readonly [N in Exclude<FieldName, "tlv">]?:
    | Exclude<ValueOf<(typeof fields)[N]["as"]>, Hidden>
    | Uint8Array;
};

export type FieldValue = number | string | Uint8Array | Totals | Hidden;

type AnyEncoding = Encoding | Part["as"] | NamedTag["as"];

export function decodeValue(as: AnyEncoding, content: Uint8Array, charset: Charset): FieldValue {
  switch (as) {
    case "number":
      return decodeBigEndian(content);
    case "amount":
    case "bcd-number":
      return decodeBcd(content);
    case "digits":
    case "secret-digits":
      return toHex(content).toUpperCase();
    case "pan":
    case "track2":
      return maskedPan(content);
    case "text":
      return maskPansInText(decodeText(content, charset));
    case "zero-text":
      return maskPansInText(decodeText(withoutZeros(content), charset));
    case "totals":
      return decodeTotals(content);
    case "bytes":
    case "opaque":
      return content;
    case "secret":
    case "container":
      return { hiddenBytes: content.length };
  }
}

/**
 * Returns the card number in a content, masked with X. The content has digits, E for a masked
 * digit, F for padding, and D before other data of track 2 or EF_ID (docs/zvt.md 4.2).
 */
function maskedPan(content: Uint8Array): string {
  const number = /^[0-9e]*/.exec(toHex(content))?.[0] ?? "";
  return maskPan(number.replaceAll("e", "X"));
}

function withoutZeros(content: Uint8Array): Uint8Array {
  return content.subarray(0, content.findLastIndex((byte) => byte !== 0) + 1);
}

function decodeTotals(content: Uint8Array): Totals {
  const reader = new ByteReader(content);
  const receiptFrom = toHex(reader.take(2));
  const receiptTo = toHex(reader.take(2));
  const groups = totalsGroups.map((group) => ({
    group,
    count: reader.byte(),
    amount: decodeBcd(reader.take(6)),
  }));
  if (reader.left > 0) throw new ZvtCodecError("trailing-bytes", "totals longer than 53 bytes");
  return { receiptFrom, receiptTo, groups };
}

/** Returns the bytes of a value, padded to `length` bytes; a value of bytes stays as it is. */
export function encodeValue(
  as: AnyEncoding,
  value: FieldValue,
  charset: Charset = DEFAULT_CHARSET,
  length?: number,
): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "number") {
    if (as === "amount" || as === "bcd-number") return encodeBcd(value, length ?? 0);
    if (as === "number") return encodeBigEndian(value, length);
  }
  if (typeof value === "string") {
    if (as === "digits" || as === "secret-digits") {
      return fromHex(value.padStart(2 * (length ?? 0), "0"));
    }
    if (as === "pan" || as === "track2") return encodePan(value);
    if (as === "text") return padded(encodeText(value, charset), length, 0x20);
    if (as === "zero-text") return zeroText(encodeText(value, charset), length);
  }
  if (as === "totals" && typeof value === "object" && "groups" in value) return encodeTotals(value);
  throw new ZvtCodecError("value", `a ${typeof value} cannot be encoded as ${as}`);
}

function encodePan(text: string): Uint8Array {
  const digits = text.replaceAll("X", "E");
  return fromHex(digits.length % 2 === 0 ? digits : `${digits}F`);
}

function padded(bytes: Uint8Array, length = 0, fill = 0): Uint8Array {
  const longer = new Uint8Array(Math.max(bytes.length, length)).fill(fill);
  longer.set(bytes);
  return longer;
}

/** Fills up a text with zero bytes: field 3B to its length, field 8B with one (docs/zvt.md 7.1). */
function zeroText(bytes: Uint8Array, length: number | undefined): Uint8Array {
  return padded(bytes, length ?? (bytes.length > 0 ? bytes.length + 1 : 0));
}

function encodeTotals({ receiptFrom, receiptTo, groups }: Totals): Uint8Array {
  return concat([
    fromHex(receiptFrom.padStart(4, "0")),
    fromHex(receiptTo.padStart(4, "0")),
    ...totalsGroups.flatMap((group) => {
      const { count = 0, amount = 0 } = groups.find((entry) => entry.group === group) ?? {};
      return [Uint8Array.of(count), encodeBcd(amount, 6)];
    }),
  ]);
}
