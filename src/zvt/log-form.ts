/** The only forms in which a message can be logged: without card data, password and PIN. */
import { maskPansInText } from "../shared/masking/mask.ts";
import { type Apdu, encodeApdu } from "./apdu.ts";
import { encodeBigEndian, hexByte, toHex, ZvtCodecError } from "./bytes.ts";
import { type Field, fieldsByNumber } from "./field-table.ts";
import { type Answering, decodeRaw, type RawField, writeLength } from "./message.ts";
import { type Part, shapeOf } from "./message-table.ts";
import { tagsByNumber } from "./tag-table.ts";
import { type RawTag, writeTlvLength } from "./tags.ts";

const HIDDEN_BYTE = "..";

/**
 * Returns the bytes of an APDU in hexadecimal, with two dots for every byte that is, or could be,
 * card data, part of a password, or a digit of a card number in a text. Hidden too are bytes that
 * cannot be read, an unknown field with all bytes after it, and unknown tags.
 */
export function safeHex(apdu: Apdu, options: Answering = {}): string {
  const bytes = encodeApdu(apdu);
  return toHex(bytes.subarray(0, bytes.length - apdu.data.length)) + safeData(apdu, options);
}

function safeData(apdu: Apdu, options: Answering): string {
  try {
    const raw = decodeRaw(apdu, options);
    const parts = raw.parts.map(({ part, content }) => safeContent(part, content));
    return parts.join("") + raw.fields.map(safeField).join("") + hidden(raw.rest);
  } catch (error) {
    if (error instanceof ZvtCodecError) return hidden(apdu.data);
    throw error;
  }
}

function safeField({ number, content, tags, lengthBytes }: RawField): string {
  const entry = fieldsByNumber.get(number);
  const name = hexByte(number);
  if (tags) {
    const length = toHex(writeTlvLength(content.length, lengthBytes));
    return name + length + tags.map(safeTag).join("");
  }
  return name + safeContent(entry, content);
}

function safeContent(entry: Field | Part | undefined, content: Uint8Array): string {
  const length = toHex(writeLength(entry?.length, content.length));
  switch (entry?.as) {
    case "number":
    case "bcd-number":
    case "amount":
    case "digits":
    case "totals":
      return length + toHex(content);
    case "text":
    case "zero-text":
      return length + safeText(content);
    default:
      return length + hidden(content);
  }
}

function safeTag({ tag, content, children, lengthBytes }: RawTag): string {
  const head = toHex(encodeBigEndian(tag)) + toHex(writeTlvLength(content.length, lengthBytes));
  if (children) return head + children.map(safeTag).join("");
  const as = tagsByNumber.get(tag)?.as;
  if (as === "text") return head + safeText(content);
  const isOpen = as === "number" || as === "digits" || as === "bytes";
  return head + (isOpen ? safeDigits(content) : hidden(content));
}

/** Returns digits for the log; hides all of them when they may contain a card number. */
function safeDigits(content: Uint8Array): string {
  const digits = toHex(content);
  return maskPansInText(digits) === digits ? digits : hidden(content);
}

/** Returns a text's bytes with card numbers hidden; digits are the same in all character sets. */
function safeText(content: Uint8Array): string {
  const text = Array.from(content, (byte) => String.fromCharCode(byte)).join("");
  const masked = maskPansInText(text);
  return Array.from(content, (byte, i) =>
    masked[i] === text[i] ? hexByte(byte) : HIDDEN_BYTE,
  ).join("");
}

function hidden(content: Uint8Array): string {
  return HIDDEN_BYTE.repeat(content.length);
}

/** Returns the control field and the name of a message for a log, `060f completion` for example. */
export function messageTitle(apdu: Apdu, { answering }: Answering = {}): string {
  const name = shapeOf(apdu.control, answering)?.name ?? "unknown";
  return `${apdu.control.toString(16).padStart(4, "0")} ${name}`;
}
