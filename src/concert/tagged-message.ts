import { isKnownTag } from "./code-tables.ts";
import { ConcertCodecError, type ConcertFaultCode } from "./errors.ts";
import { bytesOf, textOf } from "./latin-text.ts";

/** A tag and its value, as Latin-1 text, in the order of the wire (docs/concert.md 4.1). */
export type Tagged = readonly [tag: string, value: string];

interface TaggedReading {
  /** The complete tags before the fault; all tags when there is no fault. */
  readonly tags: readonly Tagged[];
  /**
   * The fault at which reading ended; null: all bytes are whole tags. `at`: where the unreadable
   * tag begins. Only "incomplete" can disappear when more bytes arrive.
   */
  readonly fault: { readonly code: ConcertFaultCode; readonly at: number } | null;
}

const VALUE_CHARACTERS_MAX = 999;
const HEAD_CHARACTERS = 5;

/** Encodes tags with length and value. Throws {@link ConcertCodecError} "value". */
export function encodeTagged(tags: readonly Tagged[]): Uint8Array {
  const parts = tags.map(([tag, value]) => {
    if (!/^[A-Z]{2}$/.test(tag)) throw new ConcertCodecError("value", `"${tag}" is no tag`);
    if (value.length < 1 || value.length > VALUE_CHARACTERS_MAX) {
      throw new ConcertCodecError("value", `${tag} has ${value.length} characters`);
    }
    return `${tag}${String(value.length).padStart(3, "0")}${value}`;
  });
  return bytesOf(parts.join(""));
}

/**
 * Reads all tags up to a fault. Line ends after the last tag are ignored, because registers may end
 * a message with them (docs/concert.md 4.7). Never throws: a fault is part of the answer.
 */
export function readTagged(bytes: Uint8Array): TaggedReading {
  const text = textOf(bytes);
  const tags: Tagged[] = [];
  const end = text.replace(/[\r\n]+$/, "").length;
  let at = 0;
  while (at < end) {
    const head = readHead(text, at, tags);
    if (typeof head === "string") return { tags, fault: { code: head, at } };
    const { tag, length } = head;
    const value = text.slice(at + HEAD_CHARACTERS, at + HEAD_CHARACTERS + length);
    if (value.length < length) return { tags, fault: { code: "incomplete", at } };
    const known = tags.some(([earlier]) => earlier === tag);
    if (known) return { tags, fault: { code: "duplicate-tag", at } };
    if (tag === "CZ" && tags.length > 0) return { tags, fault: { code: "order", at } };
    tags.push([tag, value]);
    at += HEAD_CHARACTERS + length;
  }
  return { tags, fault: tags.length === 0 ? { code: "incomplete", at } : null };
}

/**
 * Reads the next tag and its length, or returns the fault. If no tag follows the previous value,
 * the length of that value was wrong, so the value is removed from `tags`.
 */
function readHead(text: string, at: number, tags: Tagged[]) {
  const tag = text.slice(at, at + 2);
  const digits = text.slice(at + 2, at + HEAD_CHARACTERS);
  const isNumber = /^\d*$/.test(digits);
  if (!/^[A-Z]{1,2}$/.test(tag) || (!isNumber && !isKnownTag(tag))) {
    return tags.pop() === undefined ? "tag" : "length";
  }
  if (!isNumber) return "length";
  if (tag.length < 2 || digits.length < 3) return "incomplete";
  return digits === "000" ? "zero-length" : { tag, length: Number(digits) };
}

/** Returns all tags of a whole message. Throws {@link ConcertCodecError}. */
export function decodeTagged(bytes: Uint8Array): readonly Tagged[] {
  const { tags, fault } = readTagged(bytes);
  if (!fault) return tags;
  const { code, at } = fault;
  throw new ConcertCodecError(code, `the message cannot be read from byte ${at}: ${code}`);
}

export function tagValue(tags: readonly Tagged[], tag: string): string | undefined {
  return tags.find(([name]) => name === tag)?.[1];
}

const results = {
  "10": "performed",
  "01": "not-performed",
  "11": "taken-into-account",
} as const;

/** Returns the result of an action, tag AE (docs/concert.md 4.4); undefined: missing or unknown. */
export function actionResult(tags: readonly Tagged[]) {
  const state = tagValue(tags, "AE") ?? "";
  return Object.hasOwn(results, state) ? results[state as keyof typeof results] : undefined;
}
