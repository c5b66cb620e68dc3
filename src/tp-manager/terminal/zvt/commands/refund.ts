import { encodeMessage } from "../../../../zvt/index.ts";
import type { PaymentOrder } from "../../terminal.ts";
import { anyTime, type Command } from "./command.ts";

/**
 * Refund 06 31, docs/zvt.md 6.3: money to a card without a stored sale. As financial as a payment.
 */
export function refund({ amountMinor, currencyNumeric }: PaymentOrder, password: string): Command {
  return {
    name: "refund",
    apdu: encodeMessage("refund", {
      parts: { password },
      fields: { amount: amountMinor, currency: currencyNumeric.padStart(4, "0") },
    }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: true,
  };
}
