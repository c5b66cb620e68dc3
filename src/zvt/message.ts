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
import {
  concat,
  decodeBcd,
  encodeBcd,
  encodeBigEndian,
  fromHex,
  sameBytes,
  toHex,
} from "./bytes.ts";
import { type Charset, DEFAULT_CHARSET, encodeText } from "./charset.ts";
import { ZvtCodecError } from "./errors.ts";
import { type FieldName, fieldOfNumber, fields } from "./field-table.ts";
import {
  type MessageName,
  messages,
  type Part,
  type PartName,
  type PartValues,
  shapeOf,
} from "./message-table.ts";
import {
  type Answering,
  decodeRaw,
  type RawField,
  type RawPart,
  writeDigitLength,
  writeFields,
} from "./raw-message.ts";
import { decodeTags, type Tag } from "./tags.ts";
import type { RawTag } from "./tlv.ts";
import {
  decodeValue,
  encodeFieldValue,
  type FieldInputs,
  type FieldValue,
  type FieldValues,
} from "./values.ts";

export interface Message {
  readonly name: MessageName | "unknown";
  readonly control: number;
  readonly parts: Partial<PartValues>;
  readonly fields: FieldValues;
  /** The container, field 06; null when there is none. */
  readonly tags: readonly Tag[] | null;
  /** Number of the first field that is not in the table; what follows it was not read. */
  readonly unknownField: number | null;
}

export interface DecodeOptions extends Answering {
  readonly charset?: Charset;
}

/** Throws {@link ZvtCodecError}, nothing else. */
export function decodeMessage(apdu: Apdu, options: DecodeOptions = {}): Message {
  const raw = decodeRaw(apdu, options);
  const charset = options.charset ?? DEFAULT_CHARSET;
  const shape = shapeOf(apdu.control, options.answering);
  const container = raw.fields.find(({ tags }) => tags !== null);
  return {
    name: shape?.name ?? "unknown",
    control: apdu.control,
    parts: decodeParts(raw.parts, shape?.parts ?? [], charset),
    fields: decodeFields(raw.fields, charset),
    tags: container?.tags ? decodeTags(container.tags, charset) : null,
    unknownField: raw.unknownField,
  };
}

/** The xx of 84 xx, the negative answer to a command; undefined for every other message. */
export function errorCodeOf(control: number): number | undefined {
  return control >> 8 === 0x84 && control !== 0x8400 ? control & 0xff : undefined;
}

function decodeFields(raw: readonly RawField[], charset: Charset): FieldValues {
  const values: Partial<Record<FieldName, FieldValue>> = {};
  const contents = new Map<number, Uint8Array>();
  for (const { number, content } of raw) {
    const earlier = contents.get(number);
    if (earlier && !sameBytes(earlier, content)) {
      throw new ZvtCodecError("duplicate-field", `field ${number.toString(16)} stands there twice`);
    }
    contents.set(number, content);
    const entry = fieldOfNumber(number);
    if (entry && entry.as !== "container") {
      values[entry.name] = decodeValue(entry.as, content, charset);
    }
  }
  return values as FieldValues;
}

function decodeParts(
  raw: readonly RawPart[],
  declared: readonly Part[],
  charset: Charset,
): Partial<PartValues> {
  const values: Partial<Record<PartName, FieldValue>> = {};
  for (const { name, content } of raw) {
    const part = declared.find((entry) => entry.name === name);
    const value = part && decodePart(part, content, charset);
    if (value !== undefined) values[name] = value;
  }
  return values as Partial<PartValues>;
}

function decodePart({ as }: Part, content: Uint8Array, charset: Charset): FieldValue | undefined {
  if (as === "secret-digits") return decodeValue("digits", content, charset);
  if (as === "text") return decodeValue("zero-text", content, charset);
  if (as !== "bcd-number") return decodeValue(as, content, charset);
  // The time-out of 04 FF; a value that is not decimal counts as not sent (docs/zvt.md 7.2).
  return /^\d+$/.test(toHex(content)) ? decodeBcd(content) : undefined;
}

export interface MessageInput {
  readonly parts?: Partial<PartValues>;
  /** Written in the order given here; the container comes last. */
  readonly fields?: FieldInputs;
  /** undefined: no container; an empty list is an empty one, `06 00`. */
  readonly tags?: readonly RawTag[];
  readonly charset?: Charset;
  /** 84 xx: the error code. */
  readonly errorCode?: number;
}

export function encodeMessage(name: MessageName, input: MessageInput = {}): Apdu {
  const { parts = {}, fields: values = {}, tags, charset = DEFAULT_CHARSET, errorCode } = input;
  const shape: { control: number; parts: readonly Part[] } = messages[name];
  const positional = shape.parts.flatMap((part) => encodePart(part, parts, charset));
  const numbered = Object.entries(values).map(([key, value]): RawField => {
    const field = key as Exclude<FieldName, "tlv">;
    const content = encodeFieldValue(field, value, charset);
    return { number: fields[field].number, content, tags: null };
  });
  const container: RawField[] =
    tags === undefined ? [] : [{ number: fields.tlv.number, content: new Uint8Array(0), tags }];
  return {
    control: shape.control + (errorCode ?? 0),
    data: concat([...positional, writeFields([...numbered, ...container])]),
  };
}

function encodePart(part: Part, values: Partial<PartValues>, charset: Charset): Uint8Array[] {
  const value = values[part.name];
  if (value === undefined) {
    if (part.when || part.length === "rest") return [];
    throw new ZvtCodecError("missing-part", `${part.name} is missing`);
  }
  const content = encodePartValue(part, value, charset);
  if (part.length === "lllvar") return [writeDigitLength(content.length, 3), content];
  if (part.length !== "rest" && content.length !== part.length) {
    throw new ZvtCodecError("value", `${part.name} needs ${part.length} bytes`);
  }
  return [content];
}

function encodePartValue(
  { name, as, length }: Part,
  value: number | string | Uint8Array,
  charset: Charset,
): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "number" && typeof length === "number") {
    return as === "bcd-number" ? encodeBcd(value, length) : encodeBigEndian(value, length);
  }
  if (typeof value === "string") {
    if (as === "digits" || as === "secret-digits") return fromHex(value);
    if (as === "text") return encodeText(value, charset);
  }
  throw new ZvtCodecError("value", `${name} cannot be encoded as ${as}`);
}
