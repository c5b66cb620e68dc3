import {
  type AppError,
  askingText,
  type Charged,
  type ErrorCode,
  errorTable,
} from "../../shared/catalog/errors.ts";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { formatMajor, majorOf } from "../../shared/money.ts";
import { isoTime } from "../../shared/time.ts";
import {
  type Attempt,
  bareReceipt,
  codeOf,
  endReportOf,
  isCharged,
  isNotCharged,
  isPaying,
  type Suspicion,
} from "../attempts/payment.ts";
import {
  chargedMinorOf,
  inDoubtOf,
  isInDoubt,
  isRunning,
  rowOf,
  unknownText,
} from "../attempts/phase-table.ts";
import { ARCHIVED, IMPORTED } from "../attempts/rebuilt-attempt.ts";
import { BASKET_NOT_FORWARDED } from "./basket-check.ts";

/** The answer to the kiosk about a payment. Members that the request lacked are not repeated. */
export type PaymentAnswer = ReturnType<typeof answerOf>["body"];

/** Returns the answer to an order. `attempt`: the attempt that decides the order's status. Pure. */
export function answerOf(attempt: Attempt, delivery: DeliveryState | null, untilMs?: Until) {
  const { request, state, ticket } = attempt;
  const { currency } = request;
  const { amount, ...echoes } = request.echo;
  const { status, error } = outcomeOf(attempt, untilMs);
  return {
    http: error ? errorTable[error.code].http : 200,
    body: {
      status,
      error,
      // Only a charged or reversed payment has a receipt; no other answer may look like a charge.
      receipt: endReportOf(state)?.receipt ?? bareReceipt(currency),
      ticket: ticket === "" && isCharged(state) ? state.report.fallbackTicket : ticket,
      amount,
      chargedAmount: majorOf(chargedMinorOf(attempt), currency),
      currency: currency.alpha,
      orderId: request.orderId,
      ...echoes,
      notificationGatewaySent: delivery === "sent",
      transactionId: attempt.transactionId,
      warnings: warningsOf(attempt).map(({ says }) => says),
    },
  };
}

/** Returns the member `error` of an answer to the kiosk (docs/design.md 5.10). */
function errorOf(
  code: ErrorCode,
  message: string,
  charged: Charged,
  details: Readonly<Record<string, unknown>> = {},
) {
  const { retry } = errorTable[code];
  // `retry` "safe" is answered only for an order that is not charged (docs/design.md 5.10).
  const isUnsafe = retry === "safe" && charged !== "no";
  return { code, message, charged, retry: isUnsafe ? ("same_order" as const) : retry, details };
}

export function errorOfAppError(error: AppError) {
  return errorOf(error.code, error.message, error.charged, error.details);
}

type Until = number | null | undefined;

function outcomeOf(attempt: Attempt, untilMs: Until) {
  const { state } = attempt;
  const { status, charged } = rowOf(attempt);
  if (isNotCharged(state)) {
    const { error, message, terminalCode, advice } = state.outcome;
    const code = codeOf(state.outcome);
    const says = code === error ? message : errorTable[code].meaning;
    const details = { ...(terminalCode === null ? {} : { terminalCode }), ...advice };
    return {
      status: statusNames[state.outcome.status],
      error: errorOf(code, says, "no", details),
    };
  }
  invariant(status !== "as ended", "only an attempt that charged nothing ends in several ways");
  if (status !== "Unknown") return { status, error: null };
  if (isRunning(state)) {
    const { meaning } = errorTable.PAYMENT_RUNNING;
    const [message, details] = isPaying(state)
      ? [meaning, {}]
      : ["The sale is being reversed.", { inDoubt: inDoubtOf(state) }];
    return { status, error: errorOf("PAYMENT_RUNNING", message, charged, details) };
  }
  invariant(isInDoubt(state), "what is not known is running or in doubt");
  const { why } = state;
  const meaning = unknownText(state);
  const message = why ? meaning.replace(/\.$/, `: ${why}`) : meaning;
  const asked =
    untilMs === undefined ? {} : { asking: { until: isoTime(untilMs), says: askingText(untilMs) } };
  const details = { inDoubt: inDoubtOf(state), why, ...asked };
  return { status, error: errorOf("PAYMENT_UNKNOWN", message, charged, details) };
}

const statusNames = { declined: "Declined", cancelled: "Cancelled", failed: "Failed" } as const;

/** A warning in an answer (docs/design.md 5.10), with its figures for a page that translates it. */
export interface Warning {
  readonly warning: (typeof warningNames)[number];
  readonly says: string;
  readonly amountMinor?: number;
  /** The time that the sentence names, in epoch milliseconds. */
  readonly atMs?: number;
  readonly count?: number;
}

export const warningNames = [
  "basket",
  "taken-over",
  "archived",
  "stored",
  "beyond-goods",
  "charged-late",
  "differs",
  "cancel-open",
  "refund-open",
  "totals-lack",
  "totals-hold",
  "number-missing",
  "gateway-copies",
  "gateway-failed",
] as const;

/** Returns the warnings about an attempt, except those about its delivery to the gateway. */
export function warningsOf({ state, request, openReturn, suspicion }: Attempt): Warning[] {
  const { currency } = request;
  const major = (minor: number): string => formatMajor(minor, currency.exponent);
  const warnings = request.warnings.map(ofRequest);
  if (isCharged(state)) {
    const { goodsMinor, report } = state;
    // Warns if recovery found that more was charged than the goods are worth (docs/design.md 5.12).
    if (goodsMinor !== undefined) {
      const says =
        `charged ${major(report.amountMinor ?? 0)} although the goods that came out are worth ` +
        major(goodsMinor);
      warnings.push({ warning: "beyond-goods", says, amountMinor: goodsMinor });
    }
    if (state.late) {
      const says =
        "charged although it was answered as not charged: the terminal reported the sale late";
      warnings.push({ warning: "charged-late", says });
    }
    for (const member of report.differs ?? []) {
      const says = `the terminal answered with another ${member} than was sent`;
      warnings.push({ warning: "differs", says });
    }
  }
  // Warns that a refund has no outcome yet; the order stays charged (docs/rules/23-asked.md).
  if (openReturn) {
    const { kind, amountMinor } = openReturn;
    const says = `what became of a ${kind} of ${major(amountMinor)} at the gateway is not known`;
    warnings.push({ warning: `${kind}-open`, says, amountMinor });
  }
  // A suspicion only warns while it contradicts the answer: the order may have been settled since.
  if (suspicion && (suspicion.says === "not-charged") === isCharged(state)) {
    warnings.push(ofSuspicion(suspicion, `${major(suspicion.amountMinor)} ${currency.alpha}`));
  }
  return warnings;
}

function ofRequest(says: string): Warning {
  if (says === IMPORTED) return { warning: "taken-over", says };
  if (says === ARCHIVED) return { warning: "archived", says };
  return { warning: says.startsWith(BASKET_NOT_FORWARDED) ? "basket" : "stored", says };
}

function ofSuspicion({ says: finding, amountMinor, atMs }: Suspicion, amount: string): Warning {
  const where = "see GET /reconciliation";
  if (finding === "number-missing") {
    const says = `a receipt number is missing after this payment: perhaps charged; ${where}`;
    return { warning: "number-missing", says };
  }
  const isLacking = finding === "not-charged";
  const what = isLacking
    ? `lack ${amount}: perhaps not charged`
    : `hold ${amount} more: perhaps charged`;
  const says = `the terminal's totals of ${isoTime(atMs)} ${what}; ${where}`;
  return { warning: isLacking ? "totals-lack" : "totals-hold", says, amountMinor, atMs };
}
