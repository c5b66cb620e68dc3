import type { GatewayOperation, SupervisorAnswer } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { effectOf, notifiedNames, orderStateOf, refundedSum } from "./gateway-state.ts";
import type { StoredNotification } from "./notification-store.ts";
import { LOST, type OperationStore } from "./operation-store.ts";

/** Returns the gateway's notifications about an order, and the operations that we requested. */
export function gatewayHistoryOf(orderId: string, store: OperationStore) {
  const transactions = store.transactionsOf(orderId);
  const events = store.notifications.acceptedOf(transactions);
  const notified = events.filter(({ kind }) => kind === "operation");
  const transactionPublicIds = store.publicIdsOf(orderId);
  const operations = store.operationsOf(transactionPublicIds);
  const copies = new Set([...transactionPublicIds, ...notified.map(publicIdOf)]);
  const states = [...copies].map((id) => ({
    notified: notified.filter((one) => publicIdOf(one) === id),
    done: operations.filter((one) => isDone(one) && publicIdOf(one) === id),
  }));
  const failed = transactionPublicIds.flatMap((id) => failedOperations(id, store));
  return {
    known: transactions.length > 0,
    state: orderStateOf(transactions[0]?.amountMinor ?? 0, states),
    fraudReported: events.some(({ kind }) => kind === "fraud"),
    transactionPublicIds,
    events: events.map(({ id: _, receivedAtMs, parsed, amountMinor: __, ...event }) => ({
      ...event,
      atMs: receivedAtMs,
      details: { ...parsed },
    })),
    operations,
    sending: store.sendingOf(orderId),
    failed: failed.map(({ operationId }) => operationId),
    possibleOrders: Math.max(
      0,
      ...transactions.map(({ transactionId }) => store.possibleOrders(transactionId)),
    ),
  };
}

function notifiedOf(publicId: string, owners: readonly Transaction[], store: OperationStore) {
  const accepted = store.notifications.acceptedOf(owners);
  return accepted.filter((one) => one.kind === "operation" && publicIdOf(one) === publicId);
}

function isDone({ state }: GatewayOperation): boolean {
  return state === "done";
}

function publicIdOf(of: { readonly transactionPublicId: string | null }): string | null {
  return of.transactionPublicId;
}

/**
 * Returns the outcome that notifications prove for the unknown operation of a transaction. A
 * notification proves a capture or a cancellation. A refund is proved when the notified refunds are
 * at least this refund and those before it together. A refund or refusal that was notified before
 * our request belongs to another operation, perhaps of the gateway itself. A refusal counts only if
 * the transaction has no other operation of its kind.
 */
export function notifiedEnd(
  publicId: string,
  store: OperationStore,
): { readonly open: GatewayOperation; readonly state: "done" | "refused" } | undefined {
  const open = store.openOf(publicId);
  const owner = store.ownerOf(publicId);
  if (open?.state !== "unknown" || !owner) return undefined;
  const { amountMinor } = owner;
  const { kind } = open;
  const name = notifiedNames[kind];
  const notified = notifiedOf(publicId, [owner], store);
  const isNotified = (status: string): StoredNotification[] =>
    notified.filter((one) => one.operation === name && one.status === status);
  const isCarriedOut =
    kind === "refund"
      ? refundedSum(amountMinor, notified, []) >=
        refundedBefore(open, amountMinor, store) + (open.amountMinor ?? amountMinor)
      : isNotified("ok").length > 0;
  if (isCarriedOut) return { open, state: "done" };
  if (open.class === LOST) return undefined; // the lost database may have had more of this kind
  const ofKind = store.operationsOf([publicId]).filter((one) => one.kind === kind);
  const isRefused =
    ofKind.length === 1 && isNotified("nok").some((one) => !store.isBefore(one, open));
  return isRefused ? { open, state: "refused" } : undefined;
}

/**
 * Returns the sum in minor units that was refunded before the operation `open` was requested.
 * `amountMinor`: the whole amount, for a transaction that is not ours.
 */
export function refundedBefore(
  open: GatewayOperation,
  amountMinor: number,
  store: OperationStore,
): number {
  if (open.class === LOST) return amountMinor; // the lost database may have had other refunds
  const publicId = open.transactionPublicId;
  const owner = store.ownerOf(publicId);
  const notified = owner ? notifiedOf(publicId, [owner], store) : [];
  const before = notified.filter((one) => store.isBefore(one, open));
  const done = store.operationsOf([publicId]).filter(isDone);
  return refundedSum(owner?.amountMinor ?? amountMinor, before, done);
}

/**
 * Returns the operations of one gateway transaction that the gateway answered as done and has since
 * notified as failed, so that no money moved. A notified success clears one operation of its kind;
 * a notified failure may belong to any operation of its kind that is not cleared.
 */
export function failedOperations(publicId: string, store: OperationStore): GatewayOperation[] {
  const owner = store.ownerOf(publicId);
  if (!owner) return [];
  const notified = notifiedOf(publicId, [owner], store);
  const confirmations = notified.filter(({ status }) => status === "ok");
  const failures = notified.filter(({ status }) => status === "nok");
  const minorOf = (of: { amountMinor: number | null }): number =>
    of.amountMinor ?? owner.amountMinor;
  return store.operationsOf([publicId]).filter((operation) => {
    if (!isDone(operation)) return false;
    const name = notifiedNames[operation.kind];
    const confirmed = confirmations.findIndex(
      (one) => one.operation === name && (name !== "refund" || minorOf(one) === minorOf(operation)),
    );
    if (confirmed >= 0) confirmations.splice(confirmed, 1);
    return (
      confirmed < 0 &&
      failures.some((one) => one.operation === name && !store.isBefore(one, operation))
    );
  });
}

/**
 * Returns how much of our transaction was certainly paid back, in minor units. If the gateway has
 * the order twice, the smaller sum of its two transactions counts. If it may have the order twice,
 * the sum is 0, because a refund of one transaction leaves the customer charged by the second one.
 */
export function returnedOfOrder(transactionId: string, store: OperationStore): number {
  const transaction = store.transaction(transactionId);
  if (!transaction || hasOrMayHaveOthers(transactionId, store)) return 0;
  return returnedOfKnown(transaction, store);
}

/** Returns the sum paid back, if every transaction that the gateway made of ours is known. */
export function returnedOfKnown(transaction: Transaction, store: OperationStore): number {
  const publicIds = store.copiesOf(transaction.transactionId);
  const sums = publicIds.map((publicId) => returnedOfCopy(publicId, transaction, store));
  return sums.length === 0 ? 0 : Math.min(...sums);
}

/** Whether the gateway may have, or still get, more copies of our transaction than it has named. */
export function hasOrMayHaveOthers(transactionId: string, store: OperationStore): boolean {
  return store.copiesOf(transactionId).length < store.copiesPossible(transactionId);
}

export function isAtGatewayOnce(transactionId: string, store: OperationStore): boolean {
  const known = store.copiesOf(transactionId).length;
  return known === 1 && !hasOrMayHaveOthers(transactionId, store);
}

/** Returns how much of one gateway transaction was paid back, no matter who requested it. */
export function returnedOfCopy(
  transactionPublicId: string,
  { orderId, amountMinor }: Transaction,
  store: OperationStore,
): number {
  const notified = notifiedOf(transactionPublicId, store.transactionsOf(orderId), store);
  const operations = store.operationsOf([transactionPublicId]);
  const done = operations.filter(isDone);
  // A cancellation and a chargeback pay back the whole amount.
  const effects = notified.map(effectOf);
  const isWhole = effects.includes("cancelled") || effects.includes("reversed");
  if (isWhole || done.some(({ kind }) => kind === "cancel")) return amountMinor;
  // A notified refund without an amount is a full refund, unless we requested a partial refund.
  const inPart = operations.some((one) => one.kind === "refund" && one.amountMinor !== null);
  const clear = inPart ? notified.filter((one) => one.amountMinor !== null) : notified;
  return Math.min(refundedSum(amountMinor, clear, done), amountMinor);
}

/** Lists our transactions about which a notification after `after` reports money paid back. */
export function gatewayReturns(
  after: number,
  limit: number,
  store: OperationStore,
): SupervisorAnswer<"gateway-returns"> {
  const { notifications } = store;
  // An `after` above the newest id is of another database; that caller gets all documents.
  const from = after > notifications.newest() ? 0 : after;
  const found = notifications.returnsAfter(from, limit + 1);
  const page = found.slice(0, limit);
  const ids = [...new Set(page.map(({ transactionId }) => transactionId))];
  const sums = ids.map((transactionId) => ({
    transactionId,
    returnedMinor: returnedOfOrder(transactionId, store),
  }));
  return {
    returns: sums.filter(({ returnedMinor }) => returnedMinor > 0),
    uncertain: sums.flatMap((one) => (one.returnedMinor === 0 ? one.transactionId : [])),
    last: page.at(-1)?.id ?? from,
    more: found.length > limit,
  };
}
