import {
  type Charset,
  codeOfCharset,
  container,
  encodeMessage,
  fromHex,
  tag,
} from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

interface RegistrationOptions {
  readonly password: string;
  readonly configByte: number;
  /** ISO 4217 numeric with a leading zero, `0978`. */
  readonly registrationCurrency: string;
  readonly charset: Charset;
  readonly printerWidth: number;
  /** Tag 1F04, docs/zvt.md 11.2; null leaves it out. */
  readonly receiptsWanted: number | null;
  /** Ask for message sequence ids (docs/zvt.md 9.4). */
  readonly messageIds: boolean;
}

/** Registration 06 00, docs/zvt.md 6.1. The currency is two bare bytes, never field 49. */
export function registration(options: RegistrationOptions): Command {
  const { password, configByte, registrationCurrency, charset } = options;
  const tags = [
    tag("printerWidth", String(options.printerWidth).padStart(2, "0")),
    container("permittedCommands", [tag("command", fromHex("06d3"))]),
    // CP437 holds when nobody asks for anything else.
    ...(charset === "cp437" || charset === "zvt7"
      ? []
      : [container("charsets", [tag("charset", codeOfCharset(charset))])]),
    ...(options.receiptsWanted === null
      ? []
      : [tag("receiptsWanted", Uint8Array.of(options.receiptsWanted))]),
    ...(options.messageIds ? [tag("messageSequence", "000000")] : []),
  ];
  return command({ parts: { password, configByte, currency: registrationCurrency }, tags });
}

/** For terminals that take nothing else: without a container, and perhaps without a currency. */
export function bareRegistration(
  { password, configByte, registrationCurrency: currency }: RegistrationOptions,
  named: "currency" | "nothing",
): Command {
  return command({
    parts: { password, configByte, ...(named === "currency" ? { currency } : {}) },
  });
}

function command(input: Parameters<typeof encodeMessage>[1]): Command {
  return {
    name: "registration",
    apdu: encodeMessage("registration", input),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}
