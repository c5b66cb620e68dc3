import type { Apdu } from "./apdu.ts";
import { ByteReader, concat, toHex } from "./bytes.ts";
import { ZvtCodecError } from "./errors.ts";
import { fieldOfNumber } from "./field-table.ts";
import { type Condition, type Part, type PartName, shapeOf } from "./message-table.ts";
import {
  type RawField,
  readDigitLength,
  readFields,
  writeDigitLength,
  writeFields,
} from "./raw-fields.ts";

export interface RawPart {
  readonly name: PartName;
  readonly content: Uint8Array;
}

/**
 * A message cut into its pieces without a loss: {@link encodeRaw} gives the same bytes again. Holds
 * card data; what goes on to a session or a log is {@link Message}.
 */
interface RawMessage {
  readonly control: number;
  readonly extended: boolean;
  readonly parts: readonly RawPart[];
  readonly fields: readonly RawField[];
  /** A field number that is not in the table; reading ended there (docs/zvt.md 4.2). */
  readonly unknownField: number | null;
  /**
   * The bytes that were not read: the unknown field and all behind it, or all of an unknown
   * command.
   */
  readonly rest: Uint8Array;
}

/**
 * Without it a completion of the status enquiry, or a key answer, cannot be read (docs/zvt.md 6.5).
 */
export interface Answering {
  /** Control field of the command that the message answers or completes. */
  readonly answering?: number;
}

export function decodeRaw(apdu: Apdu, { answering }: Answering = {}): RawMessage {
  const { control, data } = apdu;
  const head = { control, extended: apdu.extended ?? false };
  const shape = shapeOf(control, answering);
  if (!shape) return { ...head, parts: [], fields: [], unknownField: null, rest: data };
  const reader = new ByteReader(data);
  const parts: RawPart[] = [];
  for (const part of shape.parts) {
    if (holds(part.when, reader, parts)) {
      parts.push({ name: part.name, content: readPart(part, reader) });
    }
  }
  return { ...head, parts, ...readFields(reader.rest()) };
}

function readPart({ name, length }: Part, reader: ByteReader): Uint8Array {
  if (length === "lllvar") return reader.take(readDigitLength(reader, 3));
  if (length === "rest") return reader.take(reader.left - trailingContainer(name, reader));
  if (reader.left < length) throw new ZvtCodecError("missing-part", `${name} is missing`);
  return reader.take(length);
}

/**
 * A container behind the text of a print line, with the receipt type 1F07 (card complete,
 * docs/zvt.md 12.2), the id of the message 1F73 (docs/zvt.md 9.4), or both.
 */
const behindText = ["1f07010[0-3]", "1f7303\\d{6}"];
const trailing = new RegExp(
  [
    `0604${behindText[0]}`,
    `0606${behindText[1]}`,
    `060a${behindText.join("")}`,
    `060a${behindText.toReversed().join("")}`,
  ]
    .map((form) => `(?:${form})$`)
    .join("|"),
);
const TRAILING_BYTES_MAX = 12;

/** Its length, 0 when there is none. */
function trailingContainer(name: PartName, reader: ByteReader): number {
  if (name !== "text") return 0;
  const bytes = Math.min(TRAILING_BYTES_MAX, reader.left);
  const tail = toHex(reader.bytes.subarray(reader.bytes.length - bytes));
  const found = trailing.exec(tail);
  // A match that begins in the middle of a byte is none.
  return found && found.index % 2 === 0 ? found[0].length / 2 : 0;
}

function holds(
  condition: Condition | undefined,
  reader: ByteReader,
  before: readonly RawPart[],
): boolean {
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
      return next !== undefined && !(next === 0x06 && reads(remaining(reader)));
    case "if-bare-result":
      return next !== undefined && !fieldOfNumber(next) && isAmountFirst(remaining(reader, 1));
    case "if-line-feeds":
      return last?.content[0] === 0xff && reader.left > 0;
    case "if-no-line-feeds":
      return !(before.length > 1 || last?.content[0] === 0xff);
  }
}

function isLengthDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0xf0 && byte <= 0xf9;
}

/** The two bytes are a currency when nothing, or readable fields, stand behind them. */
function isBareCurrency(reader: ByteReader): boolean {
  if (reader.peek() === 0x49) return false;
  return reader.left === 2 || reads(remaining(reader, 2)) || !reads(remaining(reader));
}

function isAmountFirst(rest: Uint8Array): boolean {
  return rest[0] === 0x04 && reads(rest);
}

function remaining(reader: ByteReader, skip = 0): Uint8Array {
  return reader.bytes.subarray(reader.at + skip);
}

/** Whether these bytes are numbered fields from the first to the last. */
function reads(bytes: Uint8Array): boolean {
  try {
    return readFields(bytes).unknownField === null;
  } catch (error) {
    if (error instanceof ZvtCodecError) return false;
    throw error;
  }
}

export function encodeRaw(raw: RawMessage, { answering }: Answering = {}): Apdu {
  const shape = shapeOf(raw.control, answering);
  const parts = raw.parts.map(({ name, content }) => {
    const declared = shape?.parts.find((part) => part.name === name);
    return declared?.length === "lllvar"
      ? concat([writeDigitLength(content.length, 3), content])
      : content;
  });
  const data = concat([...parts, writeFields(raw.fields), raw.rest]);
  return { control: raw.control, data, ...(raw.extended ? { extended: true } : {}) };
}
