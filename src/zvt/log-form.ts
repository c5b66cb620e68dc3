/** The only forms of a message that may be logged: no card data, no password, no PIN. */
import { maskPansInText } from "../shared/masking/mask.ts";
import { type Apdu, encodeApdu } from "./apdu.ts";
import { hexByte, toHex } from "./bytes.ts";
import { ZvtCodecError } from "./errors.ts";
import { type Encoding, fieldOfNumber } from "./field-table.ts";
import { type Part, shapeOf } from "./message-table.ts";
import { type RawField, writeDigitLength } from "./raw-fields.ts";
import { type Answering, decodeRaw } from "./raw-message.ts";
import { tagOfNumber } from "./tag-table.ts";
import { type RawTag, writeTags } from "./tlv.ts";

/** Stands for one byte that is not shown. */
const HIDDEN_BYTE = "..";

/**
 * The bytes of an APDU in hexadecimal, with two dots for every byte that is, or might be, card
 * data, a password, or the digits of a card number inside a text. Bytes that cannot be read, an
 * unknown field and all behind it, and unknown tags are not shown at all.
 */
export function safeHex(apdu: Apdu, options: Answering = {}): string {
  const head = toHex(encodeApdu(apdu)).slice(0, 2 * headBytes(apdu));
  return head + safeData(apdu, options);
}

function headBytes({ data, extended }: Apdu): number {
  return extended || data.length > 0xfe ? 5 : 3;
}

function safeData(apdu: Apdu, options: Answering): string {
  try {
    const raw = decodeRaw(apdu, options);
    const declared: readonly Part[] = shapeOf(apdu.control, options.answering)?.parts ?? [];
    const parts = raw.parts.map(({ name, content }) => {
      const part = declared.find((entry) => entry.name === name);
      const length = part?.length === "lllvar" ? toHex(writeDigitLength(content.length, 3)) : "";
      return length + safePart(part?.as, content);
    });
    return parts.join("") + raw.fields.map(safeField).join("") + hidden(raw.rest);
  } catch (error) {
    if (error instanceof ZvtCodecError) return hidden(apdu.data);
    throw error;
  }
}

function safePart(as: Part["as"] | undefined, content: Uint8Array): string {
  if (as === "text") return safeText(content);
  return as === "number" || as === "digits" || as === "bcd-number"
    ? toHex(content)
    : hidden(content);
}

function safeField({ number, content, tags, lengthBytes }: RawField): string {
  const entry = fieldOfNumber(number);
  const name = hexByte(number);
  if (tags) return name + safeTlvLength(content.length, lengthBytes) + tags.map(safeTag).join("");
  if (!entry) return name + hidden(content);
  const length =
    entry.length === "llvar" || entry.length === "lllvar"
      ? toHex(writeDigitLength(content.length, entry.length === "llvar" ? 2 : 3))
      : "";
  return name + length + safeContent(entry.as, content);
}

function safeContent(as: Encoding, content: Uint8Array): string {
  switch (as) {
    case "number":
    case "amount":
    case "digits":
    case "totals":
      return toHex(content);
    case "text":
    case "zero-text":
      return safeText(content);
    default:
      return hidden(content);
  }
}

function safeTag({ tag, content, children, lengthBytes }: RawTag): string {
  const head = toHex(writeTags([{ tag, content: new Uint8Array(0), children: null }])).slice(0, -2);
  const length = safeTlvLength(content.length, lengthBytes);
  if (children) return head + length + children.map(safeTag).join("");
  const as = tagOfNumber(tag)?.as;
  if (as === "text") return head + length + safeText(content);
  const shown = as === "number" || as === "digits" || as === "bytes";
  return head + length + (shown ? safeDigits(content) : hidden(content));
}

function safeTlvLength(length: number, lengthBytes?: number): string {
  const bytes = lengthBytes ?? (length <= 0x7f ? 1 : length <= 0xff ? 2 : 3);
  if (bytes === 1) return hexByte(length);
  return hexByte(0x7f + bytes) + length.toString(16).padStart(2 * (bytes - 1), "0");
}

/** Shown digit by digit: a card number in them, at any place, hides them all. */
function safeDigits(content: Uint8Array): string {
  const digits = toHex(content);
  return maskPansInText(digits) === digits ? digits : hidden(content);
}

/** One byte is one character here, whatever the set: digits are the same in all of them. */
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

/** `060f completion`, for lines that need no bytes. */
export function messageTitle(apdu: Apdu, { answering }: Answering = {}): string {
  const name = shapeOf(apdu.control, answering)?.name ?? "unknown";
  return `${apdu.control.toString(16).padStart(4, "0")} ${name}`;
}
