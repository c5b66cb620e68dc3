import { AppError } from "../../shared/errors.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import { bareReport } from "../attempts/bare-report.ts";
import { type Attempt, chargedOf, type PaymentRequest } from "../attempts/payment.ts";
import type { TerminalDesk } from "../desk/terminal-desk.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { Orders, PaymentResult } from "./orders.ts";

/** Findings of an operator about an order in doubt. */
export const settlements = ["charged", "not_charged", "reversed"] as const;
type Settlement = (typeof settlements)[number];

export interface SettlementWord {
  readonly orderId: string;
  readonly outcome: Settlement;
  readonly note: string;
}

/**
 * Settles an order that recovery could not (docs/design.md 1.2, 3.8): by an operator's word, with a
 * note, never by itself. A sale settled as charged is handed to the supervisor like any other.
 * Throws NOTHING_TO_SETTLE when the order is not in doubt, or not in that kind of doubt.
 */
export function settleByOperator(
  { orders, desk }: { readonly orders: Orders; readonly desk: Pick<TerminalDesk, "settle"> },
  { orderId, outcome, note }: SettlementWord,
): Promise<PaymentResult> {
  const attempt = orders.latest(orderId);
  const { phase } = attempt.state;
  const possible =
    (phase === "in-doubt" && outcome !== "reversed") ||
    (phase === "reversal-in-doubt" && outcome !== "not_charged");
  if (!possible) {
    throw new AppError("NOTHING_TO_SETTLE", undefined, { charged: chargedOf(attempt.state) });
  }
  const found = outcome === "not_charged" ? "not-charged" : outcome;
  const report = reportOf(attempt);
  const settled = desk.settle(attempt, { outcome: found, report }, { outcome, note });
  return orders.result(settled, false, 0);
}

/** The terminal's report of the sale, if there is one; else what was asked, nothing made up. */
function reportOf({ state, request }: Attempt): TransactionReport {
  if (state.phase === "reversal-in-doubt") return state.last?.report ?? state.sale.report;
  if (state.phase === "in-doubt" && state.last?.judgement === "agrees") return state.last.report;
  return reportFrom(request);
}

function reportFrom({ amountMinor, currency }: PaymentRequest): TransactionReport {
  const amount = String(amountMinor).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const bare = bareReport(currency, amountMinor);
  const receipt = { ...bare.receipt, amount, inclusiveAmount: amount };
  return { ...bare, resultText: "settled by an operator", receipt };
}
