import {
  type Apdu,
  decodeApdu,
  decodeMessage,
  messageTitle,
  safeHex,
  ZvtCodecError,
} from "../../../zvt/index.ts";
import type { TraceEntry } from "../trace-log.ts";
import { hasTrueLength } from "./link/apdu-reader.ts";
import { statusText } from "./machine/texts.ts";

/**
 * A message in the words of the trace. Some messages can only be read with the command that they
 * answer (docs/zvt.md 6.5), `answering`.
 */
export function inWords(bytes: Uint8Array, answering: number | undefined): Partial<TraceEntry> {
  if (!hasTrueLength(bytes)) {
    return { message: "a message with a wrong length", note: `${bytes.length} bytes` };
  }
  const apdu = decodeApdu(bytes);
  const context = answering === undefined ? {} : { answering };
  const says = decoded(apdu, context);
  return {
    hex: safeHex(apdu, context),
    message: messageTitle(apdu, context),
    ...(says === "" ? {} : { says }),
  };
}

/** The facts of a message that are safe to show and that say how a payment goes. */
function decoded(apdu: Apdu, context: { readonly answering?: number }): string {
  try {
    const { fields, parts } = decodeMessage(apdu, context);
    const resultCode = fields.resultCode ?? parts.resultCode;
    const status = parts.status === undefined ? "" : statusText(parts.status, "en");
    const facts = {
      amount: fields.amount === undefined ? undefined : `${fields.amount} minor units`,
      currency: fields.currency,
      result: resultCode === undefined ? undefined : hexByte(resultCode),
      receipt: fields.receiptNumber,
      trace: fields.trace,
      status: status === "" ? parts.status : status,
    };
    return Object.entries(facts)
      .flatMap(([name, fact]) => (fact === undefined ? [] : [`${name} ${fact}`]))
      .join(", ");
  } catch (error) {
    if (error instanceof ZvtCodecError) return "";
    throw error;
  }
}

const hexByte = (byte: number): string => byte.toString(16).padStart(2, "0");
