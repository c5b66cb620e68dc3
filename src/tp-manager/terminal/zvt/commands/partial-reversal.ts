import { encodeMessage } from "../../../../zvt/index.ts";
import type { ReversalOrder } from "../../terminal.ts";
import { anyTime, type Command } from "./command.ts";

/** Partial Reversal 06 23, docs/zvt.md 6.3: the amount is the part that was **not** used. */
export function partialReversal({
  receiptNumber,
  amountMinor,
  currencyNumeric,
}: ReversalOrder): Command {
  return {
    name: "partial-reversal",
    apdu: encodeMessage("partial-reversal", {
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
