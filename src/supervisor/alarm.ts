import type { Logger } from "../shared/logger.ts";

/**
 * What an operator has to look at. An alarm is an error line of the log whose field `alarm` holds
 * one of these stable names, so that monitoring can watch for it.
 */
export type Alarm =
  /** The gateway refuses GATEWAY_LOGIN / GATEWAY_PWD; nothing is sent until that is settled. */
  | "gateway-credentials-refused"
  /** The gateway's address, certificate or access is wrong; the queue goes on trying. */
  | "gateway-misconfigured"
  /** A transaction was refused, or cannot be sent as it is; it waits for an operator. */
  | "transaction-parked"
  /** tp-manager handed over a known transaction id with another content; it was refused. */
  | "transaction-changed"
  /** Two charged transactions name the same order. */
  | "order-charged-twice"
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
