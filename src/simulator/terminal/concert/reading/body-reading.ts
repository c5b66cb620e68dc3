import { applicationName, safeText, textOf } from "../../../../concert/index.ts";
import type { TraceEntry, TraceField } from "../../trace-log.ts";

/** A body taken apart for people; no card number is in it. */
export type ReadBody = Pick<TraceEntry, "message" | "says" | "fields" | "text" | "note">;

/** Takes the bodies of one family apart for the trace, also malformed ones. */
export interface MessageReading {
  /** `direction` is seen from the terminal. */
  read(body: Uint8Array, direction: "in" | "out"): ReadBody;
}

/** Stands between two fields of the text, so that their digits are not one number. */
export const BETWEEN_FIELDS = "|";
const CHARACTERS_MAX = 2_048;

/** Bytes that are no message, as far as they can be shown. */
export function shownRest(bytes: Uint8Array): string {
  return safeText(textOf(bytes), CHARACTERS_MAX);
}

/** The facts of a message in one line. */
export function inOneLine(facts: readonly (string | undefined)[]): Pick<ReadBody, "says"> {
  const says = facts.filter((fact) => fact !== undefined).join(", ");
  return says === "" ? {} : { says };
}

/** A field as the trace has it; without a meaning where the value says all. */
export function field(name: string, value: string, means?: string): TraceField {
  return { name, value, ...(means === undefined ? {} : { means }) };
}

/** docs/concert.md 3.4; also the last character of an application (docs/concert.md 4.5). */
export function paymentModeInWords(mode: string): string | undefined {
  if (mode === "B") return "bank card, contactless";
  const others: Readonly<Record<string, string>> = {
    "0": "as the terminal chooses",
    "1": "bank card",
    C: "cheque",
  };
  return others[mode] ?? applicationName(mode) ?? undefined;
}

/** The wish of a register in words (docs/concert.md 3.1, 4.3). */
export function actionInWords(action: string): string {
  const known: Readonly<Record<string, string>> = {
    "0": "debit",
    "1": "credit",
    "2": "cancellation",
    "4": "pre-authorisation",
    I: "identification",
  };
  return known[action] ?? "an action that papers explain differently";
}
