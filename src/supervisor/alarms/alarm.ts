import type { Logger } from "../../shared/process/logger.ts";

/**
 * The names of the alarms, which stay the same so that monitoring can watch for them. What each
 * means and asks of an operator stands in src/supervisor/README.md.
 */
type Alarm =
  | "gateway-credentials-refused"
  | "gateway-misconfigured"
  | "gateway-answer-mismatch"
  | "gateway-lookup-refused"
  | "queue-old"
  | "queue-unwritable"
  | "transaction-parked"
  | "transaction-changed"
  | "outbox-lost"
  | "order-charged-twice"
  | "reversed-after-sending"
  | "gateway-operation-unknown"
  | "gateway-operation-failed"
  | "gateway-order-ambiguous"
  | "gateway-order-twice"
  | "notifications-refused"
  | "notification-mismatch"
  | "notification-unreadable"
  | "chargeback-or-fraud"
  | "fleet-twin"
  | "update-hold-ended"
  | "update-failed"
  | "updates-stuck"
  | "certificates-end"
  | "update-metadata"
  | "card-number-masked";

/** Logs an error whose field `alarm` has the name: an operator is needed. */
export function raiseAlarm(
  log: Logger,
  alarm: Alarm,
  details: Readonly<Record<string, unknown>>,
  message: string,
): void {
  log.error({ alarm, ...details }, message);
}
