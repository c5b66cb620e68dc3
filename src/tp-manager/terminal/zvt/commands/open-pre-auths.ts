import { encodeMessage } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** Instead of a receipt number, docs/zvt.md 6.3. In an answer it means: none. */
export const NO_RECEIPT_NUMBER = "FFFF";

/**
 * Open pre-authorisations: a partial reversal 06 23 that names none (docs/zvt.md 6.3). The normal
 * answer is 06 1E B8. The empty container asks for the whole list.
 */
export function openPreAuths(): Command {
  return {
    name: "partial-reversal",
    apdu: encodeMessage("partial-reversal", {
      fields: { receiptNumber: NO_RECEIPT_NUMBER },
      tags: [],
    }),
    replies: anyTime,
    ends: "completion",
    judged: false,
  };
}
