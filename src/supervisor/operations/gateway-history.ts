import type {
  GatewayHistory,
  GatewayOperation,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { NotificationStore, StoredNotification } from "../notifications/notification-store.ts";
import {
  effectOf,
  type Notified,
  notifiedNames,
  notifiedSum,
  orderStateOf,
  refundedSum,
} from "./gateway-state.ts";
import { LOST, type OperationStore } from "./operation-store.ts";

/** The gateway's notifications about an order, and the operations asked of it. */
export function gatewayHistoryOf(orderId: string, parts: HistoryParts): GatewayHistory {
  const { operations, notifications } = parts;
  const transactions = operations.transactionsOf(orderId);
  const events = notifications.acceptedOf(transactions.map((one) => one.transactionId));
  const told = events.filter(isOperation);
  const transactionPublicIds = operations.publicIdsOf(orderId);
  const asked = operations.operationsOf(transactionPublicIds);
  const copies = new Set([...transactionPublicIds, ...told.map((one) => one.transactionPublicId)]);
  return {
    known: transactions.length > 0,
    state: orderStateOf(
      transactions[0]?.amountMinor ?? 0,
      [...copies].map((id) => ({
        notified: told.filter((one) => one.transactionPublicId === id),
        done: asked.filter((one) => isDone(one) && one.transactionPublicId === id),
      })),
    ),
    fraudReported: events.some(({ kind }) => kind === "fraud"),
    transactionPublicIds,
    events: events.map(({ id: _, receivedAtMs, parsed, amountMinor: __, ...event }) => ({
      ...event,
      atMs: receivedAtMs,
      details: { ...parsed },
    })),
    operations: asked,
    sending: operations.sendingOf(orderId),
    failed: transactionPublicIds.flatMap((id) =>
      failedOperations(id, parts).map(({ operationId }) => operationId),
    ),
    possibleOrders: Math.max(
      0,
      ...transactions.map(({ transactionId }) => operations.possibleOrders(transactionId)),
    ),
  };
}

/**
 * Notifications settle the unknown operation of a transaction when they can mean nothing else: as
 * many refunds as were done and this one, a cancellation, a capture. A refusal counts only where no
 * other operation of the kind could be meant. A refund or refusal that was notified before the
 * operation was asked for is that of another one, made at the gateway by somebody else perhaps.
 */
export function notifiedEnd(
  transactionPublicId: string,
  parts: HistoryParts,
): { readonly open: GatewayOperation; readonly state: "done" | "refused" } | undefined {
  const { operations, notifications } = parts;
  const open = operations.openOf(transactionPublicId);
  const owner = operations.ownerOf(transactionPublicId);
  if (open?.state !== "unknown" || !owner) return undefined;
  const told = toldOf(transactionPublicId, owner, notifications);
  const since = told.filter((one) => !operations.isBefore(one, open));
  const happened = (name: string, status: string, among = told): boolean =>
    among.some((one) => one.operation === name && one.status === status);
  const { amountMinor } = owner;
  const carriedOut = {
    confirm: happened("capture", "ok"),
    cancel: happened("cancellation", "ok"),
    refund:
      notifiedSum(amountMinor, told) >=
      refundedBefore(open, amountMinor, parts) + (open.amountMinor ?? amountMinor),
  };
  if (carriedOut[open.kind]) return { open, state: "done" };
  if (open.class === LOST) return undefined; // others of its kind may be lost with it
  const asked = operations.operationsOf([transactionPublicId]);
  const onlyOne = asked.filter(({ kind }) => kind === open.kind).length === 1;
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
  { operations, notifications }: HistoryParts,
): number {
  if (open.class === LOST) return amountMinor; // others may be lost with it
  const { transactionPublicId } = open;
  const owner = operations.ownerOf(transactionPublicId);
  const told = owner ? toldOf(transactionPublicId, owner, notifications) : [];
  const before = told.filter((one) => operations.isBefore(one, open));
  const done = operations.operationsOf([transactionPublicId]).filter(isDone);
  return refundedSum(owner?.amountMinor ?? amountMinor, before, done);
}

function toldOf(
  transactionPublicId: string,
  { transactionId }: Transaction,
  notifications: HistoryParts["notifications"],
): StoredNotification[] {
  return notifications
    .acceptedOf([transactionId])
    .filter((one) => isOperation(one) && one.transactionPublicId === transactionPublicId);
}

function isOperation({ kind }: StoredNotification): boolean {
  return kind === "operation";
}

function isDone({ state }: GatewayOperation): boolean {
  return state === "done";
}

/** Everything that is known of an order at the gateway. */
export interface HistoryParts {
  readonly operations: OperationStore;
  readonly notifications: NotificationStore;
}

/**
 * Operations of one transaction of the gateway that it answered as done and of which it has
 * notified a failure since: the money did not move after all. One whose success was notified too
 * did not fail. With several of a kind the failure may be that of any which is not confirmed.
 */
export function failedOperations(
  transactionPublicId: string,
  { operations, notifications }: HistoryParts,
): GatewayOperation[] {
  const owner = operations.ownerOf(transactionPublicId);
  if (!owner) return [];
  const told = notifications
    .acceptedOf([owner.transactionId])
    .filter((one) => one.kind === "operation" && one.transactionPublicId === transactionPublicId);
  const confirmations = told.filter(({ status }) => status === "ok");
  const failures = told.filter(({ status }) => status === "nok");
  const minorOf = ({ amountMinor }: { amountMinor: number | null }): number =>
    amountMinor ?? owner.amountMinor;
  return operations.operationsOf([transactionPublicId]).filter((operation) => {
    if (operation.state !== "done") return false;
    const { kind } = operation;
    const name = notifiedNames[kind];
    const confirmed = confirmations.findIndex(
      (one) => one.operation === name && (kind !== "refund" || minorOf(one) === minorOf(operation)),
    );
    if (confirmed >= 0) {
      confirmations.splice(confirmed, 1);
      return false;
    }
    return failures.some((one) => one.operation === name && !operations.isBefore(one, operation));
  });
}

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
