import { invariant } from "../../shared/invariant.ts";
import type { UnmatchedRow } from "../attempts/findings.ts";
import {
  type Attempt,
  goodsWindowSeconds,
  type InDoubtState,
  type JudgedReport,
  type PaymentRequest,
  type ReversalInDoubtState,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { Asked, Inquiry, InquiryTimes, WireEvidence } from "./facts.ts";

/** The inquiry about an attempt in doubt. Pure, like all of this file. */
export function inquiryOfAttempt(
  attempt: Attempt,
  state: InDoubtState | ReversalInDoubtState,
  times: InquiryTimes,
): Inquiry {
  return "sale" in state ? inquiryOfReversal(state, times) : inquiryOfSale(attempt, state, times);
}

/** Returns the request that a record must agree with; also with the amount of issued goods. */
export function askedOf(
  { request, startedAtMs, baseline, state }: Attempt,
  limitMs: number,
): Asked {
  const { amountMinor, currency } = request;
  const decision = "goods" in state ? state.goods?.decision : undefined;
  const part = decision?.goods === "partly-issued" ? [decision.amountMinor] : [];
  return {
    amountsMinor: [amountMinor, ...part],
    currencyNumeric: currency.numeric,
    sentAtMs: startedAtMs,
    limitMs,
    clockOffsetMs: baseline?.clockOffsetMs ?? null,
  };
}

/** Whether a reversal can have taken back, by its amount, what this payment may have charged. */
export function canHaveBeenTakenBack(
  attempt: Attempt,
  { amountMinor }: Pick<TransactionReport, "amountMinor">,
): boolean {
  return amountMinor === null || askedOf(attempt, 0).amountsMinor.includes(amountMinor);
}

/** The terminal's limit with its wait for the goods of an approved sale (docs/zvt.md 8.2). */
export function saleLimitMs(request: PaymentRequest, limitMs: number): number {
  return limitMs + (goodsWindowSeconds(request) ?? 0) * 1_000;
}

function inquiryOfSale(attempt: Attempt, state: InDoubtState, given: InquiryTimes): Inquiry {
  const { baseline, request } = attempt;
  const times = { ...given, limitMs: saleLimitMs(request, given.limitMs) };
  invariant(baseline, "an attempt in doubt has a baseline");
  const good = goodOf(state);
  const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
  const onlyBad = state.last === null || state.last.judgement === "not-good";
  const heard: WireEvidence = {
    good: good?.report ?? null,
    refused: good !== null && judgeReport(order, good.report) === "disagrees",
    held: state.told !== undefined,
    acknowledged: good?.acknowledged === true,
    earlierAckArrived: state.tookBefore === true,
    ackMayHaveArrived: state.perhapsTaken === true,
    unclear: state.last?.judgement === "no-result",
    second: state.second ?? null,
    end: !state.heard ? "unheard" : onlyBad && !good && !state.second ? "only-bad" : "bad",
  };
  return {
    ...times,
    about: "sale",
    identity: baseline.identity,
    before: baseline.last,
    heard,
    asked: askedOf(attempt, times.limitMs),
    sale: null,
  };
}

/** The good report that counts, also when a later one contradicted it. */
function goodOf({ last, earlier }: InDoubtState): JudgedReport | null {
  return last?.report.good ? last : (earlier ?? null);
}

function inquiryOfReversal(
  { sale, baseline, last, heardBad, tookBefore, perhapsTaken }: ReversalInDoubtState,
  times: InquiryTimes,
): Inquiry {
  return {
    ...times,
    about: "reversal",
    identity: baseline.identity,
    before: baseline.last,
    heard: {
      ...nothingHeard,
      good: last?.report.good ? last.report : null,
      refused: last?.judgement === "disagrees",
      acknowledged: last?.report.good === true && last.acknowledged,
      earlierAckArrived: tookBefore === true,
      ackMayHaveArrived: perhapsTaken === true,
      end: heardBad ? "bad" : "unheard",
    },
    asked: null,
    sale: sale.report,
  };
}

/** The inquiry about a report that was refused on the wire; the storage before it is unknown. */
export function inquiryOfUnmatched(
  { report, identity }: UnmatchedRow,
  times: InquiryTimes,
): Inquiry {
  return {
    ...times,
    about: "unmatched",
    identity,
    before: { kind: "not-told", why: "nobody asked before it" },
    heard: { ...nothingHeard, good: report, refused: true },
    asked: null,
    sale: null,
  };
}

const nothingHeard: Omit<WireEvidence, "good" | "refused"> = {
  held: false,
  acknowledged: false,
  earlierAckArrived: false,
  ackMayHaveArrived: false,
  unclear: false,
  second: null,
  end: "unheard",
};
