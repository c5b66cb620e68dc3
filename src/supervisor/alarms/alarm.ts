import type { Logger } from "../../shared/process/logger.ts";

/**
 * The names of the alarms. An alarm asks for an operator: an error line of the log whose field
 * `alarm` holds one of these stable names, so that monitoring can watch for it.
 */
type Alarm =
  /** The gateway refuses GATEWAY_LOGIN / GATEWAY_PWD; nothing is sent until that is settled. */
  | "gateway-credentials-refused"
  /** The gateway's address, certificate or access is wrong; the queue goes on trying. */
  | "gateway-misconfigured"
  /** The answer to an order is about something else: it is looked up. */
  | "gateway-answer-mismatch"
  /** The gateway refuses the credentials of the order lookup. */
  | "gateway-lookup-refused"
  /** A transaction has waited for longer than 10 minutes. */
  | "queue-old"
  /** The supervisor's database cannot be written. */
  | "queue-unwritable"
  /** A refused transaction, or one that cannot be sent as it is, waits for an operator. */
  | "transaction-parked"
  /** tp-manager handed off a known transaction id with another content, which was refused. */
  | "transaction-changed"
  /** supervisor.db was lost, or is an older or another one. */
  | "outbox-lost"
  /** Two charged transactions name the same order. */
  | "order-charged-twice"
  /** A sale was reversed at the terminal, but its order may be at the gateway. */
  | "reversed-after-sending"
  /** The answer of a confirm, cancel or refund was lost; the request is never sent again. */
  | "gateway-operation-unknown"
  /** An operation that the gateway answered as done was then notified as failed. */
  | "gateway-operation-failed"
  /** An order was sent again without knowing whether the gateway has it already. */
  | "gateway-order-ambiguous"
  /** The gateway has two transactions of one order. */
  | "gateway-order-twice"
  /** Notifications have a wrong digest or are not about our orders. */
  | "notifications-refused"
  /** A verified notification does not agree with our order. */
  | "notification-mismatch"
  /** A notification that is most likely the gateway's was refused for its form. */
  | "notification-unreadable"
  /** The cardholder's bank took the money of an order back, or the acquirer reported fraud. */
  | "chargeback-or-fraud"
  /** Another client at the broker of the fleet has this kiosk's FLEET_ID. */
  | "fleet-twin"
  /** The fleet held an update back, and the time for that is over. */
  | "update-hold-ended"
  /** A new version failed here, and the previous one runs. */
  | "update-failed"
  /** No update could be checked for or installed for three nights. */
  | "updates-stuck"
  /** A client certificate or a file of trusted authorities ends within 30 days, or has ended. */
  | "certificates-end"
  /** Kept metadata of updates were damaged, or those of a release are wrong. */
  | "update-metadata"
  /** A card number arrived unmasked and was masked here. */
  | "card-number-masked";

export function raiseAlarm(
  log: Logger,
  alarm: Alarm,
  details: Readonly<Record<string, unknown>>,
  message: string,
): void {
  log.error({ alarm, ...details }, message);
}
