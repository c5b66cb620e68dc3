import type { DeliveryState, Handlers, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { Clock } from "../../shared/time.ts";
import type { DeliveryWatch } from "../outbox/delivery-watch.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { Intake } from "./intake.ts";

export interface HandlerParts {
  readonly intake: Intake;
  readonly store: OutboxStore;
  readonly watch: DeliveryWatch;
  readonly clock: Clock;
  readonly version: string;
  /** Why nothing is being sent; null when it is not paused. */
  readonly paused: () => string | null;
  readonly requestStop: (why: string) => void;
}

/** What the supervisor answers to the other programs of its installation (DESIGN 7). */
export function supervisorHandlers(parts: HandlerParts): Handlers<typeof supervisorMessages> {
  const { intake, store, watch, clock } = parts;
  const startedMs = clock.monotonicMs();
  return {
    "store-transaction": ({ transaction }) => {
      intake.store(transaction);
      return { stored: true };
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
