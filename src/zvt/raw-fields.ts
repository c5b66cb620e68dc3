import { ByteReader, concat } from "./bytes.ts";
import { ZvtCodecError } from "./errors.ts";
import { type FieldLength, fieldOfNumber } from "./field-table.ts";
import { type RawTag, readContainer, writeContainer } from "./tlv.ts";

/** One numbered field exactly as it stands on the wire. Holds card data: never log it. */
export interface RawField {
  readonly number: number;
  /** Without number and length. */
  readonly content: Uint8Array;
  /** The objects of field 06; null for every other field. */
  readonly tags: readonly RawTag[] | null;
  /** Bytes of the length of field 06 when more than necessary. */
  readonly lengthBytes?: number;
}

interface RawFields {
  readonly fields: readonly RawField[];
  /** A number without an entry in the table: its length is unknown, reading ended there. */
  readonly unknownField: number | null;
  /** The bytes that were not read: none, or the unknown field and all behind it. */
  readonly rest: Uint8Array;
}

export function readFields(data: Uint8Array): RawFields {
  const reader = new ByteReader(data);
  const found: RawField[] = [];
  while (reader.left > 0) {
    const number = reader.peek() as number;
    const entry = fieldOfNumber(number);
    if (!entry) return { fields: found, unknownField: number, rest: reader.rest() };
    reader.byte();
    found.push(readField(number, entry.length, reader));
  }
  return { fields: found, unknownField: null, rest: reader.rest() };
}

function readField(number: number, length: FieldLength, reader: ByteReader): RawField {
  if (length !== "tlv") {
    return { number, content: reader.take(contentLength(length, reader)), tags: null };
  }
  return { number, ...readContainer(reader) };
}

function contentLength(length: Exclude<FieldLength, "tlv">, reader: ByteReader): number {
  if (typeof length === "number") return length;
  return readDigitLength(reader, length === "llvar" ? 2 : 3);
}

/** docs/zvt.md 4.2: the length as digits, one in each byte, high nibble F. */
export function readDigitLength(reader: ByteReader, digits: number): number {
  let length = 0;
  const bytes = reader.take(digits);
  for (let i = 0; i < digits; i++) {
    const byte = bytes[i] as number;
    if (byte < 0xf0 || byte > 0xf9) {
      throw new ZvtCodecError("length-digit", `${byte.toString(16)} is not a length digit`);
    }
    length = length * 10 + (byte & 0x0f);
  }
  return length;
}

export function writeDigitLength(length: number, digits: number): Uint8Array {
  const text = String(length).padStart(digits, "0");
  if (text.length > digits) {
    throw new ZvtCodecError("too-long", `${length} bytes do not fit into ${digits} length digits`);
  }
  return Uint8Array.from(text, (digit) => 0xf0 + Number(digit));
}

export function writeFields(list: readonly RawField[]): Uint8Array {
  return concat(list.map(writeField));
}

function writeField({ number, content, tags, lengthBytes }: RawField): Uint8Array {
  const entry = fieldOfNumber(number);
  if (!entry) throw new ZvtCodecError("value", `field ${number.toString(16)} does not exist`);
  const head = Uint8Array.of(number);
  if (entry.length === "tlv") return concat([head, writeContainer(tags ?? [], lengthBytes)]);
  if (typeof entry.length !== "number") {
    const digits = entry.length === "llvar" ? 2 : 3;
    return concat([head, writeDigitLength(content.length, digits), content]);
  }
  if (content.length !== entry.length) {
    throw new ZvtCodecError("value", `${entry.name} has ${entry.length} bytes`);
  }
  return concat([head, content]);
}
