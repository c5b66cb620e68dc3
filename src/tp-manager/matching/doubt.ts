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
import type { Asked, Doubt, DoubtTimes, Heard } from "./facts.ts";

/** The doubt that an attempt or an unmatched transaction leaves, as facts.ts describes it. Pure. */

export function doubtOfAttempt(
  attempt: Attempt,
  state: InDoubtState | ReversalInDoubtState,
  times: DoubtTimes,
): Doubt {
  return "sale" in state ? doubtOfReversal(state, times) : doubtOfSale(attempt, state, times);
}

/** A payment of which a part of the goods was decided matches with that part's amount too. */
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

/**
 * Whether a reversal can have taken back what this payment had charged, by its amount: its order
 * was declined, or nobody has heard the end.
 */
export function canHaveBeenTakenBack(
  attempt: Attempt,
  { amountMinor }: Pick<TransactionReport, "amountMinor">,
): boolean {
  return amountMinor === null || askedOf(attempt, 0).amountsMinor.includes(amountMinor);
}

/** docs/zvt.md 8.2: left alone with an approved sale, the terminal waits for the goods first. */
export function saleLimitMs(request: PaymentRequest, limitMs: number): number {
  return limitMs + (goodsWindowSeconds(request) ?? 0) * 1_000;
}

function doubtOfSale(attempt: Attempt, state: InDoubtState, given: DoubtTimes): Doubt {
  const { baseline, request } = attempt;
  const times = { ...given, limitMs: saleLimitMs(request, given.limitMs) };
  invariant(baseline, "an attempt in doubt has a baseline");
  const good = goodOf(state);
  const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
  const onlyBad = state.last === null || state.last.judgement === "not-good";
  const heard: Heard = {
    good: good?.report ?? null,
    refused: good !== null && judgeReport(order, good.report) === "disagrees",
    held: state.told !== undefined,
    acknowledged: good?.acknowledged === true,
    tookBefore: state.tookBefore === true,
    perhapsTook: state.perhapsTaken === true,
    unclear: state.last?.judgement === "no-result",
    second: state.second ?? null,
    end: !state.heard ? "unheard" : onlyBad && !good && !state.second ? "own-word" : "bad",
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

function doubtOfReversal(
  { sale, baseline, last, heardBad, tookBefore, perhapsTaken }: ReversalInDoubtState,
  times: DoubtTimes,
): Doubt {
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
      tookBefore: tookBefore === true,
      perhapsTook: perhapsTaken === true,
      end: heardBad ? "bad" : "unheard",
    },
    asked: null,
    sale: sale.report,
  };
}

/** The report was refused on the wire, and nothing is known of what was stored before it. */
export function doubtOfUnmatched({ report, identity }: UnmatchedRow, times: DoubtTimes): Doubt {
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

const nothingHeard: Omit<Heard, "good" | "refused"> = {
  held: false,
  acknowledged: false,
  tookBefore: false,
  perhapsTook: false,
  unclear: false,
  second: null,
  end: "unheard",
};
