import { AppError } from "../../shared/errors.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import { AttemptWriter, type WriterParts } from "../attempts/attempt-writer.ts";
import { bareReport } from "../attempts/bare-report.ts";
import { type Attempt, chargedOf, type PaymentRequest } from "../attempts/payment.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { PaymentResult, PaymentService } from "./payment-service.ts";

/** What an operator may find out about an order in doubt. */
export const settlements = ["charged", "not_charged", "reversed"] as const;
export type Settlement = (typeof settlements)[number];

/**
 * Settles an order that recovery could not (docs/design.md 1.2, 3.8): by an operator's word, with a
 * note, never by itself. A sale settled as charged is handed to the supervisor like any other.
 * Throws NOTHING_TO_SETTLE when the order is not in doubt, or not in that kind of doubt.
 */
export function settleByOperator(
  payments: PaymentService,
  parts: WriterParts,
  word: { readonly orderId: string; readonly outcome: Settlement; readonly note: string },
): Promise<PaymentResult> {
  const attempt = payments.latest(word.orderId);
  const { phase } = attempt.state;
  const possible =
    (phase === "in-doubt" && word.outcome !== "reversed") ||
    (phase === "reversal-in-doubt" && word.outcome !== "not_charged");
  if (!possible) {
    throw new AppError("NOTHING_TO_SETTLE", undefined, { charged: chargedOf(attempt.state) });
  }
  const outcome = word.outcome === "not_charged" ? "not-charged" : word.outcome;
  const report = reportOf(attempt);
  const writer = new AttemptWriter(attempt, parts);
  const settled = payments.writing(() =>
    writer.advance({ input: "settled", outcome, report }, "settled-by-operator", {
      outcome: word.outcome,
      note: word.note,
    }),
  );
  writer.log("warn", { outcome: word.outcome, note: word.note }, "settled by an operator");
  payments.handOver();
  return payments.result(settled, false, 0);
}

/** What the terminal reported of it, if it did; else what was asked, with nothing made up. */
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
