import type { ErrorCode } from "../../shared/errors.ts";
import { BrokenInvariant, unreachable } from "../../shared/invariant.ts";
import type { AbortReason, PaymentEnd, TransactionReport } from "../terminal/terminal.ts";
import type { AttemptState, JudgedReport, Judgement, NotCharged } from "./payment.ts";

/**
 * What can happen to a payment attempt. Pure: no I/O, no time.
 *
 * An attempt begins as *sent*: the write-ahead record is on disk and the financial command may have
 * left. While it is sent the terminal reports results, any number of them; the last one is kept
 * with what it is worth and whether our acknowledgement has arrived. Only the terminal's own end
 * finishes it: *charged* when a good report for exactly what was asked is followed by a good
 * completion, *not-charged* when the terminal says so without ever having said the opposite,
 * *in-doubt* in every other case, and whenever the end is not heard: link lost, process gone.
 * An attempt in doubt leaves that state only by evidence: recovery proves charged or not charged.
 * Charged and not-charged are final here. Every pair of state and event that is not described
 * above is a fault of this program and stops it.
 */
export type AttemptInput =
  | { readonly input: "report"; readonly report: TransactionReport; readonly judgement: Judgement }
  | { readonly input: "acknowledged" }
  | { readonly input: "end"; readonly end: PaymentEnd }
  /** The process that ran the attempt is gone; found at start. */
  | { readonly input: "interrupted" }
  | { readonly input: "proved-charged"; readonly report: TransactionReport }
  | { readonly input: "proved-not-charged"; readonly message: string };

export function advance(state: AttemptState, input: AttemptInput): AttemptState {
  switch (state.phase) {
    case "sent":
      return advanceSent(state.last, input);
    case "in-doubt":
      return advanceInDoubt(input);
    case "charged":
    case "not-charged":
      throw new BrokenInvariant(`an attempt that is ${state.phase} got ${input.input}`);
  }
}

function advanceSent(last: JudgedReport | null, input: AttemptInput): AttemptState {
  switch (input.input) {
    case "report":
      return { phase: "sent", last: nextReport(last, input.report, input.judgement) };
    case "acknowledged":
      return { phase: "sent", last: last && { ...last, acknowledged: true } };
    case "end":
      return endOf(last, input.end);
    case "interrupted":
      return { phase: "in-doubt", why: "the connector stopped while the payment ran", last };
    case "proved-charged":
    case "proved-not-charged":
      throw new BrokenInvariant(`a running attempt got ${input.input}`);
  }
}

function advanceInDoubt(input: AttemptInput): AttemptState {
  switch (input.input) {
    case "proved-charged":
      return { phase: "charged", report: input.report, by: "recovery" };
    case "proved-not-charged":
      return {
        phase: "not-charged",
        outcome: {
          status: "failed",
          error: "TERMINAL_FAULT",
          message: input.message,
          terminalCode: null,
        },
      };
    case "report":
    case "acknowledged":
    case "end":
    case "interrupted":
      throw new BrokenInvariant(`an attempt in doubt got ${input.input}`);
  }
}

/**
 * The last report counts (zvt.md 6.2), with one exception: after a good one, whatever it was worth,
 * a later report cannot make the attempt simply not charged. Then the worse judgement stays and the
 * terminal's storage decides (DESIGN 3.1 rule 4).
 */
function nextReport(
  last: JudgedReport | null,
  report: TransactionReport,
  judgement: Judgement,
): JudgedReport {
  const contradicted = last?.report.good && !report.good;
  if (contradicted || last?.judgement === "disagrees") {
    return { report, judgement: "disagrees", acknowledged: false };
  }
  return { report, judgement, acknowledged: false };
}

function endOf(last: JudgedReport | null, end: PaymentEnd): AttemptState {
  const doubt = (why: string): AttemptState => ({ phase: "in-doubt", why, last });
  switch (end.end) {
    case "not-sent":
    case "refused":
      if (last) return doubt(`the terminal reported a result and then: ${end.text}`);
      return {
        phase: "not-charged",
        outcome: {
          status: "failed",
          error: end.end === "refused" ? "TERMINAL_REFUSED" : "TERMINAL_DISCONNECTED",
          message: end.text,
          terminalCode: end.code,
        },
      };
    case "completed":
      return completed(last, doubt);
    case "aborted":
      return aborted(last, end, doubt);
    case "lost":
      return doubt(end.text);
  }
}

function completed(last: JudgedReport | null, doubt: (why: string) => AttemptState): AttemptState {
  if (!last) return doubt("the terminal ended the payment as good without reporting a result");
  switch (last.judgement) {
    case "agrees":
      return { phase: "charged", report: last.report, by: "payment" };
    case "not-good":
      return { phase: "not-charged", outcome: notCharged(last.report.reason, last.report) };
    case "disagrees":
      return doubt("the terminal's reports do not agree with what was asked or with each other");
    case "no-result":
      return doubt("the terminal reported no result code");
  }
}

function aborted(
  last: JudgedReport | null,
  end: Extract<PaymentEnd, { end: "aborted" }>,
  doubt: (why: string) => AttemptState,
): AttemptState {
  if (!last) {
    return {
      phase: "not-charged",
      outcome: notCharged(end.reason, { resultCode: end.code, resultText: end.text }),
    };
  }
  switch (last.judgement) {
    case "not-good":
      return {
        phase: "not-charged",
        outcome: notCharged(last.report.reason ?? end.reason, last.report),
      };
    case "agrees":
      return doubt(`the terminal approved and then ended with ${end.code}: ${end.text}`);
    case "disagrees":
    case "no-result":
      return doubt(`the terminal's report is not clear and it ended with ${end.code}: ${end.text}`);
  }
}

function notCharged(
  reason: AbortReason | null,
  said: Pick<TransactionReport, "resultCode" | "resultText">,
): NotCharged {
  const [status, error] = outcomeOf(reason ?? "terminal-fault");
  return { status, error, message: said.resultText, terminalCode: said.resultCode };
}

function outcomeOf(reason: AbortReason): [NotCharged["status"], ErrorCode] {
  switch (reason) {
    case "declined":
      return ["declined", "PAYMENT_DECLINED"];
    case "cancelled":
      return ["cancelled", "PAYMENT_CANCELLED"];
    case "customer-timeout":
      return ["cancelled", "CUSTOMER_TIMEOUT"];
    case "terminal-fault":
      return ["failed", "TERMINAL_FAULT"];
    default:
      return unreachable(reason);
  }
}

/**
 * What a report is worth for an order (DESIGN 3.1 rule 4). A terminal that names no currency means
 * the one it was asked for only when that is the euro (zvt.md 4.2).
 */
export function judgeReport(
  order: { readonly amountMinor: number; readonly currencyNumeric: string },
  report: TransactionReport,
): Judgement {
  if (report.resultCode === null) return "no-result";
  if (!report.good) return "not-good";
  const agrees =
    report.amountMinor === order.amountMinor &&
    (report.currencyNumeric ?? EURO) === order.currencyNumeric &&
    report.originalTrace === null;
  return agrees ? "agrees" : "disagrees";
}

const EURO = "978";
