import type { GatewayHistory, GatewayOperation } from "../../shared/ipc/contract.ts";
import type { StoredNotification } from "../notifications/notification-store.ts";
import { failedOperations } from "./failed-operations.ts";
import { doneSum, notifiedNames, notifiedSum, orderStateOf } from "./gateway-state.ts";
import type { HistoryParts } from "./history-parts.ts";

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
    events: events.map(({ receivedAtMs, parsed, amountMinor: _, ...event }) => ({
      ...event,
      atMs: receivedAtMs,
      details: { ...parsed },
    })),
    operations: asked,
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
 * other operation of the kind could be meant.
 */
export function notifiedEnd(
  transactionPublicId: string,
  { operations, notifications }: HistoryParts,
): { readonly open: GatewayOperation; readonly state: "done" | "refused" } | undefined {
  const open = operations.openOf(transactionPublicId);
  const owner = operations.ownerOf(transactionPublicId);
  if (open?.state !== "unknown" || !owner) return undefined;
  const told = notifications
    .acceptedOf([owner.transactionId])
    .filter((one) => isOperation(one) && one.transactionPublicId === transactionPublicId);
  const asked = operations.operationsOf([transactionPublicId]);
  const happened = (name: string, status: string): boolean =>
    told.some((one) => one.operation === name && one.status === status);
  const carriedOut = {
    confirm: happened("capture", "ok"),
    cancel: happened("cancellation", "ok"),
    refund:
      notifiedSum(owner.amountMinor, told) >=
      doneSum(owner.amountMinor, asked.filter(isDone)) + (open.amountMinor ?? owner.amountMinor),
  };
  if (carriedOut[open.kind]) return { open, state: "done" };
  const onlyOne = asked.filter(({ kind }) => kind === open.kind).length === 1;
  return onlyOne && happened(notifiedNames[open.kind], "nok")
    ? { open, state: "refused" }
    : undefined;
}

function isOperation({ kind }: StoredNotification): boolean {
  return kind === "operation";
}

function isDone({ state }: GatewayOperation): boolean {
  return state === "done";
}
