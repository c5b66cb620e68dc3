import type {
  GatewayHistory,
  GatewayOperation,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import {
  effectOf,
  notifiedNames,
  notifiedSum,
  orderStateOf,
  refundedSum,
} from "./gateway-state.ts";
import type { StoredNotification } from "./notification-store.ts";
import { LOST, type OperationStore } from "./operation-store.ts";

/** The gateway's notifications about an order, and the operations asked of it. */
export function gatewayHistoryOf(orderId: string, store: OperationStore): GatewayHistory {
  const transactions = store.transactionsOf(orderId);
  const events = store.notifications.acceptedOf(transactions.map((one) => one.transactionId));
  const notified = events.filter(isOperation);
  const transactionPublicIds = store.publicIdsOf(orderId);
  const operations = store.operationsOf(transactionPublicIds);
  const copies = new Set([...transactionPublicIds, ...notified.map(publicIdOf)]);
  return {
    known: transactions.length > 0,
    state: orderStateOf(
      transactions[0]?.amountMinor ?? 0,
      [...copies].map((id) => ({
        notified: notified.filter((one) => publicIdOf(one) === id),
        done: operations.filter((one) => isDone(one) && publicIdOf(one) === id),
      })),
    ),
    fraudReported: events.some(({ kind }) => kind === "fraud"),
    transactionPublicIds,
    events: events.map(({ id: _, receivedAtMs, parsed, amountMinor: __, ...event }) => ({
      ...event,
      atMs: receivedAtMs,
      details: { ...parsed },
    })),
    operations,
    sending: store.sendingOf(orderId),
    failed: transactionPublicIds.flatMap((id) =>
      failedOperations(id, store).map(({ operationId }) => operationId),
    ),
    possibleOrders: Math.max(
      0,
      ...transactions.map(({ transactionId }) => store.possibleOrders(transactionId)),
    ),
  };
}

/** The notifications about operations of one transaction of the gateway, by our transactions. */
function notifiedOf(
  transactionPublicId: string,
  transactions: readonly Transaction[],
  store: OperationStore,
): StoredNotification[] {
  return store.notifications
    .acceptedOf(transactions.map(({ transactionId }) => transactionId))
    .filter((one) => isOperation(one) && publicIdOf(one) === transactionPublicId);
}

function isOperation({ kind }: StoredNotification): boolean {
  return kind === "operation";
}

function isDone({ state }: GatewayOperation): boolean {
  return state === "done";
}

function publicIdOf(of: { readonly transactionPublicId: string | null }): string | null {
  return of.transactionPublicId;
}

/**
 * Notifications settle the unknown operation of a transaction when they can mean nothing else: as
 * many refunds as were done and this one, a cancellation, a capture. A refusal counts only where no
 * other operation of the kind could be meant. A refund or refusal that was notified before the
 * operation was asked for belongs to another one, made at the gateway itself perhaps.
 */
export function notifiedEnd(
  transactionPublicId: string,
  store: OperationStore,
): { readonly open: GatewayOperation; readonly state: "done" | "refused" } | undefined {
  const open = store.openOf(transactionPublicId);
  const owner = store.ownerOf(transactionPublicId);
  if (open?.state !== "unknown" || !owner) return undefined;
  const notified = notifiedOf(transactionPublicId, [owner], store);
  const since = notified.filter((one) => !store.isBefore(one, open));
  const happened = (name: string, status: string, among = notified): boolean =>
    among.some((one) => one.operation === name && one.status === status);
  const { amountMinor } = owner;
  const carriedOut = {
    confirm: happened("capture", "ok"),
    cancel: happened("cancellation", "ok"),
    refund:
      notifiedSum(amountMinor, notified) >=
      refundedBefore(open, amountMinor, store) + (open.amountMinor ?? amountMinor),
  };
  if (carriedOut[open.kind]) return { open, state: "done" };
  if (open.class === LOST) return undefined; // the lost database may have had others of its kind
  const operations = store.operationsOf([transactionPublicId]);
  const onlyOne = operations.filter(({ kind }) => kind === open.kind).length === 1;
  return onlyOne && happened(notifiedNames[open.kind], "nok", since)
    ? { open, state: "refused" }
    : undefined;
}

/**
 * The sum that was refunded of a transaction of the gateway before `open` was asked for, as far as
 * known. `amountMinor`: of the transaction, when its owner is not known.
 */
export function refundedBefore(
  open: GatewayOperation,
  amountMinor: number,
  store: OperationStore,
): number {
  if (open.class === LOST) return amountMinor; // the lost database may have had others
  const { transactionPublicId } = open;
  const owner = store.ownerOf(transactionPublicId);
  const notified = owner ? notifiedOf(transactionPublicId, [owner], store) : [];
  const before = notified.filter((one) => store.isBefore(one, open));
  const done = store.operationsOf([transactionPublicId]).filter(isDone);
  return refundedSum(owner?.amountMinor ?? amountMinor, before, done);
}

/**
 * Operations of one transaction of the gateway that it answered as done and of which it has
 * notified a failure since: the money did not move after all. One whose success was notified too
 * did not fail. With several of a kind the failure may belong to any of those that are not
 * confirmed.
 */
export function failedOperations(
  transactionPublicId: string,
  store: OperationStore,
): GatewayOperation[] {
  const owner = store.ownerOf(transactionPublicId);
  if (!owner) return [];
  const notified = notifiedOf(transactionPublicId, [owner], store);
  const confirmations = notified.filter(({ status }) => status === "ok");
  const failures = notified.filter(({ status }) => status === "nok");
  const minorOf = ({ amountMinor }: { amountMinor: number | null }): number =>
    amountMinor ?? owner.amountMinor;
  return store.operationsOf([transactionPublicId]).filter((operation) => {
    if (!isDone(operation)) return false;
    const { kind } = operation;
    const name = notifiedNames[kind];
    const confirmed = confirmations.findIndex(
      (one) => one.operation === name && (kind !== "refund" || minorOf(one) === minorOf(operation)),
    );
    if (confirmed >= 0) {
      confirmations.splice(confirmed, 1);
      return false;
    }
    return failures.some((one) => one.operation === name && !store.isBefore(one, operation));
  });
}

/**
 * How much of a transaction of ours has gone back for certain, in minor units. An order that the
 * gateway has twice is returned as far as both of its transactions are. An order that the gateway
 * may have twice (an answer was lost and the item was sent again) counts as not returned until both
 * are known: a return of one alone leaves the customer charged.
 */
export function returnedOfOrder(transactionId: string, store: OperationStore): number {
  const transaction = store.transaction(transactionId);
  if (!transaction || hasOrMayHaveOthers(transactionId, store)) return 0;
  return returnedOfKnown(transaction, store);
}

/**
 * How much went back if the gateway has no other transactions than those it has named. Another sale
 * of the order has returns of its own.
 */
export function returnedOfKnown(transaction: Transaction, store: OperationStore): number {
  const publicIds = store.copiesOf(transaction.transactionId);
  const sums = publicIds.map((publicId) => returnedOfCopy(publicId, transaction, store));
  return sums.length === 0 ? 0 : Math.min(...sums);
}

/** Whether the gateway has made, or may still make, transactions of an order that are not named. */
export function hasOrMayHaveOthers(transactionId: string, store: OperationStore): boolean {
  return store.copiesOf(transactionId).length < store.copiesPossible(transactionId);
}

export function isAtGatewayOnce(transactionId: string, store: OperationStore): boolean {
  const known = store.copiesOf(transactionId).length;
  return known === 1 && !hasOrMayHaveOthers(transactionId, store);
}

/** How much of one transaction of the gateway has gone back, by our returns and all others. */
export function returnedOfCopy(
  transactionPublicId: string,
  { orderId, amountMinor }: Transaction,
  store: OperationStore,
): number {
  const notified = notifiedOf(transactionPublicId, store.transactionsOf(orderId), store);
  const operations = store.operationsOf([transactionPublicId]);
  const done = operations.filter(isDone);
  // A cancellation and a chargeback always return the whole amount.
  const effects = notified.map(effectOf);
  const isWhole = effects.includes("cancelled") || effects.includes("reversed");
  if (isWhole || done.some(({ kind }) => kind === "cancel")) return amountMinor;
  // A refund without an amount is of all of it, unless it may be the part that was asked for here.
  const inPart = operations.some((one) => one.kind === "refund" && one.amountMinor !== null);
  const clear = inPart ? notified.filter((one) => one.amountMinor !== null) : notified;
  return Math.min(refundedSum(amountMinor, clear, done), amountMinor);
}

/** Which of our transactions got money back, as notified after the document number `after`. */
export function gatewayReturns(
  after: number,
  limit: number,
  store: OperationStore,
): ResponseOf<typeof supervisorMessages, "gateway-returns"> {
  const { notifications } = store;
  // The caller has read another database before: everything is new to it.
  const from = after > notifications.newest() ? 0 : after;
  const found = notifications.returnsAfter(from, limit + 1);
  const page = found.slice(0, limit);
  const ids = [...new Set(page.map(({ transactionId }) => transactionId))];
  const sums = ids.map((transactionId) => ({
    transactionId,
    returnedMinor: returnedOfOrder(transactionId, store),
  }));
  const returns = sums.filter(({ returnedMinor }) => returnedMinor > 0);
  const uncertain = sums.filter(({ returnedMinor }) => returnedMinor === 0);
  return {
    returns,
    uncertain: uncertain.map(({ transactionId }) => transactionId),
    last: page.at(-1)?.id ?? from,
    more: found.length > limit,
  };
}
