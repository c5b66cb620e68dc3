import {
  type Charged,
  type ErrorCode,
  errorTable,
  reversalUnknown,
} from "../../shared/catalog/errors.ts";
import { formatMajor } from "../../shared/money.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { timeLeft } from "../../shared/time.ts";
import type { EventData } from "./event-table.ts";
import {
  type Attempt,
  type AttemptPhase,
  type AttemptState,
  codeOf,
  type InDoubtState,
  isApproved,
  isCharged,
  isNotCharged,
  isPaying,
  isReversed,
  type ReversalInDoubtState,
  type ReversingState,
  returnableMinorOf,
  type SentState,
  saleOf,
} from "./payment.ts";

/** The values of `status` in answers (docs/design.md 5.9). */
export const paymentStatuses = [
  "Success",
  "Approved",
  "Declined",
  "Cancelled",
  "Failed",
  "Reversed",
  "Unknown",
] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

/** The findings by which an operator may settle an attempt. */
export type Settled = "charged" | "not-charged" | "reversed";

/**
 * The facts about an order whose newest attempt is in a phase (docs/architecture.md 1.4), by
 * docs/rules/08-finished.md, docs/rules/23-asked.md, docs/rules/35-gateway-returns.md and
 * docs/rules/36-repeated-order.md.
 */
interface PhaseRow {
  readonly charged: Charged;
  /** The status in answers. "as ended": Declined, Cancelled or Failed, by the attempt's outcome. */
  readonly status: PaymentStatus | "as ended";
  /** What a repeated order gets: a new attempt, its stored answer, first a probe, or this error. */
  readonly repeat: "begin" | "answer" | "ask" | ErrorCode;
  /** What a reversal call gets: a reversal at the terminal, the stored answer, or this error. */
  readonly reversal: "begin" | "answer" | ErrorCode;
  /** What a confirm, cancel or refund call gets: the operation at the gateway, or this error. */
  readonly gateway: "begin" | ErrorCode;
  readonly settle: readonly Settled[];
  /**
   * Why an attempt has not ended. "running": a command may be running. "doubt": only the terminal
   * or an operator knows whether money moved, so it is probed after a restart. null: it has ended.
   */
  readonly open: "running" | "doubt" | null;
  /**
   * What the supervisor must know before the order may be archived. "nothing": the terminal never
   * had a sale of the order, and can have none.
   */
  readonly archive: "nothing" | "delivery" | "withdrawal" | "never";
}

const running = {
  charged: "unknown",
  status: "Unknown",
  repeat: "ask",
  reversal: "answer",
  gateway: "PAYMENT_UNKNOWN",
  settle: [],
  open: "running",
  archive: "never",
} as const;
/** The columns of a phase in which the attempt has ended, so that no operator settles it. */
const ended = { settle: [], open: null } as const;

/** The facts about each phase, in one table for the programs and for the journal's SQL. */
export const phaseTable = {
  sent: running,
  charged: {
    charged: "yes",
    status: "Success",
    repeat: "answer",
    reversal: "begin",
    gateway: "begin",
    ...ended,
    archive: "delivery",
  },
  "not-charged": {
    charged: "no",
    status: "as ended",
    repeat: "begin",
    reversal: "ORDER_NOT_CHARGED",
    gateway: "ORDER_NOT_CHARGED",
    ...ended,
    archive: "nothing",
  },
  "in-doubt": { ...running, settle: ["charged", "not-charged"], open: "doubt" },
  reversing: running,
  "reversal-in-doubt": { ...running, settle: ["charged", "reversed"], open: "doubt" },
  reversed: {
    charged: "no",
    status: "Reversed",
    repeat: "ORDER_REVERSED",
    reversal: "answer",
    gateway: "ORDER_REVERSED",
    ...ended,
    archive: "withdrawal",
  },
} as const satisfies Record<AttemptPhase, PhaseRow>;

/** Rows that replace columns of {@link phaseTable} where the phase alone does not decide. */
export const variantTable = {
  /** A two-phase sale that waits for the decision about its goods. */
  approved: { of: "sent", status: "Approved" },
  /** The outcome of a cancel or refund at the gateway is not known. */
  "return-open": {
    of: "charged",
    reversal: "GATEWAY_OPERATION_OPEN",
    gateway: "GATEWAY_OPERATION_OPEN",
    archive: "never",
  },
  /** An operator's finding, which the operator may correct once by a second finding. */
  "settled charged": { of: "charged", settle: ["not-charged"] },
  "settled not-charged": { of: "not-charged", settle: ["charged"] },
  "part-returned": { of: "charged", reversal: "REVERSAL_REFUSED" },
  returned: {
    of: "charged",
    charged: "no",
    status: "Reversed",
    repeat: "ORDER_REVERSED",
    reversal: "answer",
    gateway: "ORDER_REVERSED",
  },
} as const satisfies Record<string, Partial<PhaseRow> & { readonly of: AttemptPhase }>;

/** Returns an attempt's row of the phase table; the attempt's variant replaces some columns. */
export function rowOf(attempt: Attempt): PhaseRow {
  const variant = variantOf(attempt);
  return { ...phaseTable[attempt.state.phase], ...(variant && variantTable[variant]) };
}

function variantOf(attempt: Attempt): keyof typeof variantTable | undefined {
  const { state, openReturn, returnedSome, returnedMinor } = attempt;
  if (isApproved(state)) return "approved";
  if (isCharged(state)) {
    if (openReturn) return "return-open";
    const isWhole = returnedMinor >= returnableMinorOf(attempt);
    if (returnedSome) return isWhole ? "returned" : "part-returned";
  }
  if (!("settled" in state) || state.settled?.corrected !== false) return undefined;
  return isCharged(state) ? "settled charged" : "settled not-charged";
}

export function chargedOf(attempt: Attempt): Charged {
  return rowOf(attempt).charged;
}

/**
 * Returns what the terminal or an operator says was charged, in minor units, whatever was paid back
 * since: null while that is unknown, 0 when nothing was charged (docs/rules/24-amount.md).
 */
export function chargedMinorOf(attempt: Attempt): number | null {
  const { state } = attempt;
  if (phaseTable[state.phase].open !== null) return null;
  return isNotCharged(state) ? 0 : (saleOf(state)?.report.amountMinor ?? null);
}

export function isRunning(state: AttemptState): state is SentState | ReversingState {
  return phaseTable[state.phase].open === "running";
}

/** Whether only the terminal or an operator can find out if money moved in the attempt. */
export function isInDoubt(state: AttemptState): state is InDoubtState | ReversalInDoubtState {
  return phaseTable[state.phase].open === "doubt";
}

/** Returns which command runs or is in doubt. */
export const inDoubtOf = (state: AttemptState) => ("sale" in state ? "reversal" : "payment");

/** Returns what is not known while a command runs or is in doubt. */
export const unknownText = (state: AttemptState): string =>
  inDoubtOf(state) === "reversal" ? reversalUnknown : errorTable.PAYMENT_UNKNOWN.meaning;

export function phasesWith(has: (row: PhaseRow) => boolean): AttemptPhase[] {
  const phases = Object.keys(phaseTable) as AttemptPhase[];
  return phases.filter((phase) => has(phaseTable[phase]));
}

/** Returns an attempt's event, which differs whenever the answer does; `limitMs`: as it begins. */
export function paymentEventOf(attempt: Attempt, limitMs?: number): EventData<"payment"> {
  const { request, state, startedAtMs } = attempt;
  const { charged, status } = rowOf(attempt);
  const { endsAtMs, ms } = isApproved(state)
    ? { endsAtMs: state.goods.decideByMs, ms: (request.delivery?.withinSeconds ?? 0) * 1000 }
    : { endsAtMs: limitMs && startedAtMs + limitMs, ms: limitMs ?? 0 };
  return {
    orderId: request.orderId,
    transactionId: attempt.transactionId,
    attempt: attempt.number,
    state: status === "Reversed" ? "reversed" : stateOf(state),
    charged,
    error: isNotCharged(state) ? codeOf(state.outcome) : null,
    amountMinor: request.amountMinor,
    chargedAmountMinor: chargedMinorOf(attempt),
    currency: request.currency.alpha,
    ...timeLeft(endsAtMs, (endsAtMs ?? 0) - ms),
  };
}

function stateOf(state: AttemptState): EventData<"payment">["state"] {
  if (isPaying(state)) return isApproved(state) ? "approved" : "running";
  return isNotCharged(state) ? state.outcome.status : state.phase;
}

/** The alarm about an order that recovery could not settle; an operator's settlement ends it. */
export const PAYMENT_UNKNOWN = "payment-unknown";

/** The name of the alarm that goods came out of an order that is not charged for certain. */
export const UNPAID_GOODS = "delivered-without-charge";

/** The name of the alarm that money was paid back twice: at the terminal and at the gateway. */
export const RETURNED_TWICE = "returned-twice";

/** Whether a sale was reversed and refunded at the gateway, too (docs/rules/27-both-sides.md). */
export function isReturnedTwice({ state, returnedSome }: Attempt): boolean {
  return isReversed(state) && returnedSome;
}

/** Raises the alarm that money was paid back twice: a person has to compare both repayments. */
export function alarmReturnedTwice(log: AlarmLog, attempt: Attempt): void {
  const { transactionId, request, state, returnedMinor } = attempt;
  const { orderId, currency } = request;
  const atTerminal = (isReversed(state) && state.sale.report.amountMinor) || request.amountMinor;
  const major = (minor: number): string =>
    minor === 0
      ? "an unknown amount"
      : `${formatMajor(minor, currency.exponent)} ${currency.alpha}`;
  log.error(
    { alarm: RETURNED_TWICE, transactionId, orderId, atTerminal, atGateway: returnedMinor },
    `order ${orderId} was paid back at the terminal, ${major(atTerminal)}, and at the ` +
      `gateway, ${major(returnedMinor)}: this is right only if the gateway's record was mended ` +
      "after the reversal; otherwise the customer has the money twice",
  );
}
