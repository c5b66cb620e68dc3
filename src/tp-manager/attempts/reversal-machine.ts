import type { PaymentEnd, TransactionReport } from "../terminal/terminal.ts";
import { type AttemptInput, impossible } from "./attempt-input.ts";
import { compareReports, haveMoments, namesTrace } from "./comparison.ts";
import {
  type AttemptState,
  type ChargedState,
  earlierAckOf,
  isPassedOn,
  type JudgedReport,
  type Judgement,
  nextReport,
  type ReversalInDoubtState,
  type ReversingState,
  whyInDoubt,
} from "./payment.ts";

/**
 * Returns the next state of the reversal of a charged sale (docs/rules/07-returns.md). Pure.
 *
 * A *charged* attempt becomes *reversing*: this state is both the reservation and the write-ahead
 * record, on disk before the command is sent. A good report for the sale's amount followed by a
 * good completion makes the attempt *reversed*, for ever; so does the terminal's report that the
 * sale had been reversed before. When the terminal reports that it did not reverse, the attempt is
 * charged again. Every other outcome makes it *reversal-in-doubt*: the order is unknown until
 * recovery proves its state or an operator settles it. A reversal in doubt is never sent again.
 */
export function advanceReversal(
  state: ChargedState | ReversingState | ReversalInDoubtState,
  input: AttemptInput,
): AttemptState {
  switch (state.phase) {
    case "charged":
      return advanceCharged(state, input);
    case "reversing":
      return advanceReversing(state, input);
    case "reversal-in-doubt":
      if (input.input === "proved-reversed") {
        return { phase: "reversed", sale: state.sale, report: input.report };
      }
      if (input.input === "proved-not-reversed") return { phase: "charged", ...state.sale };
      if (input.input === "proved-requested") return { ...state, requested: true };
      if (input.input !== "settled" || input.outcome === "not-charged") break;
      // The return of a reversal that was passed on is the gateway's, and noted with the charge.
      if (input.outcome === "charged" || isPassedOn(state)) {
        return { phase: "charged", ...state.sale };
      }
      return { phase: "reversed", sale: state.sale, report: input.report };
  }
  throw impossible(state, input);
}

function advanceCharged(state: ChargedState, input: AttemptInput): AttemptState {
  const { phase: _, ...sale } = state;
  switch (input.input) {
    case "reverse": {
      const { baseline, reference } = input;
      const named = reference === undefined ? {} : { reference };
      return { phase: "reversing", sale, baseline, last: null, ...named };
    }
    case "found-reversed":
      return { phase: "reversed", sale, report: input.report };
    default:
      throw impossible(state, input);
  }
}

function advanceReversing(state: ReversingState, input: AttemptInput): AttemptState {
  const { last } = state;
  switch (input.input) {
    case "report":
      return {
        ...state,
        ...earlierAckOf(state),
        last: nextReport(last, input.report, input.judgement),
      };
    case "acknowledged":
      return { ...state, last: last && { ...last, acknowledged: true } };
    case "interrupted":
      return {
        ...inDoubt(state, "reversal-interrupted"),
        ...(input.unwritten && last?.report.good && !last.acknowledged
          ? { perhapsTaken: true }
          : {}),
      };
    case "end":
      return endOf(state, input.end);
    default:
      throw impossible(state, input);
  }
}

function endOf(state: ReversingState, end: PaymentEnd): AttemptState {
  const { last, sale } = state;
  const notReversed = last === null || last.judgement === "not-good";
  if (notReversed && saysReversedBefore(last, end)) {
    return { phase: "reversed", sale, report: sale.report };
  }
  switch (end.end) {
    case "completed":
      if (last?.judgement === "agrees") return { phase: "reversed", sale, report: last.report };
      if (last?.judgement === "not-good") return { phase: "charged", ...sale };
      return inDoubt(state, "reversal-unreported");
    case "not-sent":
    case "withdrawn":
    case "refused":
    case "aborted":
      if (notReversed) return { phase: "charged", ...sale };
      return {
        ...inDoubt(state, "reversal-without-command", end.text),
        ...(end.end === "aborted" ? { heardBad: true } : {}),
      };
    case "lost":
      return {
        ...inDoubt(state, "lost", end.text),
        ...(end.code === "requested" ? { requested: true } : {}),
      };
  }
}

/**
 * Whether the terminal reports that the sale had been reversed before. A reversal is sent only
 * while its receipt number names this sale alone (docs/rules/16-fresh.md), so the terminal means
 * this sale. If the sale stayed charged, the gateway could refund it a second time.
 */
export function saysReversedBefore(last: JudgedReport | null, end: PaymentEnd): boolean {
  const said = [last?.report.reason, "reason" in end ? end.reason : undefined];
  return end.end !== "lost" && said.includes("already-reversed");
}

function inDoubt(
  { phase: _, ...kept }: ReversingState,
  ...why: Parameters<typeof whyInDoubt>
): ReversalInDoubtState {
  return { phase: "reversal-in-doubt", ...kept, why: whyInDoubt(...why) };
}

/** Judges whether a report is the reversal of this sale (docs/rules/16-fresh.md). */
export function judgeReversal(sale: TransactionReport, report: TransactionReport): Judgement {
  if (report.resultCode === null) return "no-result";
  if (!report.good) return "not-good";
  const agrees = report.amountMinor === sale.amountMinor && !namesAnother(sale, report);
  return agrees && !isSaleItself(sale, report) ? "agrees" : "disagrees";
}

/** Whether the report only repeats the sale, with its numbers and time, and is no reversal. */
function isSaleItself(sale: TransactionReport, report: TransactionReport): boolean {
  const isUnnamed = report.originalTrace === null && haveMoments(sale, report);
  return isUnnamed && compareReports(sale, report) === "same";
}

/** Whether a stored transaction is a reversal that names exactly this sale as its original. */
export function givesBack(sale: TransactionReport, report: TransactionReport): boolean {
  const named = report.originalTrace !== null && sale.traceNumber !== null;
  return named && judgeReversal(sale, report) === "agrees";
}

function namesAnother(sale: TransactionReport, report: TransactionReport): boolean {
  const { originalTrace } = report;
  const isNamed = originalTrace !== null && sale.traceNumber !== null;
  const anotherTrace = isNamed && !namesTrace(originalTrace, sale.traceNumber);
  return anotherTrace || anotherCard(sale, report);
}

/** Whether two masked card numbers differ in a digit that both masks leave readable. */
function anotherCard({ maskedPan: a }: TransactionReport, { maskedPan: b }: TransactionReport) {
  const mask = [...(a ?? "")].reverse();
  const other = [...(b ?? "")].reverse();
  const isDigit = (character: string | undefined): boolean => /^\d$/.test(character ?? "");
  // With masks of different lengths, only the last digits of the card numbers can be compared.
  const end = a?.length === b?.length ? mask.length : CARD_END;
  return mask
    .slice(0, end)
    .some((digit, at) => isDigit(digit) && isDigit(other[at]) && digit !== other[at]);
}

/** The number of digits at the end of a card number that masks leave readable. */
const CARD_END = 4;
