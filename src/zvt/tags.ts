import { maskPansInText } from "../shared/masking/mask.ts";
import { decodeBigEndian, encodeBigEndian, fromHex, toHex } from "./bytes.ts";
import { type Charset, decodeText, encodeText } from "./charset.ts";
import { ZvtCodecError } from "./errors.ts";
import {
  hasConstructedBit,
  type NamedTag,
  type TagName,
  type TagValueOf,
  tagOfName,
  tagOfNumber,
} from "./tag-table.ts";
import { type RawTag, writeTags } from "./tlv.ts";
import type { Hidden } from "./values.ts";

/** A data object of a container with its value, without card data. */
export interface Tag {
  readonly tag: number;
  /** null for a tag that is not in the table. */
  readonly name: TagName | null;
  /** null for a tag that holds others, {@link Hidden} for card data and unknown tags. */
  readonly value: number | string | Uint8Array | Hidden | null;
  readonly children: readonly Tag[] | null;
}

/** Longer than any number of the table: the value stays bytes. */
const NUMBER_BYTES_MAX = 6;

export function decodeTags(tags: readonly RawTag[], charset: Charset): Tag[] {
  return tags.map((raw) => decodeTag(raw, charset));
}

function decodeTag({ tag, content, children }: RawTag, charset: Charset): Tag {
  const entry = tagOfNumber(tag);
  const name = entry?.name ?? null;
  if (children) return { tag, name, value: null, children: decodeTags(children, charset) };
  return { tag, name, value: decodeTagValue(entry, content, charset), children: null };
}

function decodeTagValue(
  entry: NamedTag | undefined,
  content: Uint8Array,
  charset: Charset,
): number | string | Uint8Array | Hidden {
  switch (entry?.as) {
    case "number":
      return content.length === 0 || content.length > NUMBER_BYTES_MAX
        ? content
        : decodeBigEndian(content);
    case "digits":
      // Of any length: nothing keeps a terminal from putting a card number here.
      return maskPansInText(toHex(content).toUpperCase());
    case "text":
      return maskPansInText(decodeText(content, charset).replace(/\0+$/, ""));
    case "bytes":
    case "opaque":
      return content;
    default:
      return { hiddenBytes: content.length };
  }
}

/** A tag to be encoded. Bytes are taken as they are; digits are a string of even length. */
export function tag(name: TagName, value: number | string | Uint8Array, charset?: Charset): RawTag {
  const { number, as } = tagOfName(name);
  const content = value instanceof Uint8Array ? value : encodeTagValue(as, value, charset);
  return { tag: number, content, children: null };
}

function encodeTagValue(
  as: NamedTag["as"],
  value: number | string,
  charset: Charset = "cp437",
): Uint8Array {
  if (typeof value === "number" && as === "number") return encodeBigEndian(value);
  if (typeof value === "string" && as === "digits") return fromHex(value);
  if (typeof value === "string" && as === "text") return encodeText(value, charset);
  throw new ZvtCodecError("value", `a ${typeof value} cannot be encoded as ${as}`);
}

/** A tag that holds others. */
export function container(name: TagName, children: readonly RawTag[]): RawTag {
  const { number } = tagOfName(name);
  if (!hasConstructedBit(number)) {
    throw new ZvtCodecError("tag", `tag ${number.toString(16)} cannot hold others`);
  }
  return { tag: number, content: writeTags(children), children };
}

/** A plain tag by its number, for vendors' and unknown ones. */
export function rawTag(number: number, content: Uint8Array): RawTag {
  return { tag: number, content, children: null };
}

/** All tags of that name at the end of a path of names. */
export function findTags(tags: readonly Tag[] | null, ...path: TagName[]): Tag[] {
  const [name, ...deeper] = path;
  const found = (tags ?? []).filter((entry) => entry.name === name);
  if (deeper.length === 0) return found;
  return found.flatMap(({ children }) => findTags(children, ...deeper));
}

/**
 * The value of the first tag at the end of the path; undefined when it is not there or its content
 * is not what the table says.
 */
export function tagValue<N extends TagName>(
  tags: readonly Tag[] | null,
  ...path: [...TagName[], N]
): TagValueOf<N> | undefined {
  const value = findTags(tags, ...path)[0]?.value;
  const { as } = tagOfName(path[path.length - 1] as N);
  const isText = as === "digits" || as === "text";
  const isAsDeclared =
    as === "number" || isText
      ? typeof value === (isText ? "string" : "number")
      : value instanceof Uint8Array;
  return isAsDeclared ? (value as TagValueOf<N>) : undefined;
}
