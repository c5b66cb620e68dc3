import type { AlarmName } from "../../shared/catalog/alarms.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";

/** Logs an error line that names an alarm, for which an operator is needed. */
export function raiseAlarm(
  log: AlarmLog,
  alarm: AlarmName,
  details: Readonly<Record<string, unknown>>,
  message: string,
): void {
  log.error({ alarm, ...details }, message);
}
