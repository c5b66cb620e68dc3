import { type ErrorRow, row } from "./error-row.ts";

/** The supervisor, what it has to send, and the gateway behind it. */
export const gatewayErrors = {
  GATEWAY_TRANSACTION_NOT_FOUND: row(
    404,
    "unknown",
    "never",
    "The gateway knows no such transaction.",
    "Check the id: transid of a notification, or GET /payment/{orderId}.",
  ),
  OUTBOX_ITEM_NOT_FOUND: row(
    404,
    "unknown",
    "never",
    "No transaction with this id waits for the gateway.",
    "Read GET /outbox.",
  ),
  GATEWAY_ID_UNKNOWN: row(
    409,
    "unknown",
    "after_recovery",
    "No verified notification and no lookup has tied this order to one transaction of the gateway.",
    "Name the transactionPublicId, or wait for the gateway's notification.",
  ),
  GATEWAY_OPERATION_OPEN: row(
    409,
    "unknown",
    "after_recovery",
    "An earlier operation at the gateway is running, or what became of it is not known.",
    "Read GET /payment/{orderId}; GET /gateway/transaction/{id} or an operator settles it.",
  ),
  REFUND_REPEATED: row(
    409,
    "unknown",
    "never",
    "A refund of this part was asked for within the last 24 hours, or may have been; `details` " +
      "tells it.",
    '`"again": true` asks for another one; an idempotencyKey tells a repetition from another one.',
  ),
  IDEMPOTENCY_KEY_REUSED: row(
    409,
    "unknown",
    "never",
    "The idempotencyKey was used before, with another body; nothing was done.",
    "Send each new operation with a key of its own, and each repetition just as it was.",
  ),
  GATEWAY_REFUSED: row(
    409,
    "yes",
    "never",
    "The gateway did not carry the operation out; `details` has its code and words.",
    "Read GET /gateway/transaction/{id} for how the transaction stands.",
  ),
  OUTBOX_ITEM_SETTLED: row(
    409,
    "yes",
    "never",
    "The transaction has been sent or closed; `details` has its state.",
    "Read GET /outbox.",
  ),
  OUTBOX_ITEM_BUSY: row(
    409,
    "yes",
    "after_recovery",
    "The transaction is being sent at this moment.",
    "Ask again in a minute.",
  ),
  GATEWAY_NOT_SENT: row(
    503,
    "yes",
    "after_recovery",
    "The gateway was not reached or turned the request away; nothing was carried out.",
    "Ask again later.",
  ),
  GATEWAY_OPERATION_UNKNOWN: row(
    504,
    "unknown",
    "never",
    "The gateway's answer was lost: whether it carried the operation out is not known.",
    "It is never sent again: a lookup, a notification or an operator settles it.",
  ),
  GATEWAY_LOOKUP_FAILED: row(
    503,
    "unknown",
    "same_order",
    "The gateway's lookup did not answer.",
    "Try again; `details` has the reason.",
  ),
  SUPERVISOR_UNAVAILABLE: row(
    503,
    "unknown",
    "same_order",
    "The supervisor does not answer.",
    "Check that it runs: launch.sh status.",
  ),
} as const satisfies Record<string, ErrorRow>;
