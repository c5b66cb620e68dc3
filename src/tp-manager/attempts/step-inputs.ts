import type { Transaction } from "../../shared/transaction.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import {
  type AttemptState,
  type AttemptStep,
  bareReport,
  type Detail,
  lastReportOf,
  type PaymentRequest,
} from "./payment.ts";

/** The attempt that a step belongs to. */
export interface StepPlace {
  readonly request: PaymentRequest;
  /** The journal's present state: it has what a step of an older version did not keep. */
  readonly final: AttemptState;
  /** The transaction that was handed off or imported. */
  readonly handedOver: () => Transaction | null;
}

/** The members of an input that steps did not keep before they had a version. Pure. */
export function restOfOld({ kind, detail }: AttemptStep, at: StepPlace): Detail {
  switch (kind) {
    case "approved":
      return { decideByMs: Date.parse(String(detail["decideBy"])) };
    case "goods-decided": {
      const { why: _, ...decision } = detail;
      return { decision };
    }
    case "recovery-charged":
    case "recovery-reversed":
      return { report: foundIn(detail, at) };
    case "reversal-begins":
      return { baseline: detail["baseline"] ?? baselineOf(at.final) };
    case "settled-by-operator":
      return {
        outcome: String(detail["outcome"]).replace("_", "-"),
        report: finalReport(at),
      };
    case "taken-over":
      return { transaction: at.handedOver() };
    case "charged-late":
    case "doubted-late":
    case "found-reversed":
    case "told-late":
      return { because: "" };
    default:
      return {};
  }
}

/** The transaction that was found; where the step did not keep it, that of the final state. */
function foundIn({ observation }: Detail, at: StepPlace): TransactionReport {
  const look = observation as { readonly last?: { readonly report?: TransactionReport } } | null;
  return look?.last?.report ?? finalReport(at);
}

function finalReport({ final, request }: StepPlace): TransactionReport {
  return lastReportOf(final) ?? bareReport(request.currency, request.amountMinor);
}

/** A baseline that was not kept. */
export const nothingKnown = {
  identity: { serialNumber: "", deviceId: "", terminalId: "", version: "" },
  last: { kind: "none" },
  clockOffsetMs: null,
} as const;

/** Only a reversal whose end is open keeps what the terminal looked like before it. */
function baselineOf(state: AttemptState) {
  return "sale" in state && "baseline" in state ? state.baseline : nothingKnown;
}
