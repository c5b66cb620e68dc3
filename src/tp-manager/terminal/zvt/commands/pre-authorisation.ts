import { encodeMessage } from "../../../../zvt/index.ts";
import type { PaymentOrder } from "../../terminal.ts";
import { anyTime, type Command } from "./command.ts";

/**
 * Pre-authorisation 06 22, docs/zvt.md 6.3. The 04 0F may carry a smaller amount than was asked
 * for: no more may be sold.
 */
export function preAuthorisation({ amountMinor, currencyNumeric }: PaymentOrder): Command {
  return {
    name: "pre-authorisation",
    apdu: encodeMessage("pre-authorisation", {
      fields: { amount: amountMinor, currency: currencyNumeric.padStart(4, "0") },
    }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: true,
  };
}
