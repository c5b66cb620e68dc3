import { AppError } from "../../shared/catalog/errors.ts";
import { formatMajor } from "../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { invalid } from "../attempts/failures.ts";
import {
  type Attempt,
  bareReport,
  type InDoubtState,
  type PaymentRequest,
} from "../attempts/payment.ts";
import { rowOf, type Settled } from "../attempts/phase-table.ts";
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

function possibleText(settle: readonly Settled[]): string | undefined {
  const possible = settlements.filter((one) => settle.includes(findings[one]));
  if (possible.length === 0) return undefined;
  const listed = possible.join(", ");
  return `That outcome is not possible for what is in doubt here; possible: ${listed}.`;
}

/** Returns the report that is stored with a settled attempt. Throws for an impossible amount. */
function reportOf(
  { state, request }: Attempt,
  outcome: Settlement,
  amountMinor: number | undefined,
): TransactionReport {
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
  const open = "settled" in state ? state.settled?.doubt : state;
  const evidence = open && "last" in open ? open : { last: null, goods: null };
  return chargedReport(evidence, request, amountMinor);
}

/** Returns the terminal's report with the settled amount, or makes a report with this amount. */
function chargedReport(
  { last, goods }: Pick<InDoubtState, "last" | "goods">,
  request: PaymentRequest,
  amountMinor: number | undefined,
): TransactionReport {
  // A report that disagreed with the request may be of another sale, so only its amount counts.
  const agreed = last?.judgement === "agrees" ? last.report : undefined;
  const reports = [agreed, goods?.approved].filter((report) => report !== undefined);
  const decision = goods?.decision;
  const expected = decision?.goods === "partly-issued" ? decision.amountMinor : request.amountMinor;
  const isSure = agreed?.amountMinor === expected;
  const heard = [...reports, ...(last?.report.good ? [last.report] : [])];
  const amounts = isSure ? [expected] : [expected, ...heard.map((one) => one.amountMinor ?? 0)];
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
  const possible = [...new Set(amounts)].filter((amount) => amount > 0).toSorted((a, b) => a - b);
  const [only, ...others] = possible;
  if (only !== undefined && others.length === 0) return only;
  const listed = possible.map((amount) => major(amount, request)).join(" or ");
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
