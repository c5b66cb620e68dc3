import { ConditionWatch } from "../../shared/catalog/condition-watch.ts";
import { conditionsOf } from "../../shared/catalog/conditions.ts";
import type { SupervisorAnswer } from "../../shared/ipc/contract.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import type { AlarmStore } from "../alarms/alarm-store.ts";
import type { CertificateEnds } from "../certificates.ts";
import type { NotificationTally } from "../notifications/notification-tally.ts";
import type { OperationStore } from "../operations/operation-store.ts";
import type { Forwarder } from "../outbox/forwarder.ts";
import type { OutboxAdmin } from "../outbox/outbox-admin.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";

interface StatusParts {
  readonly store: OutboxStore;
  readonly admin: OutboxAdmin;
  readonly operationStore: OperationStore;
  readonly forwarder: Forwarder;
  readonly tally: NotificationTally;
  readonly clock: Clock;
  readonly version: string;
  readonly updates?: () => SupervisorStatus["updates"];
  readonly fleet?: () => SupervisorStatus["fleet"];
  readonly fleetFiles?: { readonly fault: SupervisorStatus["fleetFiles"] } | undefined;
  readonly certificates?: CertificateEnds;
  readonly transport?: { readonly clockAheadSeconds: number | null };
  /** Proves that the database can be written; missing: the database is not checked. */
  readonly proof?: WriteProof;
}

export type SupervisorStatus = SupervisorAnswer<"status">;

/** Returns a function that reads the supervisor's status, the source of its conditions. */
export function statusReader(parts: StatusParts): () => SupervisorStatus {
  const { store, admin, forwarder, clock } = parts;
  const startedMs = clock.monotonicMs();
  return () => {
    const { closed: _, ...counts } = store.counts();
    const oldestAtMs = store.oldestQueuedAtMs();
    const oldestAgeMs = oldestAtMs === null ? null : Math.max(clock.now() - oldestAtMs, 0);
    const fault = parts.proof?.proved;
    return {
      program: "supervisor",
      version: parts.version,
      pid: process.pid,
      uptimeMs: clock.monotonicMs() - startedMs,
      outbox: {
        ...counts,
        oldestAgeMs,
        oldestAtMs,
        parkedSinceMs: store.parkedSinceMs(),
        paused: forwarder.paused,
        ...forwarder.conditions,
        ambiguous: admin.uncertain(),
      },
      operations: parts.operationStore.unknown(),
      notifications: parts.tally.figures,
      updates: parts.updates?.(),
      certificates: parts.certificates?.(),
      fleet: parts.fleet?.(),
      fleetFiles: parts.fleetFiles?.fault,
      certificateFiles: parts.certificates?.files(),
      clockAheadSeconds: parts.transport?.clockAheadSeconds,
      unwritable: fault ? { reason: fault.says, sinceMs: fault.sinceMs } : null,
    };
  };
}

/** Returns the watch that raises the alarms of the supervisor's own conditions. */
export function supervisorConditionWatch(
  status: () => SupervisorStatus,
  alarmStore: AlarmStore,
  tally: NotificationTally,
  clock: Clock,
  log: AlarmLog,
): ConditionWatch {
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
