import { ConditionWatch } from "../../shared/catalog/condition-watch.ts";
import { conditionsOf } from "../../shared/catalog/conditions.ts";
import type { ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import type { AlarmStore } from "../alarms/alarm-store.ts";
import type { NotificationTally } from "../notifications/notification-tally.ts";
import type { OperationStore } from "../operations/operation-store.ts";
import type { Forwarder } from "../outbox/forwarder.ts";
import type { OutboxAdmin } from "../outbox/outbox-admin.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";

export interface StatusParts {
  readonly store: OutboxStore;
  readonly admin: OutboxAdmin;
  readonly operationStore: OperationStore;
  readonly forwarder: Forwarder;
  readonly tally: NotificationTally;
  readonly clock: Clock;
  readonly version: string;
  /** Missing or undefined: this installation is not updated. */
  readonly updates?: () => SupervisorStatus["updates"];
  /** Missing: nothing is known of certificates. */
  readonly certificates?: () => SupervisorStatus["certificates"];
  /** Whether the database can be written; missing: that is not checked. */
  readonly proof?: WriteProof;
}

export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;

/** Returns a reader of the supervisor's state, in which its conditions are found. */
export function statusReader(parts: StatusParts): () => SupervisorStatus {
  const { store, admin, forwarder, clock } = parts;
  const startedMs = clock.monotonicMs();
  return () => {
    const { pending, parked, sent } = store.counts();
    const oldestAtMs = store.oldestQueuedAtMs();
    const oldestAgeMs = oldestAtMs === null ? null : Math.max(clock.now() - oldestAtMs, 0);
    const parkedSinceMs = store.parkedSinceMs();
    const fault = parts.proof?.proved;
    return {
      program: "supervisor",
      version: parts.version,
      pid: process.pid,
      uptimeMs: clock.monotonicMs() - startedMs,
      outbox: {
        pending,
        parked,
        sent,
        oldestAgeMs,
        oldestAtMs,
        parkedSinceMs,
        paused: forwarder.paused,
        ...forwarder.conditions,
        ambiguous: admin.uncertain(),
      },
      operations: parts.operationStore.unknown(),
      notifications: parts.tally.figures,
      updates: parts.updates?.(),
      certificates: parts.certificates?.(),
      unwritable: fault ? { reason: fault.says, sinceMs: fault.sinceMs } : null,
    };
  };
}

interface WatchParts extends StatusParts {
  readonly alarmStore: AlarmStore;
  /** Its alarms are stored. */
  readonly log: Logger;
}

/** Raises the alarms of the supervisor's own conditions, and knows when they are over. */
export function supervisorConditionWatch(parts: WatchParts): ConditionWatch {
  const { alarmStore, tally, clock, log } = parts;
  const status = statusReader(parts);
  return new ConditionWatch({
    by: "supervisor",
    clock,
    log,
    read() {
      tally.save();
      return conditionsOf({ supervisor: status(), tpManager: undefined });
    },
    onChecked: (alarms) => alarmStore.keepLasting(alarms),
  });
}
