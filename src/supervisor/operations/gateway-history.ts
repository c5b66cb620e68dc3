import type { GatewayHistory, GatewayOperation } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { StoredNotification } from "../notifications/notification-store.ts";
import { failedOperations } from "./failed-operations.ts";
import { notifiedNames, notifiedSum, orderStateOf, refundedSum } from "./gateway-state.ts";
import type { HistoryParts } from "./history-parts.ts";
import { LOST } from "./operation-store.ts";

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
