import type { ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { HistoryParts } from "./gateway-history.ts";
import { returnedOfOrder } from "./returned-sums.ts";

/** Which of our transactions got money back, as notified after the document number `after`. */
export function gatewayReturns(
  after: number,
  limit: number,
  parts: HistoryParts,
): ResponseOf<typeof supervisorMessages, "gateway-returns"> {
  const { notifications } = parts;
  // Another database than the one that was read before: everything is new.
  const from = after > notifications.newest() ? 0 : after;
  const found = notifications.returnsAfter(from, limit + 1);
  const page = found.slice(0, limit);
  const ids = [...new Set(page.map(({ transactionId }) => transactionId))];
  const returns = ids
    .map((transactionId) => ({
      transactionId,
      returnedMinor: returnedOfOrder(transactionId, parts),
    }))
    .filter(({ returnedMinor }) => returnedMinor > 0);
  return { returns, last: page.at(-1)?.id ?? from, more: found.length > limit };
}
