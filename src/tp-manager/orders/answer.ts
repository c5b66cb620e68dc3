import { type AppError, type Charged, type ErrorCode, errorTable } from "../../shared/errors.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { formatMajor } from "../../shared/money.ts";
import { emptyReceipt, type Receipt } from "../../shared/receipt.ts";
import {
  type Attempt,
  type AttemptState,
  isApproved,
  type PaymentRequest,
  returnOf,
} from "../attempts/payment.ts";

/** The `error` member of every answer (docs/design.md 5.10). */
interface AnswerError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly charged: Charged;
  readonly retry: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export type PaymentStatus =
  | "Success"
  | "Approved"
  | "Declined"
  | "Cancelled"
  | "Failed"
  | "Reversed"
  | "Unknown";

/** A payment's answer as the kiosk reads it; absent echoes were not in the request. */
export interface PaymentAnswer {
  readonly status: PaymentStatus;
  readonly error: AnswerError | null;
  readonly receipt: Receipt;
  readonly ticket: string;
  readonly amount: number;
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
      currency: request.currency.alpha,
      orderId: request.orderId,
      ...echoes(request),
      notificationGatewaySent: delivery === "sent",
      transactionId: attempt.transactionId,
      warnings: [...request.warnings, ...goodsWarnings(attempt)],
    },
  };
}

function errorOf(
  code: ErrorCode,
  message: string,
  charged: Charged,
  details: Readonly<Record<string, unknown>> = {},
): AnswerError {
  return { code, message, charged, retry: errorTable[code].retry, details };
}

export function errorOfAppError(error: AppError): AnswerError {
  return errorOf(error.code, error.message, error.charged, error.details);
}

interface Outcome {
  readonly status: PaymentStatus;
  readonly error: AnswerError | null;
}

/** A charged order whose money went back, or may have, at the gateway (docs/design.md 3.7). */
function chargedOutcome(attempt: Attempt): Outcome {
  switch (returnOf(attempt)) {
    case "all":
      return { status: "Reversed", error: null };
    case "open":
      return {
        status: "Unknown",
        error: errorOf("PAYMENT_UNKNOWN", errorTable.PAYMENT_UNKNOWN.meaning, "unknown", {
          why: `what became of a ${attempt.openReturn?.kind} at the gateway is not known`,
        }),
      };
    case "none":
    case "part":
      return { status: "Success", error: null };
  }
}

function outcomeOf(attempt: Attempt): Outcome {
  const { state } = attempt;
  switch (state.phase) {
    case "charged":
      return chargedOutcome(attempt);
    case "reversed":
      return { status: "Reversed", error: null };
    case "not-charged": {
      const { status, error, message, terminalCode, advice } = state.outcome;
      const details = { ...(terminalCode === null ? {} : { terminalCode }), ...advice };
      return {
        status: statusNames[status],
        error: errorOf(error, message, "no", details),
      };
    }
    case "sent":
      if (isApproved(state)) return { status: "Approved", error: null };
      return {
        status: "Unknown",
        error: errorOf("PAYMENT_RUNNING", errorTable.PAYMENT_RUNNING.meaning, "unknown"),
      };
    case "reversing":
      return {
        status: "Unknown",
        error: errorOf("PAYMENT_RUNNING", "The sale is being reversed.", "unknown"),
      };
    case "in-doubt":
    case "reversal-in-doubt":
      return {
        status: "Unknown",
        error: errorOf("PAYMENT_UNKNOWN", errorTable.PAYMENT_UNKNOWN.meaning, "unknown", {
          why: state.why,
        }),
      };
  }
}

const statusNames = { declined: "Declined", cancelled: "Cancelled", failed: "Failed" } as const;

/** Only a charged or returned payment has a receipt; nothing else may look like one. */
function receiptOf(state: AttemptState, request: PaymentRequest): Receipt {
  if (state.phase === "charged" || state.phase === "reversed") return state.report.receipt;
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
  if (state.phase !== "charged" || state.goodsMinor === undefined) return [];
  const major = (minor: number): string => formatMajor(minor, currency.exponent);
  const charged = major(state.report.amountMinor ?? 0);
  return [
    `charged ${charged} although the goods that came out are worth ${major(state.goodsMinor)}`,
  ];
}

function ticketOf({ state, ticket }: Attempt): string {
  if (ticket !== "" || state.phase !== "charged") return ticket;
  return state.report.fallbackTicket;
}

function echoes({ echo }: PaymentRequest): Partial<PaymentAnswer> {
  const { amount: _, ...others } = echo;
  return others;
}
