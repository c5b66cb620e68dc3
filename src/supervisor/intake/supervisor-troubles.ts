import { TroubleWatch } from "../../shared/catalog/trouble-watch.ts";
import { troublesOf } from "../../shared/catalog/troubles.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { AlarmStore } from "../alarms/alarm-store.ts";
import type { NotificationTally } from "../notifications/notification-tally.ts";
import { type StatusParts, statusReader } from "./supervisor-status.ts";

interface TroubleParts extends StatusParts {
  readonly alarmStore: Pick<AlarmStore, "keepLasting">;
  readonly tally: Pick<NotificationTally, "figures" | "save">;
  /** Its alarms are stored. */
  readonly log: Logger;
}

/** Raises the alarms of the supervisor's own troubles, and knows when they are over. */
export function supervisorTroubleWatch(parts: TroubleParts): TroubleWatch {
  const { alarmStore, tally, clock, log } = parts;
  const status = statusReader(parts);
  return new TroubleWatch({
    by: "supervisor",
    clock,
    log,
    read() {
      tally.save();
      return troublesOf({ supervisor: status(), tpManager: undefined });
    },
    onLooked: (alarms) => alarmStore.keepLasting(alarms),
  });
}
