import {
  type AppError,
  type Charged,
  type ErrorCode,
  errorTable,
  type Retry,
} from "../../shared/errors.ts";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { formatMajor, majorOf } from "../../shared/money.ts";
import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";
import { isoTime } from "../../shared/time.ts";
import {
  type Attempt,
  type AttemptState,
  endReportOf,
  isCharged,
  isNotCharged,
  isPaying,
  type PaymentRequest,
} from "../attempts/payment.ts";
import {
  chargedMinorOf,
  isInDoubt,
  isRunning,
  type PaymentStatus,
  rowOf,
} from "../attempts/phase-table.ts";

/** The `error` member of every answer (docs/design.md 5.10). */
interface AnswerError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly charged: Charged;
  readonly retry: Retry;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A payment's answer as the kiosk reads it; absent echoes were not in the request. */
export interface PaymentAnswer {
  readonly status: PaymentStatus;
  readonly error: AnswerError | null;
  readonly receipt: Receipt;
  readonly ticket: string;
  readonly amount: number;
  readonly chargedAmount: number | null;
  readonly currency: string;
  readonly orderId: string;
  readonly basket?: unknown;
  readonly customer?: unknown;
  readonly customData?: unknown;
  readonly notificationGatewaySent: boolean;
  readonly transactionId: string;
  readonly warnings: readonly string[];
}

interface HttpAnswer {
  readonly http: number;
  readonly body: PaymentAnswer;
}

/** The answer to an order as its attempt stands now. Pure. */
export function answerOf(attempt: Attempt, delivery: DeliveryState | null): HttpAnswer {
  const { request, state } = attempt;
  const { status, error } = outcomeOf(attempt);
  return {
    http: error ? errorTable[error.code].http : 200,
    body: {
      status,
      error,
      receipt: receiptOf(state, request),
      ticket: ticketOf(attempt),
      amount: request.echo.amount,
      chargedAmount: majorOf(chargedMinorOf(attempt), request.currency),
      currency: request.currency.alpha,
      orderId: request.orderId,
      ...echoes(request),
      notificationGatewaySent: delivery === "sent",
      transactionId: attempt.transactionId,
      warnings: [
        ...request.warnings,
        ...goodsWarnings(attempt),
        ...lateWarnings(attempt),
        ...differenceWarnings(attempt),
        ...returnWarnings(attempt),
        ...doubtsOf(attempt),
      ],
    },
  };
}

function errorOf(
  code: ErrorCode,
  message: string,
  charged: Charged,
  details: Readonly<Record<string, unknown>> = {},
): AnswerError {
  return { code, message, charged, retry: retryOf(code, charged), details };
}

/** "safe" is said of an order that is not charged, and of no other (docs/design.md 5.10). */
function retryOf(code: ErrorCode, charged: Charged): Retry {
  const { retry } = errorTable[code];
  return retry === "safe" && charged !== "no" ? "same_order" : retry;
}

export function errorOfAppError(error: AppError): AnswerError {
  return errorOf(error.code, error.message, error.charged, error.details);
}

/** The status of an answer, and its error where it has one. */
function outcomeOf(attempt: Attempt): {
  readonly status: PaymentStatus;
  readonly error: AnswerError | null;
} {
  const { state } = attempt;
  const { status, charged } = rowOf(attempt);
  if (isNotCharged(state)) {
    const { error, message, terminalCode, advice } = state.outcome;
    const details = { ...(terminalCode === null ? {} : { terminalCode }), ...advice };
    return {
      status: statusNames[state.outcome.status],
      error: errorOf(error, message, "no", details),
    };
  }
  invariant(status !== "as ended", "only an attempt that charged nothing ends in several ways");
  if (status !== "Unknown") return { status, error: null };
  if (isRunning(state)) {
    const { meaning } = errorTable.PAYMENT_RUNNING;
    const message = isPaying(state) ? meaning : "The sale is being reversed.";
    return { status, error: errorOf("PAYMENT_RUNNING", message, charged) };
  }
  invariant(isInDoubt(state), "what is not known is running or in doubt");
  const { why } = state;
  const message = [errorTable.PAYMENT_UNKNOWN.meaning, why].filter(Boolean).join(" ");
  return { status, error: errorOf("PAYMENT_UNKNOWN", message, charged, { why }) };
}

const statusNames = { declined: "Declined", cancelled: "Cancelled", failed: "Failed" } as const;

/** Only a charged or returned payment has a receipt; nothing else may look like one. */
function receiptOf(state: AttemptState, request: PaymentRequest): Receipt {
  const report = endReportOf(state);
  if (report) return report.receipt;
  return {
    ...emptyReceipt(),
    currencyNumCode: request.currency.numeric,
    currencyAlphaCode: request.currency.alpha,
    currencyFractionPart: String(request.currency.exponent),
  };
}

/**
 * Recovery found the whole amount charged although fewer goods came out (docs/design.md 5.12).
 */
function goodsWarnings({ state, request: { currency } }: Attempt): string[] {
  if (!isCharged(state) || state.goodsMinor === undefined) return [];
  const major = (minor: number): string => formatMajor(minor, currency.exponent);
  const charged = major(state.report.amountMinor ?? 0);
  return [
    `charged ${charged} although the goods that came out are worth ${major(state.goodsMinor)}`,
  ];
}

/** The order had been told as not charged (docs/design.md 3.19). */
function lateWarnings({ state }: Attempt): string[] {
  if (!isCharged(state) || !state.late) return [];
  return ["charged although it was answered as not charged: the terminal reported the sale late"];
}

/** A charge all the same (docs/design.md 3.25). */
function differenceWarnings({ state }: Attempt): string[] {
  const differs = isCharged(state) ? (state.report.differs ?? []) : [];
  return differs.map((member) => `the terminal answered with another ${member} than was sent`);
}

/** A return that may have happened leaves the order charged (docs/design.md 3.23). */
function returnWarnings({ openReturn, request: { currency } }: Attempt): string[] {
  if (!openReturn) return [];
  const { kind, amountMinor } = openReturn;
  const major = formatMajor(amountMinor, currency.exponent);
  return [`what became of a ${kind} of ${major} at the gateway is not known`];
}

/** A comparison that speaks against this answer; what was learned since is the answer's own. */
function doubtsOf({ state, suspicion, request: { currency } }: Attempt): string[] {
  if (!suspicion) return [];
  const { says, amountMinor, atMs } = suspicion;
  const amount = `${formatMajor(amountMinor, currency.exponent)} ${currency.alpha}`;
  const look = "see GET /reconciliation";
  if (says === "not-charged") {
    if (!isCharged(state)) return [];
    return [
      `the terminal's totals of ${isoTime(atMs)} lack ${amount}: perhaps not charged; ${look}`,
    ];
  }
  if (isCharged(state)) return [];
  return says === "charged"
    ? [`the terminal's totals of ${isoTime(atMs)} hold ${amount} more: perhaps charged; ${look}`]
    : [`a receipt number is missing after this payment: perhaps charged; ${look}`];
}

function ticketOf({ state, ticket }: Attempt): string {
  if (ticket !== "" || !isCharged(state)) return ticket;
  return state.report.fallbackTicket;
}

function echoes({ echo }: PaymentRequest): Partial<PaymentAnswer> {
  const { amount: _, ...others } = echo;
  return others;
}
