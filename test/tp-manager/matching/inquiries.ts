import { assumptionNames } from "../../../src/tp-manager/matching/assumptions.ts";
import type {
  EarlierProbe,
  Inquiry,
  Known,
  Probe,
} from "../../../src/tp-manager/matching/facts.ts";
import { judge } from "../../../src/tp-manager/matching/table.ts";
import type {
  LastTransaction,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";

export const CONFIRM_MS = 10_000;
const LIMIT_MS = 180_000;
const sentAtMs = new Date(2026, 0, 15, 13, 0, 0).getTime();

export const silent: Inquiry["heard"] = {
  good: null,
  refused: false,
  held: false,
  ackArrived: false,
  earlierAckArrived: false,
  ackMayHaveArrived: false,
  unclear: false,
  second: null,
  answeredBefore: [],
  untoldBefore: false,
  end: "unheard",
};
export const approved: Inquiry["heard"] = { ...silent, good: report() };
export const withAck: Inquiry["heard"] = { ...approved, ackArrived: true };
export const refusedPart = {
  ...approved,
  good: report({ amountMinor: 500 }),
  refused: true,
} as const;
export const bad = { end: "bad" } as const;

export const sale: Inquiry = {
  about: "sale",
  identity,
  before: baseline.last,
  heard: silent,
  asked: {
    amountsMinor: [999],
    currencyNumeric: "978",
    sentAtMs,
    limitMs: LIMIT_MS,
    clockOffsetMs: 0,
  },
  sale: null,
  lostSinceMs: 0,
  limitMs: LIMIT_MS,
  printsCount: false,
  isWatched: true,
};
export const sold: LastTransaction = { kind: "transaction", report: report() };
export const reversal: Inquiry = {
  ...sale,
  about: "reversal",
  before: sold,
  asked: null,
  sale: report(),
};
export const strange = report({ amountMinor: 1250, receiptNumber: "0042", traceNumber: "000077" });
export const unmatched: Inquiry = {
  ...sale,
  about: "unmatched",
  before: { kind: "not-told", why: "" },
  heard: { ...silent, good: strange, refused: true },
  asked: null,
};

export const nothing: Known = {
  foundIs: null,
  otherCandidate: null,
  isCandidate: true,
  unmatchedIs: null,
  stoodBefore: false,
  next: null,
  storesReversals: true,
  holds: new Set(assumptionNames),
  soldSince: false,
  closedSince: false,
};
export const none: LastTransaction = { kind: "none" };
export const notReported: LastTransaction = { kind: "not-told", why: "bare completion" };
export const stored = (change: Partial<TransactionReport> = {}): LastTransaction => ({
  kind: "transaction",
  report: report(change),
});
export const takenBack = (change: Partial<TransactionReport> = {}): LastTransaction =>
  stored({ traceNumber: "000099", originalTrace: "000012", localTime: "130105", ...change });
export const probeOf = (last: LastTransaction, atMs = 200_000): Probe => ({ identity, last, atMs });

/** The verdict of the last of several probes, each one a pause after the previous one. */
export function verdictOf(
  inquiry: Inquiry,
  known: Partial<Known>,
  ...probes: readonly (LastTransaction | Probe)[]
): string {
  let earlier: EarlierProbe | null = null;
  let verdict = "";
  for (const each of probes) {
    const now: Probe = "kind" in each ? probeOf(each) : each;
    verdict = judge(inquiry, now, { ...nothing, ...known }, earlier, CONFIRM_MS).verdict;
    earlier = { ...now, sinceMs: now.atMs - CONFIRM_MS };
  }
  return verdict;
}

export const heard = (inquiry: Inquiry, change: Partial<Inquiry["heard"]>): Inquiry => ({
  ...inquiry,
  heard: { ...inquiry.heard, ...change },
});

export type Row = [string, Inquiry, readonly LastTransaction[], string, Partial<Known>?];
