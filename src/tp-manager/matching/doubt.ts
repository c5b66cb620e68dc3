import { invariant } from "../../shared/invariant.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import { compareReports } from "./comparison.ts";
import type { Asked, Doubt, Heard } from "./facts.ts";
import {
  type Attempt,
  goodsWindowSeconds,
  type InDoubtState,
  type JudgedReport,
  type PaymentRequest,
  type ReversalInDoubtState,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { isFromPayment } from "./own-time.ts";
import type { StrayRow } from "../attempts/terminal-log.ts";

/** The doubt that an attempt or a stray report leaves, as evidence-policy.ts describes it. Pure. */

/** Facts about the terminal and this process that belong to a doubt. */
interface DoubtTimes {
  /** See {@link Doubt.lostSinceMs}. */
  readonly lostSinceMs: number;
  /** Without the window for goods, which belongs to the sale. */
  readonly limitMs: number;
  readonly printsCount: boolean;
}

export function doubtOfAttempt(
  attempt: Attempt,
  state: InDoubtState | ReversalInDoubtState,
  times: DoubtTimes,
): Doubt {
  return "sale" in state ? doubtOfReversal(state, times) : doubtOfSale(attempt, state, times);
}

/** A payment that was told as not charged, and a report that came after its end. */
export function doubtOfLateReport(
  attempt: Attempt,
  report: TransactionReport,
  times: DoubtTimes,
): Doubt {
  const { baseline } = attempt;
  invariant(baseline, "an attempt that was sent has a baseline");
  return {
    ...timesOf(times),
    about: "sale",
    identity: baseline.identity,
    before: baseline.last,
    heard: heardOf(report),
    asked: askedOf(attempt, times.limitMs),
    sale: null,
  };
}

/** A payment of which a part of the goods was decided matches with that part's amount too. */
export function askedOf(
  { request, startedAtMs, baseline }: Attempt,
  limitMs: number,
  goods?: InDoubtState["goods"],
): Asked {
  const { amountMinor, currency } = request;
  const decision = goods?.decision;
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
 * Whether a sale in doubt can have made what the terminal has stored, by amount and time. `limitMs`
 * is the terminal's own time limit, without the window for goods.
 */
export function canBeSaleOf(
  attempt: Attempt,
  { goods }: InDoubtState,
  report: TransactionReport,
  limitMs: number,
): boolean {
  const asked = askedOf(attempt, saleLimitMs(attempt.request, limitMs), goods);
  const isAmount = report.amountMinor !== null && asked.amountsMinor.includes(report.amountMinor);
  return isAmount && isFromPayment(asked, report) !== false;
}

/**
 * Whether a reversal in doubt can have stored it, by amount and time: a terminal that names no
 * original stores its reversal like a sale. `sentAtMs`: when the reversal began; undefined: not
 * known.
 */
export function canBeReversalOf(
  { sale, baseline, last }: ReversalInDoubtState,
  report: TransactionReport,
  { sentAtMs, limitMs }: { readonly sentAtMs: number | undefined; readonly limitMs: number },
): boolean {
  if (sale.report.amountMinor !== report.amountMinor) return false;
  if (last?.report.good && compareReports(last.report, report) === "different") return false;
  const { clockOffsetMs } = baseline;
  return (
    sentAtMs === undefined || isFromPayment({ sentAtMs, limitMs, clockOffsetMs }, report) !== false
  );
}

/** Whether a charge that an operator settled can be it: his word names no number. */
export function canBeSettledSale(
  attempt: Attempt,
  { receiptNumber, traceNumber, amountMinor }: TransactionReport,
  report: TransactionReport,
  limitMs: number,
): boolean {
  if (receiptNumber !== null || traceNumber !== null || amountMinor !== report.amountMinor) {
    return false;
  }
  return isFromPayment(askedOf(attempt, saleLimitMs(attempt.request, limitMs)), report) !== false;
}

/**
 * Whether a reversal can have taken back what this payment had charged, by its amount: its order
 * was declined, or nobody has heard the end.
 */
export function canHaveBeenTakenBack(
  attempt: Attempt,
  { amountMinor }: Pick<TransactionReport, "amountMinor">,
): boolean {
  const goods = "goods" in attempt.state ? attempt.state.goods : undefined;
  return amountMinor === null || askedOf(attempt, 0, goods).amountsMinor.includes(amountMinor);
}

/** docs/zvt.md 8.2: left alone with an approved sale, the terminal waits for the goods first. */
function saleLimitMs(request: PaymentRequest, limitMs: number): number {
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
    printsCount: times.printsCount,
    second: state.second ?? null,
    end: !state.heard ? "unheard" : onlyBad && !good && !state.second ? "own-word" : "bad",
  };
  return {
    ...timesOf(times),
    about: "sale",
    identity: baseline.identity,
    before: baseline.last,
    heard,
    asked: askedOf(attempt, times.limitMs, state.goods),
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
    ...timesOf(times),
    about: "reversal",
    identity: baseline.identity,
    before: baseline.last,
    heard: {
      good: last?.report.good ? last.report : null,
      refused: last?.judgement === "disagrees",
      held: false,
      acknowledged: last?.report.good === true && last.acknowledged,
      tookBefore: tookBefore === true,
      perhapsTook: perhapsTaken === true,
      printsCount: times.printsCount,
      second: null,
      end: heardBad ? "bad" : "unheard",
    },
    asked: null,
    sale: sale.report,
  };
}

/** A stray was refused on the wire, and nothing is known of what was stored before it. */
export function doubtOfStray({ report, identity }: StrayRow, times: DoubtTimes): Doubt {
  return {
    ...timesOf(times),
    about: "stray",
    identity,
    before: { kind: "not-told", why: "nobody asked before it" },
    heard: heardOf(report),
    asked: null,
    sale: null,
  };
}

const nothingHeard: Omit<Heard, "good" | "refused"> = {
  held: false,
  acknowledged: false,
  printsCount: false,
  second: null,
  end: "unheard",
};

function heardOf(good: TransactionReport): Heard {
  return { ...nothingHeard, good, refused: true };
}

function timesOf({ lostSinceMs, limitMs }: DoubtTimes): Pick<Doubt, "lostSinceMs" | "limitMs"> {
  return { lostSinceMs, limitMs };
}
