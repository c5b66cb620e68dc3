/**
 * ZVT messages as typed values. All messages, fields and tags are data: `message-table.ts` (see its
 * head for how to declare a message), `field-table.ts`, `tag-table.ts`. Two generic functions read
 * and write them:
 *
 *   decodeMessage(apdu, { answering, charset }) -> Message   for a session; holds no card data
 *   encodeMessage(name, { parts, fields, tags }) -> Apdu     what goes on the wire
 *
 * Below them `decodeRaw` and `encodeRaw` keep every byte, card data included, for a terminal
 * simulator and for tests. `log-form.ts` gives the only forms that may be logged.
 */

import type { Apdu } from "./apdu.ts";
import { ByteReader, concat, sameBytes, toHex, ZvtCodecError } from "./bytes.ts";
import { type FieldLength, type FieldName, fields, fieldsByNumber } from "./field-table.ts";
import { type MessageName, messages, type Part, type PartName, shapeOf } from "./message-table.ts";
import { decodeTags, type RawTag, readContainer, type Tag, writeContainer } from "./tags.ts";
import {
  type Charset,
  DEFAULT_CHARSET,
  decodeValue,
  encodeValue,
  type FieldInputs,
  type FieldValue,
  type FieldValues,
  type PartValues,
} from "./values.ts";

export interface Message {
  readonly name: MessageName | "unknown";
  readonly control: number;
  readonly parts: Partial<PartValues>;
  readonly fields: FieldValues;
  /** The tags in the container (field 06); null when the message has no container. */
  readonly tags: readonly Tag[] | null;
  /** The number of the first field that is not in the table; the bytes after it were not read. */
  readonly unknownField: number | null;
}

export interface DecodeOptions extends Answering {
  readonly charset?: Charset;
}

/** Returns a decoded message without card data. Throws only {@link ZvtCodecError}. */
export function decodeMessage(apdu: Apdu, options: DecodeOptions = {}): Message {
  const raw = decodeRaw(apdu, options);
  const charset = options.charset ?? DEFAULT_CHARSET;
  const { name = "unknown" } = shapeOf(apdu.control, options.answering) ?? {};
  const parts = decodeParts(raw.parts, charset);
  const { fields, tags } = decodeFields(raw.fields, charset);
  return { name, control: apdu.control, parts, fields, tags, unknownField: raw.unknownField };
}

/** Returns the error code xx of a negative answer 84 xx; undefined for any other message. */
export function errorCodeOf(control: number): number | undefined {
  return control >> 8 === 0x84 && control !== 0x8400 ? control & 0xff : undefined;
}

function decodeFields(raw: readonly RawField[], charset: Charset) {
  const values: Partial<Record<FieldName, FieldValue>> = {};
  const contents = new Map<number, Uint8Array>();
  let container: Message["tags"] = null;
  for (const { number, content, tags } of raw) {
    const earlier = contents.get(number);
    if (earlier && !sameBytes(earlier, content)) {
      throw new ZvtCodecError("duplicate-field", `field ${number.toString(16)} stands there twice`);
    }
    contents.set(number, content);
    const entry = fieldsByNumber.get(number);
    if (tags) container = decodeTags(tags, charset);
    else if (entry) values[entry.name] = decodeValue(entry.as, content, charset);
  }
  return { fields: values as FieldValues, tags: container };
}

function decodeParts(raw: readonly RawPart[], charset: Charset): Partial<PartValues> {
  const values: Partial<Record<PartName, FieldValue>> = {};
  for (const { part, content } of raw) {
    const { name, as } = part;
    // A time-out in 04 FF whose digits are not decimal counts as missing (docs/zvt.md 7.2).
    if (as === "bcd-number" && !/^\d+$/.test(toHex(content))) continue;
    values[name] = decodeValue(as === "text" ? "zero-text" : as, content, charset);
  }
  return values as Partial<PartValues>;
}

export interface MessageInput {
  readonly parts?: Partial<PartValues>;
  /** The numbered fields in their order on the wire; the container comes after them. */
  readonly fields?: FieldInputs;
  /** The tags of the container; undefined: no container; []: an empty container `06 00`. */
  readonly tags?: readonly RawTag[];
  readonly charset?: Charset;
  /** The error code xx of a negative answer 84 xx. */
  readonly errorCode?: number;
}

export function encodeMessage(name: MessageName, input: MessageInput = {}): Apdu {
  const { parts = {}, fields: values = {}, tags, charset = DEFAULT_CHARSET, errorCode } = input;
  const shape: { control: number; parts: readonly Part[] } = messages[name];
  const positional = shape.parts.flatMap((part) => encodePart(part, parts, charset));
  const numbered = Object.entries(values).map(([key, value]): RawField => {
    const { number, as, length } = fields[key as Exclude<FieldName, "tlv">];
    const bytes = typeof length === "number" ? length : undefined;
    return { number, content: encodeValue(as, value, charset, bytes), tags: null };
  });
  const container: RawField[] =
    tags === undefined ? [] : [{ number: fields.tlv.number, content: new Uint8Array(0), tags }];
  return {
    control: shape.control + (errorCode ?? 0),
    data: concat([...positional, ...[...numbered, ...container].map(writeField)]),
  };
}

function encodePart(part: Part, values: Partial<PartValues>, charset: Charset): Uint8Array[] {
  const value = values[part.name];
  if (value === undefined) {
    if (part.when || part.length === "rest") return [];
    throw new ZvtCodecError("missing-part", `${part.name} is missing`);
  }
  const { as, length } = part;
  const bytes = typeof value === "number" && typeof length === "number" ? length : undefined;
  const content = encodeValue(as, value, charset, bytes);
  if (typeof length === "number" && content.length !== length) {
    throw new ZvtCodecError("value", `${part.name} needs ${length} bytes`);
  }
  return [writeLength(length, content.length), content];
}

interface RawPart {
  readonly part: Part;
  readonly content: Uint8Array;
}

/** The pieces of a message, which {@link encodeRaw} joins again. With card data: never log them. */
interface RawMessage {
  readonly control: number;
  readonly extended: boolean;
  readonly parts: readonly RawPart[];
  readonly fields: readonly RawField[];
  /** The number of a field that is not in the table, where reading ended (docs/zvt.md 4.2). */
  readonly unknownField: number | null;
  /** The bytes that were not read: all after an unknown field, or all of an unknown message. */
  readonly rest: Uint8Array;
}

export interface Answering {
  /** The control field of the command that the message answers or completes (docs/zvt.md 6.5). */
  readonly answering?: number;
}

export function decodeRaw(apdu: Apdu, { answering }: Answering = {}): RawMessage {
  const { control, data, extended = false } = apdu;
  const shape = shapeOf(control, answering);
  if (!shape) return { control, extended, parts: [], fields: [], unknownField: null, rest: data };
  const reader = new ByteReader(data);
  const parts: RawPart[] = [];
  for (const part of shape.parts) {
    if (holds(part.when, reader, parts)) parts.push({ part, content: readPart(part, reader) });
  }
  const { fields, unknownField, rest } = readFields(reader);
  return { control, extended, parts, fields, unknownField, rest };
}

function readPart({ name, length }: Part, reader: ByteReader): Uint8Array {
  if (length === "lllvar") return reader.take(readDigitLength(reader, 3));
  if (length === "rest") return reader.take(reader.left - trailingContainer(name, reader));
  if (reader.left < length) throw new ZvtCodecError("missing-part", `${name} is missing`);
  return reader.take(length);
}

const receiptType = "1f07010[0-3]";
const messageId = "1f7303\\d{6}";
/**
 * The containers that may follow the text of a print line: with the receipt type 1F07 (card
 * complete, docs/zvt.md 12.2), the message's id 1F73 (docs/zvt.md 9.4), or both.
 */
const trailing = new RegExp(
  `(?:0604${receiptType}|0606${messageId}|060a${receiptType}${messageId}` +
    `|060a${messageId}${receiptType})$`,
);
const TRAILING_BYTES_MAX = 12;

function trailingContainer(name: PartName, reader: ByteReader): number {
  if (name !== "text") return 0;
  const bytes = Math.min(TRAILING_BYTES_MAX, reader.left);
  const tail = toHex(reader.bytes.subarray(reader.bytes.length - bytes));
  const found = trailing.exec(tail);
  // An odd index in hexadecimal digits is the middle of a byte, so no container begins there.
  return found && found.index % 2 === 0 ? found[0].length / 2 : 0;
}

function holds(condition: Part["when"], reader: ByteReader, before: readonly RawPart[]): boolean {
  const next = reader.peek();
  const last = before[before.length - 1];
  switch (condition) {
    case undefined:
      return true;
    case "if-any":
      return reader.left > 0;
    case "if-length-digits":
      return [0, 1, 2].every((ahead) => isLengthDigit(reader.peek(ahead)));
    case "if-wrong-currency":
      return last?.content[0] === 0x6f && reader.left >= 2 && isBareCurrency(reader);
    case "if-no-container":
      return next !== undefined && !(next === 0x06 && isFields(remaining(reader)));
    case "if-bare-result":
      if (next === undefined || fieldsByNumber.has(next) || reader.peek(1) !== 0x04) return false;
      return isFields(remaining(reader, 1));
    case "if-line-feeds":
      return last?.content[0] === 0xff && reader.left > 0;
    case "if-no-line-feeds":
      return !(before.length > 1 || last?.content[0] === 0xff);
  }
}

function isLengthDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0xf0 && byte <= 0xf9;
}

/** Returns whether a currency without field number comes next, and not a numbered field. */
function isBareCurrency(reader: ByteReader): boolean {
  if (reader.peek() === 0x49) return false;
  return reader.left === 2 || isFields(remaining(reader, 2)) || !isFields(remaining(reader));
}

function remaining(reader: ByteReader, skip = 0): Uint8Array {
  return reader.bytes.subarray(reader.at + skip);
}

function isFields(bytes: Uint8Array): boolean {
  try {
    return readFields(new ByteReader(bytes)).unknownField === null;
  } catch (error) {
    if (error instanceof ZvtCodecError) return false;
    throw error;
  }
}

export function encodeRaw({ control, extended, parts, fields, rest }: RawMessage): Apdu {
  const positional = parts.flatMap(({ part, content }) => [
    writeLength(part.length, content.length),
    content,
  ]);
  const data = concat([...positional, ...fields.map(writeField), rest]);
  return { control, data, ...(extended ? { extended: true } : {}) };
}

/** One numbered field as on the wire. With card data: never log it. */
export interface RawField {
  readonly number: number;
  readonly content: Uint8Array;
  /** The data objects of a container (field 06); null for every other field. */
  readonly tags: readonly RawTag[] | null;
  /** The number of bytes that encode the length of field 06, if more than necessary. */
  readonly lengthBytes?: number;
}

function readFields(reader: ByteReader): Omit<RawMessage, "control" | "extended" | "parts"> {
  const found: RawField[] = [];
  while (reader.left > 0) {
    const number = reader.peek() as number;
    const entry = fieldsByNumber.get(number);
    if (!entry) return { fields: found, unknownField: number, rest: reader.rest() };
    reader.byte();
    const { length } = entry;
    if (length === "tlv") {
      found.push({ number, ...readContainer(reader) });
      continue;
    }
    const bytes =
      typeof length === "number" ? length : readDigitLength(reader, length === "llvar" ? 2 : 3);
    found.push({ number, content: reader.take(bytes), tags: null });
  }
  return { fields: found, unknownField: null, rest: reader.rest() };
}

/** Reads a length of decimal digits, one in each byte, with high nibble F (docs/zvt.md 4.2). */
function readDigitLength(reader: ByteReader, digits: number): number {
  let length = 0;
  for (const byte of reader.take(digits)) {
    if (!isLengthDigit(byte)) {
      throw new ZvtCodecError("length-digit", `${byte.toString(16)} is not a length digit`);
    }
    length = length * 10 + (byte & 0x0f);
  }
  return length;
}

/** Returns the length that stands before a content of `bytes` bytes; empty for a fixed length. */
export function writeLength(length: FieldLength | Part["length"] | undefined, bytes: number) {
  if (length !== "llvar" && length !== "lllvar") return new Uint8Array(0);
  const digits = length === "llvar" ? 2 : 3;
  const text = String(bytes).padStart(digits, "0");
  if (text.length > digits) {
    throw new ZvtCodecError("too-long", `${bytes} bytes do not fit into ${digits} length digits`);
  }
  return Uint8Array.from(text, (digit) => 0xf0 + Number(digit));
}

function writeField({ number, content, tags, lengthBytes }: RawField): Uint8Array {
  const entry = fieldsByNumber.get(number);
  if (!entry) throw new ZvtCodecError("value", `field ${number.toString(16)} does not exist`);
  const { name, length } = entry;
  const head = Uint8Array.of(number);
  if (length === "tlv") return concat([head, writeContainer(tags ?? [], lengthBytes)]);
  if (typeof length === "number" && content.length !== length) {
    throw new ZvtCodecError("value", `${name} needs ${length} bytes, not ${content.length}`);
  }
  return concat([head, writeLength(length, content.length), content]);
}

/**
 * Returns a message with one more tag at the end of its container; adds a missing container. Throws
 * {@link ZvtCodecError} when the message cannot be read.
 */
export function withTag(apdu: Apdu, added: RawTag): Apdu {
  const raw = decodeRaw(apdu);
  const container = raw.fields.find(({ tags }) => tags !== null);
  const larger: RawField = {
    number: fields.tlv.number,
    content: new Uint8Array(0),
    tags: [...(container?.tags ?? []), added],
  };
  const list = container
    ? raw.fields.map((field) => (field === container ? larger : field))
    : [...raw.fields, larger];
  return encodeRaw({ ...raw, fields: list });
}
