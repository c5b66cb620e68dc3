import type { PaymentEnd, TransactionReport } from "../terminal/terminal.ts";
import { type AttemptInput, impossible } from "./attempt-input.ts";
import type {
  AttemptState,
  ChargedState,
  JudgedReport,
  Judgement,
  ReversalInDoubtState,
  ReversingState,
} from "./payment.ts";

/**
 * The return of a charged sale (docs/design.md 3.7). Pure.
 *
 * A *charged* attempt becomes *reversing*: that is the reservation and the write-ahead record in
 * one, on disk before the command leaves. A good report for the sale's amount followed by a good
 * completion makes it *reversed*, for ever. When the terminal says that it did not reverse, the
 * attempt is charged as before. Everything else is *reversal-in-doubt*: the order is unknown until
 * recovery proves one or the other, or an operator settles it. A reversal in doubt is never sent
 * again.
 */
export function advanceReversal(
  state: ChargedState | ReversingState | ReversalInDoubtState,
  input: AttemptInput,
): AttemptState {
  switch (state.phase) {
    case "charged": {
      if (input.input !== "reverse") throw impossible(state, input);
      const { phase: _, ...sale } = state;
      return { phase: "reversing", sale, baseline: input.baseline, last: null };
    }
    case "reversing":
      return advanceReversing(state, input);
    case "reversal-in-doubt":
      if (input.input === "proved-reversed") {
        return { phase: "reversed", sale: state.sale, report: input.report };
      }
      if (input.input === "proved-not-reversed") return { phase: "charged", ...state.sale };
      if (input.input === "settled" && input.outcome === "charged") {
        return { phase: "charged", ...state.sale };
      }
      if (input.input === "settled" && input.outcome === "reversed") {
        return { phase: "reversed", sale: state.sale, report: input.report };
      }
      throw impossible(state, input);
  }
}

function advanceReversing(state: ReversingState, input: AttemptInput): AttemptState {
  const { last } = state;
  switch (input.input) {
    case "report":
      return { ...state, last: nextReport(last, input.report, input.judgement) };
    case "acknowledged":
      return { ...state, last: last && { ...last, acknowledged: true } };
    case "interrupted":
      return inDoubt(state, "the connector stopped while the reversal ran");
    case "end":
      return endOf(state, input.end);
    default:
      throw impossible(state, input);
  }
}

/** As in a payment: what was once good cannot simply become not good. */
function nextReport(
  last: JudgedReport | null,
  report: TransactionReport,
  judgement: Judgement,
): JudgedReport {
  const worse = (last?.report.good && !report.good) || last?.judgement === "disagrees";
  return { report, judgement: worse ? "disagrees" : judgement, acknowledged: false };
}

function endOf(state: ReversingState, end: PaymentEnd): AttemptState {
  const { last, sale } = state;
  const notReversed = last === null || last.judgement === "not-good";
  switch (end.end) {
    case "completed":
      if (last?.judgement === "agrees") return { phase: "reversed", sale, report: last.report };
      if (last?.judgement === "not-good") return { phase: "charged", ...sale };
      return inDoubt(state, "the terminal ended the reversal without a clear report");
    case "not-sent":
    case "withdrawn":
    case "refused":
    case "aborted":
      if (notReversed) return { phase: "charged", ...sale };
      return inDoubt(state, `the terminal reported a reversal and then: ${end.text}`);
    case "lost":
      return inDoubt(state, end.text);
  }
}

function inDoubt({ sale, baseline, last }: ReversingState, why: string): AttemptState {
  return { phase: "reversal-in-doubt", sale, baseline, last, why };
}

/** Judges the worth of a report for the reversal of a sale. */
export function judgeReversal(sale: TransactionReport, report: TransactionReport): Judgement {
  if (report.resultCode === null) return "no-result";
  if (!report.good) return "not-good";
  const namesAnother =
    report.originalTrace !== null &&
    sale.traceNumber !== null &&
    report.originalTrace !== sale.traceNumber;
  const agrees = report.amountMinor === sale.amountMinor && !namesAnother;
  return agrees ? "agrees" : "disagrees";
}
