import type { DeliveryState, Handlers, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { AlarmStore } from "../alarms/alarm-store.ts";
import type { OperationDesk } from "../operations/operation-desk.ts";
import type { DeliveryWatch } from "../outbox/delivery-watch.ts";
import type { OutboxDesk } from "../outbox/outbox-desk.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { Intake } from "./intake.ts";

export interface HandlerParts {
  readonly intake: Intake;
  readonly store: OutboxStore;
  readonly desk: OutboxDesk;
  readonly operations: OperationDesk;
  readonly watch: DeliveryWatch;
  readonly alarmStore: AlarmStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** Why nothing is being sent; null when it is not paused. */
  readonly paused: () => string | null;
  /** An operator wants an item tried now. */
  readonly requeued: (transactionId: string) => void;
  readonly requestStop: (why: string) => void;
}

/** The supervisor's answers to the other programs of its installation (docs/design.md 7.2). */
export function supervisorHandlers(parts: HandlerParts): Handlers<typeof supervisorMessages> {
  const { intake, store, watch, clock } = parts;
  const startedMs = clock.monotonicMs();
  return {
    "store-transaction": ({ transaction }) => {
      intake.store(transaction);
      return { stored: true };
    },

    "withdraw-transaction": ({ transaction }) => {
      const outcome = intake.withdraw(transaction);
      watch.tell(transaction.transactionId);
      return { outcome };
    },

    "transaction-delivery": async ({ transactionId, waitMs }) => {
      if (!store.delivery(transactionId)) return { known: false, state: null, sent: false };
      await watch.wait(transactionId, waitMs, () => {
        const delivery = store.delivery(transactionId);
        const over = delivery?.state !== "pending" || delivery.firstTryEnded;
        return over || parts.paused() !== null; // while it is paused there is no first try
      });
      const state: DeliveryState | null = store.delivery(transactionId)?.state ?? null;
      return { known: true, state, sent: state === "sent" };
    },

    ...outboxHandlers(parts),
    ...gatewayHandlers(parts),

    alarms: ({ origin, after, limit }) => parts.alarmStore.behind(origin, after, limit),

    status: () => {
      const { pending, parked, sent } = store.counts();
      const oldestAtMs = store.oldestQueuedAtMs();
      const oldestAgeMs = oldestAtMs === undefined ? null : Math.max(clock.now() - oldestAtMs, 0);
      return {
        program: "supervisor",
        version: parts.version,
        pid: process.pid,
        uptimeMs: clock.monotonicMs() - startedMs,
        outbox: { pending, parked, sent, oldestAgeMs, paused: parts.paused() },
      };
    },

    stop: () => {
      parts.requestStop("asked to by another program");
      return { stopping: true };
    },
  };
}

type OutboxMessage = "outbox-list" | "outbox-requeue" | "outbox-drop";

function outboxHandlers({
  desk,
  watch,
  clock,
  log,
  requeued,
}: HandlerParts): Pick<Handlers<typeof supervisorMessages>, OutboxMessage> {
  return {
    "outbox-list": ({ state, cursor = 0, limit }) => desk.list(state, cursor, limit),

    "outbox-requeue": ({ transactionId }) => {
      const outcome = desk.requeue(transactionId, clock.now());
      log.info({ transactionId, outcome }, "an operator wants a transaction sent again");
      if (outcome === "queued") requeued(transactionId);
      return { outcome };
    },

    "outbox-drop": ({ transactionId, note }) => {
      const outcome = desk.drop(transactionId, note, clock.now());
      log.warn({ transactionId, outcome, note }, "an operator drops a transaction");
      watch.tell(transactionId);
      return { outcome };
    },
  };
}

type GatewayMessage = Extract<keyof typeof supervisorMessages, `gateway-${string}`>;

function gatewayHandlers({
  operations,
}: HandlerParts): Pick<Handlers<typeof supervisorMessages>, GatewayMessage> {
  return {
    "gateway-resolve": (wanted) => operations.resolve(wanted),
    "gateway-operation": (request) => operations.operate(request),
    "gateway-operation-end": (request) => operations.end(request),
    "gateway-settle": (request) => operations.settle(request),
    "gateway-lookup": ({ id }) => operations.lookUp(id),
    "gateway-returns": ({ after, limit }) => operations.returns(after, limit),
    "gateway-history": ({ orderId }) => operations.history(orderId),
  };
}
