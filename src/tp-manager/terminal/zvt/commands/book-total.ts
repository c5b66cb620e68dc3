import { encodeMessage } from "../../../../zvt/index.ts";
import type { ReversalOrder } from "../../terminal.ts";
import { anyTime, type Command } from "./command.ts";

/** Book Total 06 24, docs/zvt.md 6.3: the amount is the part that **was** used. */
export function bookTotal({ receiptNumber, amountMinor, currencyNumeric }: ReversalOrder): Command {
  return {
    name: "book-total",
    apdu: encodeMessage("book-total", {
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
