import { maskPansInText } from "../masking/mask.ts";
import type { Logger } from "../process/logger.ts";

/** Of an alarm's text, which may quote a terminal or the gateway. */
const MESSAGE_LENGTH_MAX = 500;

/** Findings about an unmatched transaction that are alarms; without one the terminal is asked. */
export const alarmFindings = ["held", "unclear"] as const;

/** A line of the log with the field `alarm`: an operator is needed. */
export interface RaisedAlarm {
  readonly alarm: string;
  /** Its previous name, where it was renamed. */
  readonly formerly?: string;
  readonly finding?: (typeof alarmFindings)[number];
  /** Card numbers are masked. */
  readonly message: string;
  readonly orderId: string | null;
  /** All orders that it names, beginning with `orderId`. */
  readonly orders?: string[];
  readonly transactionId: string | null;
  /** Id of an operation or gateway transaction that the alarm is about; null: none. */
  readonly about: string | null;
}

/**
 * Returns a logger that also gives each line with the field `alarm` to `raise`, so that an alarm in
 * the log always reaches the operator. The log has the line whatever `raise` does.
 */
export function tapAlarms(log: Logger, raise: (alarm: RaisedAlarm) => void): Logger {
  const tapped = (level: "warn" | "error" | "fatal"): Logger["error"] =>
    ((detail: unknown, message?: string, ...more: unknown[]) => {
      log[level](detail as object, message, ...more);
      const alarm = alarmOf(detail, message ?? "");
      if (alarm === undefined) return;
      try {
        raise(alarm);
      } catch (error) {
        // The log has the alarm; a full disk is often what it is about.
        log.error({ err: error }, "an alarm was not stored");
      }
    }) as Logger["error"];
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
