import type { ErrorCode } from "../../shared/catalog/errors.ts";
import type { AbortReason, PaymentEnd, TransactionReport } from "../terminal/terminal.ts";
import { type AttemptInput, impossible } from "./attempt-input.ts";
import { namesAnotherSale } from "./comparison.ts";
import {
  type AttemptState,
  type ChargedState,
  currencyNumericOf,
  earlierAckOf,
  type Goods,
  type InDoubtState,
  isWithheld,
  type JudgedReport,
  type Judgement,
  type NotCharged,
  type NotChargedState,
  nextReport,
  type SentState,
  whyInDoubt,
} from "./payment.ts";
import { namesOurs } from "./reference-policy.ts";
import { advanceReversal } from "./reversal-machine.ts";

/**
 * Returns the next state of a payment attempt after an input (docs/architecture.md 1.4). Pure.
 *
 * While an attempt is *sent*, the terminal may report several results. The last result is stored
 * with its judgement and with whether our ACK has arrived. In a two-phase sale the
 * first good report approves the sale, which then waits for one decision about the goods.
 *
 * Only the terminal's own message ends the attempt: as *charged* when a good report for exactly the
 * requested amount is followed by a good completion, as *not-charged* when the terminal reports a
 * failure and never reported a success (unless we decided that no goods came out), and as
 * *in-doubt* otherwise. An attempt in doubt is settled only by proof or by an operator.
 *
 * Not-charged is final, with two exceptions: an operator may correct an operator's finding once,
 * and a sale that is found in the terminal's storage charges the attempt or puts it in doubt. An
 * input that a state does not describe is a fault of this program and stops it.
 */
export function advance(state: AttemptState, input: AttemptInput): AttemptState {
  if (input.input === "decide-late") return decidedLate(state, input);
  switch (state.phase) {
    case "sent":
      return advanceSent(state, input);
    case "in-doubt":
      return advanceInDoubt(state, input);
    case "charged":
      return input.input === "settled" ? corrected(state, input) : advanceReversal(state, input);
    case "reversing":
    case "reversal-in-doubt":
      return advanceReversal(state, input);
    case "not-charged":
      return advanceNotCharged(state, input);
    case "reversed":
      throw impossible(state, input);
  }
}

function advanceNotCharged(state: NotChargedState, input: AttemptInput): AttemptState {
  const { input: kind } = input;
  switch (kind) {
    case "found-charged":
      return { phase: "charged", report: input.report, by: "recovery", late: true };
    case "found-in-doubt": {
      const { report, judgement = "agrees" } = input;
      const last = { report, judgement, acknowledged: false };
      const why = whyInDoubt(judgement === "agrees" ? "sale-after-end" : "other-sale-after-end");
      return { phase: "in-doubt", why, last, told: state.outcome };
    }
    default:
      return corrected(state, input);
  }
}

function advanceSent(state: SentState, input: AttemptInput): AttemptState {
  const { last, goods } = state;
  switch (input.input) {
    case "report":
      return withReport(state, input.report, input.judgement);
    case "second-sale":
      return { ...state, second: input.report };
    case "hold": {
      if (goods) throw impossible(state, input);
      const { report, decideByMs } = input;
      const held = { approved: report, decideByMs, decision: null };
      return { phase: "sent", last: nextReport(last, report, "agrees"), goods: held };
    }
    case "decide":
      if (!goods || goods.decision) throw impossible(state, input);
      return { ...state, goods: { ...goods, decision: input.decision } };
    case "acknowledged":
      return { ...state, last: last && { ...last, acknowledged: true } };
    case "end":
      return unconfirmed(state, endOf(state, input.end, input.cancelled === true));
    case "interrupted":
      return interrupted(state, input.unwritten === true);
    default:
      throw impossible(state, input);
  }
}

function advanceInDoubt(state: InDoubtState, input: AttemptInput): AttemptState {
  switch (input.input) {
    case "proved-charged":
      return { phase: "charged", report: input.report, by: "recovery", ...beyond(state, input) };
    case "proved-not-charged": {
      const fault = input.report
        ? notCharged(input.report.reason, input.report)
        : outcome("failed", "TERMINAL_FAULT", input.because);
      const end: NotCharged = input.takenBack ? { ...fault, newer: "SALE_TAKEN_BACK" } : fault;
      return unconfirmed(state, {
        phase: "not-charged",
        outcome: state.heard ?? state.told ?? end,
      });
    }
    case "late-result":
      return lateResult(state, input);
    case "settled":
      return settledInDoubt(state, input);
    default:
      throw impossible(state, input);
  }
}

/**
 * Settles an attempt in doubt by the terminal's late report. A report that contradicts an earlier
 * good report, or the request, is stored for an operator to decide (docs/rules/25-one-way.md).
 */
function lateResult(
  state: InDoubtState,
  { report, judgement }: Extract<AttemptInput, { input: "late-result" }>,
): AttemptState {
  const { last, earlier, second } = state;
  // An earlier report without a reference may be of another register's card. The late report, which
  // carries the attempt's reference, is certainly its own and outweighs the earlier report.
  const isOutweighed = last !== null && namesOurs(report) && !namesOurs(last.report);
  const isContradicted = last?.judgement === "disagrees" && !isOutweighed;
  const wasGood = last?.report.good === true || earlier !== undefined || second !== undefined;
  if (judgement === "agrees" && !isContradicted) {
    return { phase: "charged", report, by: "recovery", ...beyond(state, { report }) };
  }
  if (judgement === "not-good" && !wasGood) {
    return { phase: "not-charged", outcome: notCharged(report.reason, report) };
  }
  // A failure never replaces a good report, and a repeated report does not undo a contradiction.
  if (wasGood && !report.good) return state;
  const kept = isContradicted ? "disagrees" : judgement;
  return { ...state, last: { report, judgement: kept, acknowledged: false } };
}

/** Returns the value of the issued goods if the terminal charged another amount. */
function beyond(
  { goods }: InDoubtState,
  { report }: { readonly report: TransactionReport },
): { readonly goodsMinor?: number } {
  const decision = goods?.decision;
  if (!decision || decision.goods === "issued") return {};
  const goodsMinor = decision.goods === "partly-issued" ? decision.amountMinor : 0;
  return report.amountMinor === goodsMinor ? {} : { goodsMinor };
}

/** Replaces an operator's finding by the opposite finding, which is allowed only once. */
function corrected(state: ChargedState | NotChargedState, input: AttemptInput): AttemptState {
  const { settled } = state;
  const isOpposite = input.input === "settled" && input.outcome !== state.phase;
  if (!isOpposite || !settled || settled.corrected) throw impossible(state, input);
  return settledInDoubt(settled.doubt, input, true);
}

function settledInDoubt(
  state: InDoubtState,
  input: Extract<AttemptInput, { input: "settled" }>,
  corrected = false,
): AttemptState {
  const settled = { doubt: state, corrected };
  if (input.outcome === "reversed") throw impossible(state, input);
  if (input.outcome === "charged") {
    const { report } = input;
    return { phase: "charged", report, by: "operator", settled, ...beyond(state, input) };
  }
  const message = "an operator found that nothing was charged";
  const found = outcome("failed", "SETTLED_NOT_CHARGED", message);
  return unconfirmed(state, { phase: "not-charged", outcome: found, settled });
}

type DecideLate = Extract<AttemptInput, { input: "decide-late" }>;

/**
 * A late decision changes the code of the answer, and never whether the order is charged. It is
 * kept where an end without a charge can follow: in doubt, and for an operator's correction.
 */
function decidedLate(state: AttemptState, input: DecideLate): AttemptState {
  if (state.phase === "in-doubt") return doubtedLate(state, input);
  if (state.phase !== "charged" && state.phase !== "not-charged") return state;
  const { settled } = state;
  const kept = settled && { settled: { ...settled, doubt: doubtedLate(settled.doubt, input) } };
  const after = { ...state, ...kept };
  if (after.phase === "charged") return after;
  return { ...after, outcome: outcomeLate(after.outcome, input) };
}

function doubtedLate(state: InDoubtState, input: DecideLate): InDoubtState {
  const { goods } = state;
  const mayBeOut = input.decision.goods !== "not-issued";
  if (goods) return { ...state, goods: { ...goods, mayBeOut } };
  return state.told ? { ...state, told: outcomeLate(state.told, input) } : state;
}

function outcomeLate(end: NotCharged, { decision, approved }: DecideLate): NotCharged {
  const { newer: _, ...outcome } = end;
  const wasReversed = outcome.error === "GOODS_NOT_DELIVERED";
  if (decision.goods === "not-issued") return wasReversed ? outcome : end;
  return approved || wasReversed ? withGoodsOut(end) : end;
}

/** Returns how an attempt ended; goods that may be out give an end without a charge its code. */
function unconfirmed(before: Pick<InDoubtState, "goods" | "told">, ended: AttemptState) {
  const { goods } = before;
  const isOut = goods ? mayBeOut(goods) : before.told?.newer === "DELIVERY_UNCONFIRMED";
  if (!isOut || ended.phase !== "not-charged") return ended;
  return { ...ended, outcome: withGoodsOut(ended.outcome) };
}

/** Whether the kiosk did not say, or did not say last, that no goods came out. */
function mayBeOut({ decision, mayBeOut: late }: Goods): boolean {
  return late ?? (decision?.goods !== "not-issued" || decision.unsaid === true);
}

function withGoodsOut({ message, terminalCode }: NotCharged): NotCharged {
  const end = outcome("cancelled", "GOODS_NOT_DELIVERED", message, terminalCode);
  return { ...end, newer: "DELIVERY_UNCONFIRMED" };
}

function withReport(state: SentState, report: TransactionReport, judgement: Judgement): SentState {
  const { earlier: before, ...rest } = state;
  const last = nextReport(state.last, report, judgement, isWithheld(state.goods));
  const good = state.last?.report.good ? state.last : undefined;
  if (!report.good) {
    const earlier = good ?? before;
    return { ...rest, ...earlierAckOf(state), last, ...(earlier ? { earlier } : {}) };
  }
  // After the goods decision a second sale is accepted and stored (docs/rules/20-second-sale.md).
  const isSecond = good && namesAnotherSale(good.report, report);
  return { ...rest, ...earlierAckOf(state), last, ...(isSecond ? { second: good.report } : {}) };
}

function inDoubt(
  { phase: _, ...kept }: SentState,
  why: Parameters<typeof whyInDoubt>,
  heard?: NotCharged,
): InDoubtState {
  return { phase: "in-doubt", why: whyInDoubt(...why), ...kept, ...(heard ? { heard } : {}) };
}

/** Returns the attempt in doubt. `unwritten`: our ACK of a good report may be missing on disk. */
function interrupted(state: SentState, unwritten: boolean): InDoubtState {
  const after = inDoubt(state, ["interrupted"]);
  const { last, goods } = state;
  const isOpen = last?.judgement === "agrees" && !last.acknowledged && !isWithheld(goods);
  return unwritten && isOpen ? { ...after, perhapsTaken: true } : after;
}

function endOf(state: SentState, end: PaymentEnd, cancelled: boolean): AttemptState {
  const { last } = state;
  switch (end.end) {
    case "withdrawn":
    case "not-sent":
    case "refused":
      if (last) return inDoubt(state, ["result-without-command", end.text]);
      return { phase: "not-charged", outcome: unbegun(end) };
    case "completed":
      return asked(state, completed(state), cancelled);
    case "aborted":
      return asked(state, aborted(state, end), cancelled);
    case "lost":
      return inDoubt(state, ["lost", end.text]);
  }
}

function unbegun(
  end: Extract<PaymentEnd, { end: "withdrawn" | "not-sent" | "refused" }>,
): NotCharged {
  if (end.end === "withdrawn") return outcome("cancelled", "PAYMENT_CANCELLED", end.text);
  const error = end.end === "refused" ? refusalOf(end.reason) : "TERMINAL_DISCONNECTED";
  return outcome("failed", error, end.text, end.code);
}

function refusalOf(reason: AbortReason | "busy" | undefined): ErrorCode {
  if (reason === "wrong-currency") return "CURRENCY_REFUSED";
  return reason === "busy" ? "TERMINAL_BUSY" : "TERMINAL_REFUSED";
}

/**
 * Keeps a cancelled payment in doubt until the terminal was probed once, because an approval can
 * cross our cancel on the wire (docs/rules/22-heard-end.md). A two-phase sale that was already
 * approved cannot be approved once more.
 */
function asked(before: SentState, after: AttemptState, cancelled: boolean): AttemptState {
  if (!cancelled || after.phase !== "not-charged" || before.goods) return after;
  return inDoubt(before, ["cancel-crossed"], after.outcome);
}

function completed(state: SentState): AttemptState {
  const { last, goods, second } = state;
  if (!last) return inDoubt(state, ["no-report"]);
  switch (last.judgement) {
    case "agrees":
      if (goods && goods.decision?.goods !== "issued" && !isPart(goods, last)) {
        const wasPart = goods.decision?.goods === "partly-issued";
        return inDoubt(state, [wasPart ? "part-unreported" : "kept-without-goods"]);
      }
      if (second && !last.acknowledged) {
        return inDoubt(state, ["two-sales"]);
      }
      return { phase: "charged", report: last.report, by: "payment" };
    case "not-good":
      return { phase: "not-charged", outcome: withheldOr(goods, last.report.reason, last.report) };
    case "disagrees": {
      // A last report of a failure gives the outcome, which counts only if a probe confirms it.
      const bad = !last.report.good && last.report.resultCode !== null;
      const heard = bad ? notCharged(last.report.reason, last.report) : undefined;
      return inDoubt(state, ["disagreement"], heard);
    }
    case "no-result":
      return inDoubt(state, ["no-result-code"]);
  }
}

function isPart({ decision }: Goods, { report }: JudgedReport): boolean {
  return decision?.goods === "partly-issued" && report.amountMinor === decision.amountMinor;
}

function aborted(state: SentState, end: Extract<PaymentEnd, { end: "aborted" }>): AttemptState {
  const { last, goods } = state;
  const { code: resultCode, text: resultText, advice } = end;
  const said = { resultCode, resultText, ...(advice ? { advice } : {}) };
  const heard = notCharged(end.reason, said);
  if (!last) return { phase: "not-charged", outcome: heard };
  switch (last.judgement) {
    case "not-good": {
      const reason = last.report.reason ?? end.reason;
      return { phase: "not-charged", outcome: withheldOr(goods, reason, last.report) };
    }
    case "agrees": {
      // After our "no goods", an abort means a reversal, even if unreported (docs/zvt.md 8.1).
      if (goods?.decision?.goods === "not-issued") {
        return { phase: "not-charged", outcome: withheldOr(goods, end.reason, said) };
      }
      // After an approval, an abort may mean that the terminal reverses the sale
      // (docs/rules/02-proof.md).
      return inDoubt(state, ["refused-after-approval", `${end.code}: ${end.text}`], heard);
    }
    case "disagrees":
    case "no-result":
      return inDoubt(state, ["unclear-report", `${end.code}: ${end.text}`], heard);
  }
}

type Said = Pick<TransactionReport, "resultCode" | "resultText" | "advice">;

function withheldOr(goods: Goods | null, reason: AbortReason | null, said: Said): NotCharged {
  if (!isWithheld(goods)) return notCharged(reason, said);
  const message = goods?.decision
    ? "the goods did not come out; the terminal has reversed the sale"
    : "the terminal did not wait for the goods any longer and has reversed the sale";
  return outcome("cancelled", "GOODS_NOT_DELIVERED", message, said.resultCode);
}

function notCharged(
  reason: AbortReason | null,
  { resultText, resultCode, advice }: Said,
): NotCharged {
  const [status, error] = abortTable[reason ?? "terminal-fault"];
  return { ...outcome(status, error, resultText, resultCode), ...(advice ? { advice } : {}) };
}

const abortTable: Readonly<Record<AbortReason, readonly [NotCharged["status"], ErrorCode]>> = {
  declined: ["declined", "PAYMENT_DECLINED"],
  // Some terminals give this reason for a sale that seems repeated to them (docs/zvt.md 12.2).
  "already-reversed": ["declined", "PAYMENT_DECLINED"],
  cancelled: ["cancelled", "PAYMENT_CANCELLED"],
  "customer-timeout": ["cancelled", "CUSTOMER_TIMEOUT"],
  "terminal-fault": ["failed", "TERMINAL_FAULT"],
  "wrong-currency": ["failed", "CURRENCY_REFUSED"],
};

function outcome(
  status: NotCharged["status"],
  error: ErrorCode,
  message: string,
  terminalCode: string | null = null,
): NotCharged {
  return { status, error, message, terminalCode };
}

/** Judges whether a report is good and agrees with the request (docs/rules/04-approval.md). */
export function judgeReport(
  order: { readonly amountMinor: number; readonly currencyNumeric: string },
  report: TransactionReport,
): Judgement {
  if (report.resultCode === null) return "no-result";
  if (!report.good) return "not-good";
  const agrees =
    report.amountMinor === order.amountMinor &&
    currencyNumericOf(report) === order.currencyNumeric &&
    report.originalTrace === null &&
    report.contradicts === undefined;
  return agrees ? "agrees" : "disagrees";
}
