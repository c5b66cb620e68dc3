import { AppError } from "../../shared/catalog/errors.ts";
import { formatMajor } from "../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { invalid } from "../attempts/failures.ts";
import {
  bareReport,
  currencyNumericOf,
  type InDoubtState,
  type PaymentRequest,
} from "../attempts/payment.ts";
import { rowOf, type Settled } from "../attempts/phase-table.ts";
import { probesIn } from "../matching/matcher.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { Orders, PaymentResult } from "./orders.ts";

/** The finding about an attempt in doubt for each value of the call's member `outcome`. */
const findings = {
  charged: "charged",
  not_charged: "not-charged",
  reversed: "reversed",
} as const satisfies Record<string, Settled>;
type Settlement = keyof typeof findings;
export const settlements = Object.keys(findings) as Settlement[];

export interface SettlementRequest {
  readonly orderId: string;
  readonly outcome: Settlement;
  readonly note: string;
  readonly attempt?: number | undefined;
  /** The amount that was charged according to the operator, in minor units. */
  readonly amountMinor?: number | undefined;
}

/**
 * Settles an order that recovery could not settle (docs/architecture.md 1.2,
 * docs/rules/08-finished.md), by an operator's finding with a note; a second may correct the first.
 * A sale settled as charged is handed off like any other sale. Throws NOTHING_TO_SETTLE when the
 * outcome is not possible, and REQUEST_INVALID when the amount is not (docs/rules/24-amount.md).
 */
export function settleByOperator(
  { orders, arbiter }: { readonly orders: Orders; readonly arbiter: TerminalArbiter },
  { orderId, outcome, note, attempt: number, amountMinor }: SettlementRequest,
): Promise<PaymentResult> {
  const attempt = orders.toSettle(orderId, number);
  const found = findings[outcome];
  const { charged, settle } = rowOf(attempt);
  if (!settle.includes(found)) {
    throw new AppError("NOTHING_TO_SETTLE", possibleText(settle), { charged });
  }
  if (outcome !== "charged" && amountMinor !== undefined) {
    throw wrongAmount("is given with the outcome charged only");
  }
  const report = reportOf(attempt, outcome, amountMinor);
  const amount = amountMinor === undefined ? {} : { amountMinor };
  arbiter.settle(attempt, { outcome: found, report, note, ...amount });
  return orders.result(orders.decisive(orderId, true), false, 0);
}

/** What an operator can decide about an order now. */
interface PossibleSettlement {
  readonly attempt: number;
  readonly outcomes: readonly Settlement[];
  /** What can have been charged, in minor units; empty where no amount is asked for. */
  readonly amountsMinor: readonly number[];
  /** For how long (ms) the command can still run, so that a decision is refused. */
  readonly runsForMs: number;
}

/** Returns what an operator can decide about an order; null: nothing. */
export function possibleSettlement(
  { orders, arbiter }: { readonly orders: Orders; readonly arbiter: TerminalArbiter },
  orderId: string,
): PossibleSettlement | null {
  const attempt = orders.toSettle(orderId);
  const { settle } = rowOf(attempt);
  const outcomes = settlements.filter((one) => settle.includes(findings[one]));
  if (outcomes.length === 0) return null;
  const isPayment = outcomes.includes("charged") && !("sale" in attempt.state);
  const amountsMinor = isPayment ? possibleAmounts(evidenceOf(attempt), attempt.request) : [];
  return {
    attempt: attempt.number,
    outcomes,
    amountsMinor,
    runsForMs: arbiter.runsForMs(attempt),
  };
}

function possibleText(settle: readonly Settled[]): string | undefined {
  const possible = settlements.filter((one) => settle.includes(findings[one]));
  if (possible.length === 0) return undefined;
  const listed = possible.join(", ");
  return `That outcome is not possible for what is in doubt here; possible: ${listed}.`;
}

/** Returns the report that is stored with a settled attempt. Throws for an impossible amount. */
function reportOf(
  attempt: ReturnType<Orders["toSettle"]>,
  outcome: Settlement,
  amountMinor: number | undefined,
): TransactionReport {
  const { state, request } = attempt;
  if ("sale" in state) {
    const { report } = state.sale;
    if (amountMinor !== undefined && amountMinor !== report.amountMinor) {
      throw wrongAmount("is not that of the sale");
    }
    const last = "last" in state ? state.last?.report : undefined;
    return last?.good ? last : report; // the report of a refused reversal proves none
  }
  // If an operator found that nothing was charged, the terminal's reports do not count.
  if (outcome !== "charged") return bareReport(request.currency, null);
  return chargedReport(evidenceOf(attempt), request, amountMinor);
}

interface Evidence extends Pick<InDoubtState, "last" | "goods"> {
  /** The approvals that the terminal answered when it was asked by id. */
  readonly recalled: readonly TransactionReport[];
}

function evidenceOf({ state, request, events }: ReturnType<Orders["toSettle"]>): Evidence {
  const open = "settled" in state ? state.settled?.doubt : state;
  const last = open && "last" in open ? open.last : null;
  const goods = open && "goods" in open ? open.goods : null;
  const recalled = probesIn(events)
    .flatMap(({ recalled: answer }) => (answer?.kind === "answered" ? answer.report : []))
    .filter((one) => one.good && currencyNumericOf(one) === request.currency.numeric);
  return { last, goods: goods ?? null, recalled };
}

/** Returns the amounts that can have been charged, in minor units. */
function possibleAmounts({ last, goods, recalled }: Evidence, request: PaymentRequest): number[] {
  const decision = goods?.decision;
  const expected = decision?.goods === "partly-issued" ? decision.amountMinor : request.amountMinor;
  const isSure = last?.judgement === "agrees" && last.report.amountMinor === expected;
  if (isSure) return [expected];
  const heard = [goods?.approved, last?.report.good ? last.report : undefined, ...recalled];
  const amounts = [expected, ...heard.map((one) => one?.amountMinor ?? 0)];
  return [...new Set(amounts)].filter((amount) => amount > 0).toSorted((a, b) => a - b);
}

/** Returns the terminal's report with the settled amount, or makes a report with this amount. */
function chargedReport(
  evidence: Evidence,
  request: PaymentRequest,
  amountMinor: number | undefined,
): TransactionReport {
  const { last, goods } = evidence;
  // A report that disagreed with the request may be of another sale, so only its amount counts.
  const agreed = last?.judgement === "agrees" ? last.report : undefined;
  const reports = [agreed, goods?.approved].filter((report) => report !== undefined);
  const amounts = possibleAmounts(evidence, request);
  const settled = amountMinor ?? onlyOf(amounts, request);
  const most = Math.max(request.amountMinor, ...amounts);
  if (settled < 1 || settled > most) {
    throw wrongAmount(`must be from ${major(1, request)} to ${major(most, request)}`);
  }
  const report = reports.find((one) => one.amountMinor === settled);
  if (report) return report;
  // A report of another amount identifies the sale; the settled amount replaces its amount.
  return withAmount(reports[0] ?? bareReport(request.currency, null), settled);
}

/** Returns the amount if only one is possible; throws REQUEST_INVALID if several are. */
function onlyOf(amounts: readonly number[], request: PaymentRequest): number {
  const [only, ...others] = amounts;
  if (only !== undefined && others.length === 0) return only;
  const listed = amounts.map((amount) => major(amount, request)).join(" or ");
  throw wrongAmount(`must say what was charged: ${listed} is possible`);
}

function withAmount(report: TransactionReport, amountMinor: number): TransactionReport {
  const amount = String(amountMinor).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const receipt = { ...report.receipt, amount, inclusiveAmount: amount };
  const resultText = "settled by an operator";
  return { ...report, amountMinor, resultText, receipt, fallbackTicket: "" };
}

function major(amountMinor: number, { currency }: PaymentRequest): string {
  return formatMajor(amountMinor, currency.exponent);
}

function wrongAmount(message: string): AppError {
  return invalid("amount", message, { charged: "unknown" });
}
