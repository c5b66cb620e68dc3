import { invariant } from "../../shared/invariant.ts";
import type { Currency } from "../../shared/money.ts";
import { bareReport } from "./bare-report.ts";
import {
  type AttemptState,
  type ChargedBy,
  endReportOf,
  isCharged,
  isNotCharged,
  type NotChargedState,
  notCharged,
  saleOf,
} from "./payment.ts";

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
  // The evidence of an operator's word is not kept.
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
