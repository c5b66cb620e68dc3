import { encodeMessage } from "../../../../zvt/index.ts";
import type { ReversalOrder } from "../../terminal.ts";
import { anyTime, type Command } from "./command.ts";

/**
 * Reversal 06 30, docs/zvt.md 6.3: only of a stored payment with that receipt number and amount. As
 * financial as a payment: it leaves once and its report is stored before it is acknowledged. Some
 * terminals print before the 04 0F (Feig, docs/zvt.md 12.5).
 */
export function reversal(
  { receiptNumber, amountMinor, currencyNumeric }: ReversalOrder,
  password: string,
): Command {
  return {
    name: "reversal",
    apdu: encodeMessage("reversal", {
      parts: { password },
      fields: {
        receiptNumber,
        amount: amountMinor,
        currency: currencyNumeric.padStart(4, "0"),
      },
    }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: true,
  };
}
