import type { AttemptInput } from "../../src/tp-manager/attempts/attempt-input.ts";
import {
  compareReports,
  mayBeAnotherSale,
  namesAnotherSale,
} from "../../src/tp-manager/attempts/comparison.ts";
import type { AttemptState, Judgement } from "../../src/tp-manager/attempts/payment.ts";
import { advance, judgeReport } from "../../src/tp-manager/attempts/payment-machine.ts";
import { effectsOf } from "../../src/tp-manager/matching/answer.ts";
import {
  type EarlierProbe,
  type Inquiry,
  inquiryOfUnmatched,
  type Known,
  type Probe,
} from "../../src/tp-manager/matching/facts.ts";
import { Matcher } from "../../src/tp-manager/matching/matcher.ts";
import {
  type Conclusion,
  judge,
  judgeByNext,
  type Verdict,
} from "../../src/tp-manager/matching/table.ts";
import type { TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { AMOUNT_MINOR } from "./entry-reports.ts";

/** The product's decisions. A walk asks nothing else of it, so a variant can replace one. */
export interface Judges {
  readonly advance: (state: AttemptState, input: AttemptInput) => AttemptState;
  readonly judgeReport: (report: TransactionReport) => Judgement;
  /** A good result of another sale than the good one before it. */
  readonly isSecondSale: (first: TransactionReport, report: TransactionReport) => boolean;
  /** May be another sale, judged by its time alone: it raises an alarm and is not refused. */
  readonly mayBeSecondSale: (first: TransactionReport, report: TransactionReport) => boolean;
  readonly isSame: (a: TransactionReport, b: TransactionReport) => boolean;
  readonly judge: (inquiry: Inquiry, probe: Probe, known: Known, earlier: Probe | null) => Verdict;
  readonly judgeByNext: (inquiry: Inquiry, known: Known) => Conclusion | undefined;
  readonly inquiryOfUnmatched: typeof inquiryOfUnmatched;
  readonly Matcher: typeof Matcher;
  readonly effectsOf: typeof effectsOf;
  /** A refusal under a lock ends a question. */
  readonly takesRefusals: boolean;
}

export const T4_MS = 180_000;
/** Shorter than the watch of an empty storage: a walk without a clock makes one probe of it. */
export const CONFIRM_MS = 3_000;

/** A walk has no clock: the next probe comes when the requested pause is over. */
const wholePauseAgo = (earlier: Probe): EarlierProbe => ({
  ...earlier,
  sinceMs: earlier.atMs - CONFIRM_MS,
});

export const product: Judges = {
  advance,
  judgeReport: (report) =>
    judgeReport({ amountMinor: AMOUNT_MINOR, currencyNumeric: "978" }, report),
  isSecondSale: namesAnotherSale,
  mayBeSecondSale: mayBeAnotherSale,
  isSame: (a, b) => compareReports(a, b) === "same",
  judge: (inquiry, probe, known, earlier) =>
    judge(inquiry, probe, known, earlier && wholePauseAgo(earlier), CONFIRM_MS),
  judgeByNext,
  inquiryOfUnmatched,
  Matcher,
  effectsOf,
  takesRefusals: false,
};
