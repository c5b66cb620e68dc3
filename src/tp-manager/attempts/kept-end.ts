import { invariant } from "../../shared/invariant.ts";
import type { Currency } from "../../shared/money.ts";
import {
  type AttemptState,
  bareReport,
  type ChargedBy,
  endReportOf,
  isCharged,
  isNotCharged,
  type NotChargedState,
  notCharged,
  saleOf,
} from "./payment.ts";
import { phaseTable } from "./phase-table.ts";

/** Warning in place of what the archive does not keep; a page shows it by name. */
export const ARCHIVED =
  "the order is in the archive: receipt, ticket, basket and customer are gone";

/** The facts that the archive keeps of an attempt's end. */
export type KeptEnd =
  | {
      readonly phase: "charged" | "reversed";
      readonly by: ChargedBy;
      /** Less than was asked for when only a part of the goods came out. */
      readonly chargedMinor: number | null;
      /** Given back at the gateway. */
      readonly returnedMinor: number;
    }
  | NotChargedState;

/** Throws {@link BrokenInvariant} for an attempt that has not ended. */
export function keptEnd(state: AttemptState, returnedMinor: number): KeptEnd {
  // The evidence behind an operator's finding is not kept.
  if (isNotCharged(state)) return notCharged(state.outcome);
  const sale = saleOf(state);
  const report = endReportOf(state);
  invariant(sale && report, `an attempt that is ${state.phase} is never archived`);
  return {
    phase: isCharged(state) ? "charged" : "reversed",
    by: sale.by,
    chargedMinor: report.amountMinor,
    returnedMinor,
  };
}

/** The state as far as it was kept: amounts and outcome, no receipt. */
export function stateOfKept(end: KeptEnd, currency: Currency): AttemptState {
  if (end.phase === "not-charged") return end;
  const report = bareReport(currency, end.chargedMinor);
  const sale = { report, by: end.by };
  return end.phase === "charged"
    ? { phase: "charged", ...sale }
    : { phase: "reversed", sale, report };
}

/** Given back at the gateway, minor units. */
export function returnedOfKept(end: KeptEnd): number {
  return end.phase === "not-charged" ? 0 : end.returnedMinor;
}

/** The end of an attempt as a comparison needs it (docs/rules/18-totals.md). */
export function ledgerOutcomeOf(state: AttemptState, askedMinor: number) {
  const sale = saleOf(state)?.report;
  const reversal = isCharged(state) ? undefined : endReportOf(state);
  return {
    charged: phaseTable[state.phase].charged,
    told: isNotCharged(state) ? state.outcome.status : null,
    chargedMinor: sale ? (sale.amountMinor ?? askedMinor) : null,
    receiptNumber: sale?.receiptNumber ?? null,
    reversalReceipt: reversal?.originalTrace ? reversal.receiptNumber : null,
  };
}
