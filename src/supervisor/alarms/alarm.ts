import type { AlarmName } from "../../shared/catalog/alarms.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";

/** Logs an error whose field `alarm` has the name: an operator is needed. */
export function raiseAlarm(
  log: AlarmLog,
  alarm: AlarmName,
  details: Readonly<Record<string, unknown>>,
  message: string,
): void {
  log.error({ alarm, ...details }, message);
}
