import {
  type AppError,
  type Charged,
  type ErrorCode,
  errorTable,
  type Retry,
} from "../../shared/catalog/errors.ts";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { majorOf } from "../../shared/money.ts";
import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";
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
import { warningsOf } from "./warnings.ts";

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
      warnings: warningsOf(attempt).map(({ says }) => says),
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

function ticketOf({ state, ticket }: Attempt): string {
  if (ticket !== "" || !isCharged(state)) return ticket;
  return state.report.fallbackTicket;
}

function echoes({ echo }: PaymentRequest): Partial<PaymentAnswer> {
  const { amount: _, ...others } = echo;
  return others;
}
