import { applicationName } from "../../../../concert/index.ts";
import type { TraceField } from "../../trace-log.ts";

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
