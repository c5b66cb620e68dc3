import type { ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { HistoryParts } from "./gateway-history.ts";
import { effectOf, type Notified, refundedSum } from "./gateway-state.ts";

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
    .map((transactionId) => ({ transactionId, returnedMinor: returnedOf(transactionId, parts) }))
    .filter(({ returnedMinor }) => returnedMinor > 0);
  return { returns, last: page.at(-1)?.id ?? from, more: found.length > limit };
}

/**
 * An order that the gateway has twice is returned as far as both are: what was given back of the
 * second one alone leaves the customer charged.
 */
function returnedOf(transactionId: string, { operations, notifications }: HistoryParts): number {
  const transaction = operations.transaction(transactionId);
  if (!transaction) return 0;
  const { amountMinor } = transaction;
  const told = notifications.acceptedOf([transactionId]);
  const publicIds = operations.publicIdsOf(transaction.orderId);
  const sums = publicIds.map((publicId) =>
    sumOf(
      amountMinor,
      told.filter((one) => one.kind === "operation" && one.transactionPublicId === publicId),
    ),
  );
  return sums.length === 0 ? 0 : Math.min(...sums);
}

/** Cancellation and chargeback are of all of it. */
function sumOf(amountMinor: number, told: readonly Notified[]): number {
  const effects = told.map(effectOf);
  const whole = effects.includes("cancelled") || effects.includes("reversed");
  return whole ? amountMinor : Math.min(refundedSum(amountMinor, told), amountMinor);
}
