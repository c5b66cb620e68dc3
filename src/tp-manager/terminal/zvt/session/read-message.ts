import {
  type Apdu,
  type Charset,
  charsetOfCode,
  type DecodeOptions,
  decodeMessage,
  type Message,
  shapeOf,
  tagValue,
  ZvtCodecError,
} from "../../../../zvt/index.ts";

interface ReadMessage {
  readonly message: Message;
  /** Why it could not be read beyond its control field; null when it could. */
  readonly problem: string | null;
}

/** Never throws for anything that a terminal can send. */
export function readMessage(
  apdu: Apdu,
  options: DecodeOptions & { readonly charset: Charset },
): ReadMessage {
  try {
    return { message: inOwnCharset(apdu, decodeMessage(apdu, options), options), problem: null };
  } catch (error) {
    if (!(error instanceof ZvtCodecError)) throw error;
    const name = shapeOf(apdu.control, options.answering)?.name ?? "unknown";
    const nothing = { parts: {}, fields: {}, tags: null, unknownField: null };
    return { message: { name, control: apdu.control, ...nothing }, problem: error.message };
  }
}

/** A print block may name its own character set (docs/zvt.md 11.7). */
function inOwnCharset(
  apdu: Apdu,
  message: Message,
  options: DecodeOptions & { readonly charset: Charset },
): Message {
  const code = tagValue(message.tags, "charset");
  const charset = code === undefined ? undefined : charsetOfCode(code);
  if (!charset || charset === options.charset) return message;
  return decodeMessage(apdu, { ...options, charset });
}
