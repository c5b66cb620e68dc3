import { maskPansInText } from "../masking/mask.ts";
import type { AlarmLog, LineFields, Logger } from "../process/logger.ts";

/** Alarm texts are cut to so many characters; a text quoted from a terminal can be long. */
const MESSAGE_LENGTH_MAX = 500;

/** What a probe finds about an unmatched transaction: the terminal holds it, or it is unclear. */
export const alarmFindings = ["held", "unclear"] as const;

/** An alarm: a log line with the field `alarm`, for which an operator is needed. */
export interface RaisedAlarm {
  readonly alarm: string;
  readonly formerly?: string;
  readonly finding?: (typeof alarmFindings)[number];
  /** The text of the log line with card numbers masked. */
  readonly message: string;
  readonly orderId: string | null;
  /** All orders that the alarm names, `orderId` first. */
  readonly orders?: string[];
  readonly transactionId: string | null;
  /** The id of the alarm's subject if that is no order, for example of a gateway operation. */
  readonly about: string | null;
}

/**
 * Returns a logger that also passes each line with the field `alarm` to `raise`, so that every
 * alarm in the log reaches the operator. The line is logged even if `raise` fails.
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
        // An alarm about a full disk cannot be stored; the log has the alarm already.
        log.error({ err: error }, "an alarm could not be stored, so only this log has it");
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

function alarmOf(detail: LineFields<unknown>, message: string): RaisedAlarm | undefined {
  const { alarm, formerly, orderId, orders, transactionId, ...others } = detail;
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
