import texts from "./texts-en.json" with { type: "json" };

/** Whether the order that an error is about is charged (docs/rules/10-charged.md). */
export type Charged = "no" | "yes" | "unknown";
type Retry = "safe" | "same_order" | "after_recovery" | "never";

interface ErrorRow {
  readonly http: number;
  readonly charged: Charged;
  readonly retry: Retry;
  readonly meaning: string;
  readonly action: string;
  /** What an operator does, if `action` is for the kiosk's program only. */
  readonly operator?: string;
  /** The texts that the console shows instead, because they name its buttons or its session. */
  readonly console?: { readonly meaning?: string; readonly action?: string };
}

const row = (http: number, charged: Charged, retry: Retry) => ({ http, charged, retry });

const rows = {
  // Calls that fail with these codes are refused before they begin, so that nobody is charged.
  BODY_NOT_JSON: row(400, "no", "safe"),
  REQUEST_INVALID: row(400, "no", "safe"),
  CARD_DATA_REFUSED: row(400, "no", "safe"),
  UNAUTHORIZED: row(401, "no", "safe"),
  HOST_REFUSED: row(403, "no", "safe"),
  ORIGIN_REFUSED: row(403, "no", "safe"),
  OPERATOR_REQUIRED: row(403, "no", "safe"),
  NOT_FOUND: row(404, "unknown", "never"),
  METHOD_NOT_ALLOWED: row(405, "unknown", "never"),
  REQUEST_TOO_SLOW: row(408, "no", "safe"),
  BODY_TOO_LARGE: row(413, "no", "safe"),
  CONTENT_TYPE_REFUSED: row(415, "no", "safe"),
  TOO_MANY_FAILURES: row(429, "no", "safe"),
  HEADERS_TOO_LARGE: row(431, "no", "safe"),
  TOO_MANY_READERS: row(503, "no", "safe"),
  // These codes are about the order, the terminal that charges it, and the connector itself.
  ORDER_NOT_FOUND: row(404, "no", "safe"),
  TERMINAL_BUSY: row(409, "no", "safe"),
  NOTHING_TO_CANCEL: row(409, "no", "safe"),
  CANCEL_REFUSED: row(409, "unknown", "same_order"),
  ORDER_REVERSED: row(409, "no", "never"),
  ORDER_NOT_CHARGED: row(409, "no", "safe"),
  NOTHING_TO_SETTLE: row(409, "unknown", "never"),
  DELIVERY_DECIDED: row(409, "unknown", "never"),
  REVERSAL_REFUSED: row(409, "yes", "never"),
  REVERSAL_NOT_SAFE: row(409, "yes", "never"),
  OPEN_PRE_AUTHORISATIONS: row(409, "no", "safe"),
  ANSWER_NOT_DELIVERED: row(409, "no", "after_recovery"),
  ORDER_MISMATCH: row(422, "unknown", "never"),
  CURRENCY_REFUSED: row(422, "no", "never"),
  INTERNAL: row(500, "unknown", "same_order"),
  NOT_SUPPORTED: row(501, "no", "never"),
  TERMINAL_DISCONNECTED: row(503, "no", "safe"),
  TERMINAL_NO_ANSWER: row(503, "no", "safe"),
  TERMINAL_REFUSED: row(503, "no", "safe"),
  TERMINAL_FAULT: row(503, "no", "safe"),
  SALE_TAKEN_BACK: row(503, "no", "safe"),
  TERMINAL_OUT_OF_ORDER: row(503, "no", "safe"),
  TERMINAL_IN_DOUBT: row(503, "no", "after_recovery"),
  TERMINAL_CHANGED: row(503, "no", "after_recovery"),
  STOPPING: row(503, "no", "safe"),
  UPDATING: row(503, "no", "safe"),
  STORAGE_FAILED: row(503, "unknown", "same_order"),
  STORES_DISAGREE: row(503, "unknown", "same_order"),
  TERMINAL_SALE_UNMATCHED: row(409, "unknown", "after_recovery"),
  PAYMENT_DECLINED: row(200, "no", "safe"),
  GOODS_NOT_DELIVERED: row(200, "no", "safe"),
  DELIVERY_UNCONFIRMED: row(200, "no", "never"),
  SETTLED_NOT_CHARGED: row(200, "no", "safe"),
  PAYMENT_CANCELLED: row(200, "no", "safe"),
  CUSTOMER_TIMEOUT: row(200, "no", "safe"),
  PAYMENT_UNKNOWN: row(504, "unknown", "same_order"),
  TELECOLLECTION_FAILED: row(503, "no", "safe"),
  RESET_FAILED: row(503, "no", "safe"),
  PAYMENT_RUNNING: row(504, "unknown", "same_order"),
  // These codes are about the supervisor, its outbox, and the gateway.
  GATEWAY_TRANSACTION_NOT_FOUND: row(404, "unknown", "never"),
  OUTBOX_ITEM_NOT_FOUND: row(404, "unknown", "never"),
  GATEWAY_ID_UNKNOWN: row(409, "unknown", "after_recovery"),
  GATEWAY_OPERATION_OPEN: row(409, "unknown", "after_recovery"),
  REFUND_REPEATED: row(409, "unknown", "never"),
  IDEMPOTENCY_KEY_REUSED: row(409, "unknown", "never"),
  GATEWAY_REFUSED: row(409, "yes", "never"),
  OUTBOX_ITEM_SETTLED: row(409, "yes", "never"),
  OUTBOX_ITEM_BUSY: row(409, "yes", "after_recovery"),
  GATEWAY_NOT_SENT: row(503, "yes", "after_recovery"),
  GATEWAY_OPERATION_UNKNOWN: row(504, "unknown", "never"),
  GATEWAY_LOOKUP_FAILED: row(503, "unknown", "same_order"),
  SUPERVISOR_UNAVAILABLE: row(503, "unknown", "same_order"),
};

export type ErrorCode = keyof typeof rows;

/**
 * The only table of error codes, with the texts of texts-en.json; docs/reference.md is generated
 * from it (docs/design.md 5.10). The kiosk may rely on `charged` and `retry`. An {@link AppError}
 * may know more exactly than the table whether the order is charged.
 */
export const errorTable = Object.fromEntries(
  Object.entries(rows).map(([code, row]) => [code, { ...row, ...texts.errors[code as ErrorCode] }]),
) as Readonly<Record<ErrorCode, ErrorRow>>;

/** What PAYMENT_UNKNOWN means for an order of which only a reversal is in doubt. */
export const reversalUnknown = texts.console["reversal.unknown"];

/**
 * Says until when the connector asks about an order in doubt: an epoch in ms, in words the local
 * time of day in seconds; null: until the terminal is back.
 */
export function askingText(untilMs: number | null): string {
  if (untilMs === null) return texts.console["asking.later"];
  const time = new Date(untilMs).toTimeString().slice(0, "hh:mm:ss".length);
  return texts.console["asking.until"].replace("{time}", time);
}

interface AppErrorOptions extends ErrorOptions {
  /** Whether the order is charged, if more is known about it than the error table says. */
  readonly charged?: Charged;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** Whether this request, or an earlier one for this operation, may have been carried out. */
  readonly mayBeDone?: boolean;
}

/** An error with a code of the error table; its message is for the person who reads the answer. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly charged: Charged;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  mayBeDone: boolean;
  /** The order that the error is about, if the request names the order by another id. */
  orderId: string | undefined;

  constructor(code: ErrorCode, message?: string, options: AppErrorOptions = {}) {
    super(message ?? errorTable[code].meaning, options);
    this.code = code;
    this.charged = options.charged ?? errorTable[code].charged;
    this.details = options.details;
    this.mayBeDone = options.mayBeDone ?? false;
  }
}
