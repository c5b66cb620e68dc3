import type {
  GatewayOperation,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { effectOf, type Notified, refundedSum } from "./gateway-state.ts";
import type { HistoryParts } from "./history-parts.ts";

/**
 * How much of a transaction of ours has gone back for certain, in minor units. An order that the
 * gateway has twice is returned as far as both of its transactions are. An order that the gateway
 * may have twice (an answer was lost and the item was sent again) counts as not returned until both
 * are known: a return of one alone leaves the customer charged.
 */
export function returnedOfOrder(transactionId: string, parts: HistoryParts): number {
  const { operations } = parts;
  const transaction = operations.transaction(transactionId);
  if (!transaction) return 0;
  return hasOrMayHaveOthers(transactionId, parts) ? 0 : returnedOfKnown(transaction, parts);
}

/**
 * How much went back if the gateway has no other transactions than those it has named. Another sale
 * of the order is returned for itself.
 */
export function returnedOfKnown(transaction: Transaction, parts: HistoryParts): number {
  const { operations } = parts;
  const publicIds = operations.copiesOf(transaction.transactionId);
  const sums = publicIds.map((publicId) => returnedOfCopy(publicId, transaction, parts));
  return sums.length === 0 ? 0 : Math.min(...sums);
}

/**
 * The gateway may have made, or may still make, transactions of an order that are not known here.
 */
export function hasOrMayHaveOthers(transactionId: string, { operations }: HistoryParts): boolean {
  const known = operations.copiesOf(transactionId).length;
  return known < operations.copiesPossible(transactionId);
}

export function isAtGatewayOnce(transactionId: string, parts: HistoryParts): boolean {
  const known = parts.operations.copiesOf(transactionId).length;
  return known === 1 && !hasOrMayHaveOthers(transactionId, parts);
}

/** How much of one transaction of the gateway has gone back, whoever asked for the return. */
export function returnedOfCopy(
  transactionPublicId: string,
  { orderId, amountMinor }: Transaction,
  { operations, notifications }: HistoryParts,
): number {
  const ours = operations.transactionsOf(orderId).map((one) => one.transactionId);
  const told = notifications
    .acceptedOf(ours)
    .filter((one) => one.kind === "operation" && one.transactionPublicId === transactionPublicId);
  const asked = operations.operationsOf([transactionPublicId]);
  const done = asked.filter(({ state }) => state === "done");
  if (wholeOf(told, done)) return amountMinor;
  // A refund without an amount is of all of it, unless it may be the part that was asked for here.
  const inPart = asked.some((one) => one.kind === "refund" && one.amountMinor !== null);
  const clear = inPart ? told.filter((one) => one.amountMinor !== null) : told;
  return Math.min(refundedSum(amountMinor, clear, done), amountMinor);
}

/** A cancellation and a chargeback always return the whole amount. */
function wholeOf(told: readonly Notified[], done: readonly GatewayOperation[]): boolean {
  const effects = told.map(effectOf);
  if (effects.includes("cancelled") || effects.includes("reversed")) return true;
  return done.some(({ kind }) => kind === "cancel");
}

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
  const sums = ids.map((transactionId) => ({
    transactionId,
    returnedMinor: returnedOfOrder(transactionId, parts),
  }));
  const returns = sums.filter(({ returnedMinor }) => returnedMinor > 0);
  const uncertain = sums
    .filter(({ returnedMinor }) => returnedMinor === 0)
    .map(({ transactionId }) => transactionId);
  return { returns, uncertain, last: page.at(-1)?.id ?? from, more: found.length > limit };
}
