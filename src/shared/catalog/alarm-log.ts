import { maskPansInText } from "../masking/mask.ts";
import type { AlarmLog, LineFields, Logger } from "../process/logger.ts";

/** The longest text of an alarm in characters; it may quote a terminal or the gateway. */
const MESSAGE_LENGTH_MAX = 500;

/** What a probe found of an unmatched transaction; an alarm without one comes before the probe. */
export const alarmFindings = ["held", "unclear"] as const;

/** An alarm: a line of the log with the field `alarm`, for which an operator is needed. */
export interface RaisedAlarm {
  readonly alarm: string;
  /** The alarm's previous name, if the alarm was renamed. */
  readonly formerly?: string;
  readonly finding?: (typeof alarmFindings)[number];
  /** The text of the log line with card numbers masked. */
  readonly message: string;
  readonly orderId: string | null;
  /** All orders that the alarm names, `orderId` first. */
  readonly orders?: string[];
  readonly transactionId: string | null;
  /** The id of the operation or gateway transaction that the alarm is about; null: none. */
  readonly about: string | null;
}

/**
 * Returns a logger that also gives each line with the field `alarm` to `raise`, so that an alarm in
 * the log always reaches the operator. The log has the line whatever `raise` does.
 */
export function tapAlarms(log: Logger, raise: (alarm: RaisedAlarm) => void): AlarmLog {
  const tapped = (level: "warn" | "error" | "fatal"): AlarmLog["error"] =>
    ((detail: LineFields<never>, message?: string) => {
      log[level](detail, message);
      const alarm = alarmOf(detail, message ?? "");
      if (alarm === undefined) return;
      try {
        raise(alarm);
      } catch (error) {
        // Storing fails when the alarm is about a full disk; the log has the alarm already.
        log.error({ err: error }, "an alarm was not stored");
      }
    }) as AlarmLog["error"];
  return {
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: tapped("warn"),
    error: tapped("error"),
    fatal: tapped("fatal"),
  };
}

function alarmOf(detail: unknown, message: string): RaisedAlarm | undefined {
  const { alarm, formerly, orderId, orders, transactionId, ...others } = (detail ?? {}) as Record<
    string,
    unknown
  >;
  if (typeof alarm !== "string") return undefined;
  const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
  const finding = alarmFindings.find((one) => one === others["finding"]);
  return {
    alarm,
    ...(typeof formerly === "string" ? { formerly } : {}),
    ...(finding ? { finding } : {}),
    message: maskPansInText(message).slice(0, MESSAGE_LENGTH_MAX),
    orderId: textOf(orderId),
    ...(Array.isArray(orders) ? { orders: orders.map(String) } : {}),
    transactionId: textOf(transactionId),
    about: textOf(others["about"] ?? others["operationId"] ?? others["transactionPublicId"]),
  };
}
