import type { ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import type { NotificationTally } from "../notifications/notification-tally.ts";
import type { OperationExecutor } from "../operations/operation-executor.ts";
import type { Forwarder } from "../outbox/forwarder.ts";
import type { OutboxAdmin } from "../outbox/outbox-admin.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";

export interface StatusParts {
  readonly store: OutboxStore;
  readonly admin: Pick<OutboxAdmin, "doubts">;
  readonly operations: OperationExecutor;
  readonly forwarder: Pick<Forwarder, "troubles">;
  readonly tally: Pick<NotificationTally, "figures">;
  readonly clock: Clock;
  readonly version: string;
  /** Missing or undefined: an installation that is not updated. */
  readonly updates?: () => SupervisorStatus["updates"];
  /** Missing: nothing is known of certificates. */
  readonly certificates?: () => SupervisorStatus["certificates"];
  /** Whether the database can be written; missing: nobody looks. */
  readonly proof?: Pick<WriteProof, "proved">;
  /** Why nothing is being sent; null when it is not paused. */
  readonly paused: () => string | null;
}

export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;

/** How the supervisor is; its troubles are found in the answer (shared/catalog/troubles.ts). */
export function statusReader(parts: StatusParts): () => SupervisorStatus {
  const {
    store,
    admin,
    operations,
    forwarder,
    tally,
    clock,
    version,
    paused,
    updates,
    certificates,
    proof,
  } = parts;
  const startedMs = clock.monotonicMs();
  return () => {
    const { pending, parked, sent } = store.counts();
    const oldestAtMs = store.oldestQueuedAtMs() ?? null;
    const oldestAgeMs = oldestAtMs === null ? null : Math.max(clock.now() - oldestAtMs, 0);
    const parkedSinceMs = store.parkedSinceMs();
    const fault = proof?.proved;
    return {
      program: "supervisor",
      version,
      pid: process.pid,
      uptimeMs: clock.monotonicMs() - startedMs,
      outbox: {
        pending,
        parked,
        sent,
        oldestAgeMs,
        oldestAtMs,
        parkedSinceMs,
        paused: paused(),
        ...forwarder.troubles,
        ambiguous: admin.doubts(),
      },
      operations: operations.unknown,
      notifications: tally.figures,
      updates: updates?.(),
      certificates: certificates?.(),
      unwritable: fault ? { reason: fault.says, sinceMs: fault.sinceMs } : null,
    };
  };
}
