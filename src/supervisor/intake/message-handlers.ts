import type { DeliveryState, Handlers, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { AlarmStore } from "../alarms/alarm-store.ts";
import { gatewayHistoryOf, gatewayReturns } from "../operations/gateway-history.ts";
import type { OperationExecutor } from "../operations/operation-executor.ts";
import type { OperationStore } from "../operations/operation-store.ts";
import type { DeliveryWatch } from "../outbox/delivery-watch.ts";
import type { Forwarder } from "../outbox/forwarder.ts";
import type { OutboxAdmin } from "../outbox/outbox-admin.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { storeMessages } from "../stores/supervisor-stores.ts";
import type { Intake } from "./intake.ts";
import type { SupervisorStatus } from "./supervisor-status.ts";

interface HandlerParts {
  readonly intake: Intake;
  readonly store: OutboxStore;
  readonly admin: OutboxAdmin;
  readonly watch: DeliveryWatch;
  readonly forwarder: Forwarder;
  readonly operations: OperationExecutor;
  readonly operationStore: OperationStore;
  readonly alarmStore: AlarmStore;
  readonly storeMessages: ReturnType<typeof storeMessages>;
  readonly status: () => SupervisorStatus;
  readonly requestStop: (why: string) => void;
  readonly clock: Clock;
  readonly log: AlarmLog;
}

/** Returns the handlers of all messages to the supervisor (docs/design.md 7.2). */
export function supervisorHandlers(parts: HandlerParts): Handlers<typeof supervisorMessages> {
  const { intake, watch, admin, forwarder, operations, operationStore, clock, log } = parts;
  return {
    "store-transaction": async ({ transaction, waitMs, isFirst, wasWithdrawn }) => {
      intake.store(transaction, isFirst, wasWithdrawn);
      if (waitMs === undefined) return { stored: true };
      const state = await deliveryOf(parts, transaction.transactionId, waitMs);
      return { stored: true, state: state ?? undefined };
    },
    "withdraw-transaction": ({ transaction, isFirst }) => {
      const outcome = intake.withdraw(transaction, isFirst);
      watch.notify(transaction.transactionId);
      return { outcome };
    },
    "transaction-delivery": async ({ transactionId, waitMs }) => {
      const state = await deliveryOf(parts, transactionId, waitMs);
      return { known: state !== null, state, sent: state === "sent" };
    },
    ...parts.storeMessages,
    "outbox-list": ({ state, cursor = 0, limit }) => admin.list(state, cursor, limit),
    "outbox-requeue": ({ transactionId, ...given }) => {
      const outcome = admin.requeue(transactionId, clock.now(), given);
      log.info({ transactionId, outcome }, "an operator asked to send a transaction again");
      if (outcome === "queued") forwarder.requeued(transactionId);
      return { outcome };
    },
    "outbox-drop": ({ transactionId, note, by }) => {
      const outcome = admin.drop(transactionId, note, clock.now(), by);
      log.warn({ transactionId, outcome, note }, "an operator decided not to send a transaction");
      watch.notify(transactionId);
      return { outcome };
    },
    "gateway-resolve": (wanted) => operations.resolve(wanted),
    "gateway-operation": (request) => operations.operate(request),
    "gateway-key": (request) => operations.ofKey(request),
    "gateway-operation-end": (request) => operations.end(request),
    "gateway-settle": (request) => operations.settle(request),
    "gateway-copies": (request) => operations.settleOrder(request),
    "gateway-open": ({ limit }) => operationStore.open(limit),
    "gateway-lookup": ({ id }) => operations.lookUp(id),
    "gateway-returns": ({ after, limit }) => gatewayReturns(after, limit, operationStore),
    "gateway-history": ({ orderId }) => gatewayHistoryOf(orderId, operationStore),
    alarms: ({ origin, after, limit }) => parts.alarmStore.after(origin, after, limit),
    status: parts.status,
    stop: () => {
      parts.requestStop("asked to by another program");
      return { stopping: true };
    },
  };
}

/** Waits at most `waitMs` for the end of a transaction's first try; null: it is not stored. */
async function deliveryOf(
  { store, watch, forwarder }: HandlerParts,
  transactionId: string,
  waitMs: number,
): Promise<DeliveryState | null> {
  let state: DeliveryState | null = null;
  await watch.wait(transactionId, waitMs, () => {
    const delivery = store.delivery(transactionId);
    state = delivery?.state ?? null;
    const over = delivery?.state !== "pending" || delivery.firstTryEnded;
    return over || forwarder.paused !== null; // while the queue is paused, no first try is made
  });
  return state;
}
