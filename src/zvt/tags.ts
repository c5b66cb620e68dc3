import { maskPansInText } from "../shared/masking/mask.ts";
import { ByteReader, concat, decodeBigEndian, encodeBigEndian, ZvtCodecError } from "./bytes.ts";
import { type NamedTag, type TagName, tags as tagsByName, tagsByNumber } from "./tag-table.ts";
import {
  type Charset,
  decodeValue,
  encodeValue,
  type FieldValue,
  type TagValueOf,
} from "./values.ts";

/** One tag with its content, exactly as in the container on the wire (docs/zvt.md 4.3). */
export interface RawTag {
  readonly tag: number;
  readonly content: Uint8Array;
  /** The tags inside this tag; null: plain content without tags. */
  readonly children: readonly RawTag[] | null;
  /** The number of bytes (1 to 3) that encode the length, if more than necessary. */
  readonly lengthBytes?: number;
}

/** The deepest nesting of tags that is read; real receipts have four levels. */
const TLV_DEPTH_MAX = 16;
const TAG_BYTES_MAX = 4;

function readTags(content: Uint8Array, depth = 0): RawTag[] {
  if (depth > TLV_DEPTH_MAX) throw new ZvtCodecError("tlv-depth", "containers nested too deep");
  const reader = new ByteReader(content);
  const tags: RawTag[] = [];
  while (reader.left > 0) {
    const tag = readTagNumber(reader);
    const { length, lengthBytes } = readTlvLength(reader);
    const content = reader.take(length);
    const children = hasConstructedBit(tag) ? readChildren(tag, content, depth) : null;
    const found = { tag, content, children };
    tags.push(lengthBytes === undefined ? found : { ...found, lengthBytes });
  }
  return tags;
}

/**
 * Returns the tags inside a tag with the constructed bit; null: it contains none. An unknown tag
 * can have the bit and plain content, and is then skipped (docs/zvt.md 4.3).
 */
function readChildren(tag: number, content: Uint8Array, depth: number): RawTag[] | null {
  const known = tagsByNumber.get(tag);
  if (known?.as === "opaque") return null;
  try {
    return readTags(content, depth + 1);
  } catch (error) {
    if (known || !(error instanceof ZvtCodecError)) throw error;
    return null;
  }
}

/** Returns whether bit 6 of the first byte of a tag is set (docs/zvt.md 4.3). */
export function hasConstructedBit(number: number): boolean {
  let first = number;
  while (first > 0xff) first = Math.floor(first / 256);
  return (first & 0x20) !== 0;
}

function readTagNumber(reader: ByteReader): number {
  let tag = reader.byte();
  if ((tag & 0x1f) !== 0x1f) return tag;
  for (let bytes = 2; bytes <= TAG_BYTES_MAX; bytes++) {
    const next = reader.byte();
    tag = tag * 256 + next;
    if ((next & 0x80) === 0 || isOldFileTag(tag, reader)) return tag;
  }
  throw new ZvtCodecError("tag", "tag longer than four bytes");
}

/**
 * Returns whether a tag 1F80 to 1F83 ends after two bytes, as in revision 13.08. Later revisions
 * have a third byte, which is assumed if it and a length can follow (docs/zvt.md 4.3).
 */
function isOldFileTag(tag: number, reader: ByteReader): boolean {
  if (tag < 0x1f80 || tag > 0x1f83) return false;
  const third = reader.peek();
  const length = reader.peek(1);
  const newForm =
    third !== undefined && third <= 0x10 && length !== undefined && length <= reader.left - 2;
  return !newForm;
}

/** Reads a length; `lengthBytes` is the number of bytes that encode it, if more than needed. */
function readTlvLength(reader: ByteReader): { length: number; lengthBytes?: number } {
  const first = reader.byte();
  if (first <= 0x7f) return { length: first };
  if (first !== 0x81 && first !== 0x82) {
    throw new ZvtCodecError("tlv-length", `TLV length ${first.toString(16)} does not exist`);
  }
  const length = decodeBigEndian(reader.take(first - 0x80));
  const lengthBytes = first - 0x7f;
  return lengthBytes === tlvLengthBytes(length) ? { length } : { length, lengthBytes };
}

function tlvLengthBytes(length: number): number {
  if (length <= 0x7f) return 1;
  return length <= 0xff ? 2 : 3;
}

export function writeTlvLength(length: number, lengthBytes = tlvLengthBytes(length)): Uint8Array {
  if (length > 0xffff) throw new ZvtCodecError("too-long", `${length} bytes in one tag`);
  if (lengthBytes === 1) return Uint8Array.of(length);
  return concat([Uint8Array.of(0x7f + lengthBytes), encodeBigEndian(length, lengthBytes - 1)]);
}

/** Reads the content of field 06: the length of the container, and the tags in it. */
export function readContainer(reader: ByteReader) {
  const { length, ...written } = readTlvLength(reader);
  const content = reader.take(length);
  return { content, tags: readTags(content), ...written };
}

export function writeContainer(tags: readonly RawTag[], lengthBytes?: number): Uint8Array {
  const content = writeTags(tags);
  return concat([writeTlvLength(content.length, lengthBytes), content]);
}

export function writeTags(tags: readonly RawTag[]): Uint8Array {
  return concat(
    tags.flatMap(({ tag, content, children, lengthBytes }) => {
      const inside = children ? writeTags(children) : content;
      return [encodeBigEndian(tag), writeTlvLength(inside.length, lengthBytes), inside];
    }),
  );
}

/** One tag of a container with its decoded value, without card data. */
export interface Tag {
  readonly tag: number;
  /** The name in the table of tags; null: the tag is unknown. */
  readonly name: TagName | null;
  /** The value; null: the tag contains tags. Of card data and unknown tags: the number of bytes. */
  readonly value: FieldValue | null;
  readonly children: readonly Tag[] | null;
}

/** The longest content that is read as a number; a longer content stays bytes. */
const NUMBER_BYTES_MAX = 6;

export function decodeTags(tags: readonly RawTag[], charset: Charset): Tag[] {
  return tags.map(({ tag, content, children }) => {
    const entry = tagsByNumber.get(tag);
    const name = entry?.name ?? null;
    if (children) return { tag, name, value: null, children: decodeTags(children, charset) };
    const value = decodeTagValue(entry?.as ?? "secret", content, charset);
    return { tag, name, value, children: null };
  });
}

function decodeTagValue(as: NamedTag["as"], content: Uint8Array, charset: Charset): FieldValue {
  if (as === "number" && (content.length === 0 || content.length > NUMBER_BYTES_MAX)) {
    return content;
  }
  const value = decodeValue(as === "text" ? "zero-text" : as, content, charset);
  // Digits are masked in every tag, because a terminal can put a card number into any tag.
  return as === "digits" ? maskPansInText(String(value)) : value;
}

/** Makes a tag from a value. Bytes are written unchanged; digits need a string of even length. */
export function tag(name: TagName, value: number | string | Uint8Array, charset?: Charset): RawTag {
  const [number, as] = tagsByName[name];
  return { tag: number, content: encodeValue(as, value, charset), children: null };
}

/** Makes a tag that contains other tags. Throws {@link ZvtCodecError} for any other tag. */
export function container(name: TagName, children: readonly RawTag[]): RawTag {
  const [number] = tagsByName[name];
  if (!hasConstructedBit(number)) {
    throw new ZvtCodecError("tag", `tag ${number.toString(16)} cannot hold others`);
  }
  return { tag: number, content: writeTags(children), children };
}

/** Makes a tag by its number: for unknown tags and those of vendors. */
export function rawTag(number: number, content: Uint8Array): RawTag {
  return { tag: number, content, children: null };
}

/** Returns all tags at a path, which names one tag for each level of nesting. */
export function findTags(tags: readonly Tag[] | null, ...path: TagName[]): Tag[] {
  let found: Tag[] = [];
  for (let level = 0; level < path.length; level++) {
    const among = level === 0 ? tags : found.flatMap(({ children }) => children ?? []);
    found = among?.filter(({ name }) => name === path[level]) ?? found;
  }
  return found;
}

/** Returns the value of the first tag at a path; undefined: no tag, or a value of another type. */
export function tagValue<N extends TagName>(
  tags: readonly Tag[] | null,
  ...path: [...TagName[], N]
): TagValueOf<N> | undefined {
  const value = findTags(tags, ...path)[0]?.value;
  const [, as] = tagsByName[path[path.length - 1] as N];
  const isText = as === "digits" || as === "text";
  const isAsDeclared =
    as === "number" || isText
      ? typeof value === (isText ? "string" : "number")
      : value instanceof Uint8Array;
  return isAsDeclared ? (value as TagValueOf<N>) : undefined;
}
