import { type AttemptState, endReportOf, isCharged, isNotCharged, saleOf } from "./payment.ts";
import { phaseTable } from "./phase-table.ts";
import type { LedgerEntry } from "./reconciliation.ts";

type Outcome = Pick<
  LedgerEntry,
  "charged" | "told" | "by" | "chargedMinor" | "receiptNumber" | "reversalReceipt"
>;

/** The end of an attempt as a comparison needs it (docs/design.md 3.18). */
export function ledgerOutcomeOf(state: AttemptState, askedMinor: number): Outcome {
  const sale = saleOf(state);
  const reversal = isCharged(state) ? undefined : endReportOf(state);
  return {
    charged: phaseTable[state.phase].charged,
    told: isNotCharged(state) ? state.outcome.status : null,
    by: sale?.by ?? null,
    chargedMinor: sale ? (sale.report.amountMinor ?? askedMinor) : null,
    receiptNumber: sale?.report.receiptNumber ?? null,
    reversalReceipt: reversal?.originalTrace ? reversal.receiptNumber : null,
  };
}
