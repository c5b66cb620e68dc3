import { callErrors } from "./call-errors.ts";
import { type Charged, type ErrorRow, row } from "./error-row.ts";
import { gatewayErrors } from "./gateway-errors.ts";

/** The order, the terminal that charges it, and the connector itself. */
const paymentErrors = {
  ORDER_NOT_FOUND: row(
    404,
    "no",
    "safe",
    "No payment with this orderId was ever asked for here.",
    "Check the orderId; POST /payment starts one.",
  ),
  TERMINAL_BUSY: row(
    409,
    "no",
    "safe",
    "Another order is being paid, or the terminal is busy.",
    "Wait for the running payment's answer, or until nobody is in the terminal's own menu.",
  ),
  NOTHING_TO_CANCEL: row(
    409,
    "no",
    "safe",
    "No payment is running.",
    "Read GET /payment/{orderId} for what became of the order.",
  ),
  CANCEL_REFUSED: row(
    409,
    "unknown",
    "same_order",
    "The terminal did not take the cancel: too late, or not possible now.",
    "Wait for the payment's own answer.",
  ),
  ORDER_REVERSED: row(
    409,
    "no",
    "never",
    "The order was charged and the money returned; it is finished.",
    "Use a new orderId for a new sale.",
  ),
  ORDER_NOT_CHARGED: row(
    409,
    "no",
    "safe",
    "The order was not charged, so there is nothing to return or to deliver.",
    "Read GET /payment/{orderId}.",
  ),
  NOTHING_TO_SETTLE: row(
    409,
    "unknown",
    "never",
    "The order is not in doubt; `charged` is the truth.",
    "Read GET /payment/{orderId}.",
  ),
  DELIVERY_DECIDED: row(
    409,
    "unknown",
    "never",
    "Another word about the goods was given before, or it came too late; `charged` is the truth.",
    "Read GET /payment/{orderId}.",
  ),
  REVERSAL_REFUSED: row(
    409,
    "yes",
    "never",
    "The terminal did not reverse the sale, or it can no longer be reversed there.",
    "Refund it at the gateway or by hand.",
  ),
  REVERSAL_NOT_SAFE: row(
    409,
    "yes",
    "never",
    "The sale's receipt number may name another sale by now, so no reversal was sent.",
    "Look at the terminal's own receipts, then refund the order at the gateway or by hand.",
  ),
  OPEN_PRE_AUTHORISATIONS: row(
    409,
    "no",
    "safe",
    "The end of day would lose open pre-authorisations; `details` names their receipts.",
    "Book or reverse them first.",
  ),
  ANSWER_NOT_DELIVERED: row(
    409,
    "no",
    "after_recovery",
    "The answer of an earlier order with a generated id could not be delivered.",
    "Read GET /payment/{orderId} of the order in `details`, then ask again.",
  ),
  ORDER_MISMATCH: row(
    422,
    "unknown",
    "never",
    "The orderId was used before with another amount or currency, or with other contents where " +
      "REPEAT_MUST_MATCH says so; `charged` is that order's.",
    "Use a new orderId for another sale.",
  ),
  CURRENCY_REFUSED: row(422, "no", "never", "The terminal lacks this currency.", "Send its own."),
  INTERNAL: row(
    500,
    "unknown",
    "same_order",
    "A fault of this program.",
    "Read the log; read GET /payment/{orderId} before anything else.",
  ),
  NOT_SUPPORTED: row(
    501,
    "no",
    "never",
    "This version or this terminal cannot do that.",
    "See the API table.",
  ),
  TERMINAL_DISCONNECTED: row(
    503,
    "no",
    "safe",
    "There is no link to the terminal.",
    "Check cable, power and SERIAL_PORT; the connector keeps trying by itself.",
  ),
  TERMINAL_NO_ANSWER: row(
    503,
    "no",
    "safe",
    "The terminal did not answer before the payment began.",
    "Check the terminal; it may be restarting.",
  ),
  TERMINAL_REFUSED: row(
    503,
    "no",
    "safe",
    "The terminal refused the payment before it began; `details` has its code.",
    "Look the code up in the terminal's manual.",
  ),
  TERMINAL_FAULT: row(
    503,
    "no",
    "safe",
    "The terminal ended the payment because of a fault of its own; nothing was charged.",
    "See `details`; try again, call the technician if it stays.",
  ),
  TERMINAL_OUT_OF_ORDER: row(
    503,
    "no",
    "safe",
    "The terminal cannot take cards now.",
    "GET /check says what it needs.",
  ),
  TERMINAL_IN_DOUBT: row(
    503,
    "no",
    "after_recovery",
    "A payment is in doubt, or the terminal reported a sale without an order; it is being asked.",
    "Try again in a few minutes; the connector asks the terminal by itself. Where the message " +
      "names an order, an operator settles it, or another amount is paid.",
  ),
  TERMINAL_CHANGED: row(
    503,
    "no",
    "after_recovery",
    "Another terminal is connected than before.",
    "If it was replaced on purpose, an operator accepts it: in the console, or with " +
      "POST /terminal/accept.",
  ),
  STOPPING: row(
    503,
    "no",
    "safe",
    "The connector is being stopped.",
    "Try again after it has been started.",
  ),
  UPDATING: row(503, "no", "safe", "A new version is on probation.", "Try again in seconds."),
  STORAGE_FAILED: row(
    503,
    "unknown",
    "same_order",
    "The journal on disk cannot be read or written, or its file was deleted or replaced.",
    "Check free space and permissions of the data folder and its disk; it goes on by itself. " +
      "Where a file is gone, GET /health says the steps.",
  ),
  STORES_DISAGREE: row(
    503,
    "unknown",
    "same_order",
    "The journal was lost or restored: whether this order was paid or given back is not known now.",
    "Start the supervisor, or wait for the gateway; ./launch.sh stores accept ends the doubt.",
  ),
  TERMINAL_SALE_UNMATCHED: row(
    409,
    "unknown",
    "after_recovery",
    "The terminal has a sale of this amount that no order here has: it may be this one.",
    "Find out who paid it; ./launch.sh stores accept ends the wait, or a day and an end of day.",
  ),
  PAYMENT_DECLINED: row(
    200,
    "no",
    "safe",
    "The card or its bank refused.",
    "The customer may try another card.",
  ),
  GOODS_NOT_DELIVERED: row(
    200,
    "no",
    "safe",
    "The goods did not come out, so the terminal reversed the approved sale.",
    "The customer may try again.",
  ),
  SETTLED_NOT_CHARGED: row(
    200,
    "no",
    "safe",
    "The payment was in doubt and an operator found that nothing was charged.",
    "Nothing.",
  ),
  PAYMENT_CANCELLED: row(
    200,
    "no",
    "safe",
    "The payment was cancelled by /cancel or at the terminal.",
    "Nothing.",
  ),
  CUSTOMER_TIMEOUT: row(200, "no", "safe", "The customer was too slow.", "Nothing."),
  PAYMENT_UNKNOWN: row(
    504,
    "unknown",
    "same_order",
    "What became of the payment is not known yet.",
    "Read GET /payment/{orderId} later; repeat only with the same orderId.",
  ),
  TELECOLLECTION_FAILED: row(
    503,
    "no",
    "safe",
    "The terminal did not carry out the end of day, or its end was not heard.",
    "See `details`; look at the terminal, then try again.",
  ),
  RESET_FAILED: row(
    503,
    "no",
    "safe",
    "The terminal refused to restart, or is not back yet.",
    "Look at the terminal; the connector keeps trying to reach it.",
  ),
  PAYMENT_RUNNING: row(
    504,
    "unknown",
    "same_order",
    "The payment has not ended on the terminal yet; the terminal stays busy until it ends.",
    "Read GET /payment/{orderId} again later.",
  ),
} as const satisfies Record<string, ErrorRow>;

/**
 * The one table of error codes. The reference prints it and a test compares the two
 * (docs/design.md 5.10). `charged` and `retry` are what the kiosk may believe; an {@link AppError}
 * may carry a more exact `charged` where the table says what holds without further knowledge.
 */
export const errorTable = { ...callErrors, ...paymentErrors, ...gatewayErrors };

export type ErrorCode = keyof typeof errorTable;

interface AppErrorOptions extends ErrorOptions {
  /** Replaces the table's word where more is known. */
  readonly charged?: Charged;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** An earlier request for the same may have been carried out. */
  readonly mayBeDone?: boolean;
}

/** An error with a code of the table. The message is for the person who reads the answer. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly charged: Charged;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly mayBeDone: boolean;
  /** The order that it is about, where the request names that order by another id. */
  orderId: string | undefined;

  constructor(code: ErrorCode, message?: string, options: AppErrorOptions = {}) {
    super(message ?? errorTable[code].meaning, options);
    this.code = code;
    this.charged = options.charged ?? errorTable[code].charged;
    this.details = options.details;
    this.mayBeDone = options.mayBeDone ?? false;
  }
}
