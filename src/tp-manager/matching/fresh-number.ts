import {
  compareReports,
  haveMoments,
  isNamed,
  RECEIPT_MAX,
  type Stored,
  sameTerminal,
} from "../attempts/comparison.ts";
import {
  type Attempt,
  type AttemptStep,
  endReportOf,
  REVERSAL_BEGINS,
  saleOf,
} from "../attempts/payment.ts";
import { receiptNumberOf } from "../attempts/reconciliation/ledger-policy.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import type { ReportedResult } from "../journal/attempt-rows.ts";
import type { Journal } from "../journal/journal.ts";
import type { LastTransaction, TransactionReport } from "../terminal/terminal.ts";
import staleTexts from "./fresh-number-en.json" with { type: "json" };

/**
 * Decides whether a receipt number still names the sale that it was given to
 * (docs/rules/16-fresh.md). Numbers wrap, restart when the terminal closes by itself, and repeat at
 * another terminal: a reversal by a reused number would return another customer's money. Pure.
 */

export interface SaleToReverse {
  readonly attempt: Attempt;
  /** A stored reversal of the sale that we did not request; null: the terminal has stored none. */
  readonly reversedBefore: TransactionReport | null;
}

type Freshness =
  | { readonly freshness: "fresh" }
  /** The terminal has stored the reversal of this sale, so the money is already back. */
  | { readonly freshness: "reversed"; readonly report: TransactionReport }
  | { readonly freshness: "stale"; readonly because: string };

/** Why a receipt number may not name its sale any more; the texts are in fresh-number-en.json. */
type WhyStale = keyof typeof staleTexts;

/** A number this close to 9999 and then one this close to 1: they wrapped, not restarted. */
const WRAP_WINDOW = 100;

/**
 * Judges whether a sale's receipt number still names it, by the terminal's storage (`now`) and by
 * the journal. "stale": the journal does not know enough. Throws when the journal fails.
 */
export function freshnessOf(
  sale: ReportedResult,
  now: Stored,
  { attempts, terminalLog }: Journal,
  isShared: boolean,
): Freshness {
  const events = attempts.events(sale.transactionId);
  if (sale.report.namedAt !== undefined) {
    // A number that is unique for ever names its sale alone; only the money can be back already.
    const isSpent = isReversalSpent(sale.report, events);
    return isSpent ? stale("reversal-sent-before") : { freshness: "fresh" };
  }
  const since = attempts.since(sale.transactionId);
  if (!since) return stale("too-much-since");
  const unmatched = terminalLog.wasUnmatchedSince(sale.transactionId);
  const here = ({ baseline }: Attempt): boolean =>
    baseline !== null && sameTerminal(baseline.identity, now.identity);
  const later = since.later.filter(here);
  const touched = [...later, ...since.earlier.filter(here)];
  // Results of this sale itself do not count; if it was reversed, the money is back already.
  const ids = new Set(touched.map((one) => one.transactionId));
  const reported = since.reports.filter(({ transactionId }) => ids.has(transactionId));
  const results = [...reported.map(({ report }) => report), ...touched.flatMap(resultsOf)];
  const facts = { sale, touched, later, results, unmatched, isShared };
  const again = nameGivenAgain(facts);
  if (again !== undefined) return stale(again);
  if (now.last.kind !== "not-told") return ofChain(facts, now.last);
  // An earlier reversal command may have worked, even if the terminal reported a failure.
  const wasTried = events.some(({ kind }) => kind === REVERSAL_BEGINS);
  if (wasTried) return stale("reversal-sent-before");
  return ofNewest(facts);
}

/** The kinds of events that end a command of which the terminal has carried out nothing. */
const beganNothing = ["end-not-sent", "end-withdrawn", "end-refused"];

/**
 * Whether a sale whose number is unique for ever can be reversed no more: a reversal that was sent
 * before may have been carried out, however it ended.
 */
export function isReversalSpent(
  { namedAt }: TransactionReport,
  events: readonly AttemptStep[],
): boolean {
  if (namedAt === undefined) return false;
  const sent = events.filter(({ kind }) => kind === REVERSAL_BEGINS);
  const since = events.slice(events.findIndex(({ kind }) => kind === REVERSAL_BEGINS));
  return since.filter(({ kind }) => beganNothing.includes(kind)).length < sent.length;
}

interface Facts {
  readonly sale: ReportedResult;
  readonly unmatched: boolean;
  readonly isShared: boolean;
  readonly later: readonly Attempt[];
  /** The other attempts at this terminal that sent it a command since the sale. */
  readonly touched: readonly Attempt[];
  readonly results: readonly TransactionReport[];
}

function stale(why: WhyStale): Freshness {
  return { freshness: "stale", because: staleTexts[why] };
}

/** Returns why the receipt number is not the sale's alone; undefined: no later result has it. */
function nameGivenAgain({ sale, results }: Facts): WhyStale | undefined {
  const number = receiptNumberOf(sale.report.receiptNumber);
  if (number === null) return "no-number";
  const again = results.some(
    (report) => report.good && receiptNumberOf(report.receiptNumber) === number,
  );
  return again ? "number-given-again" : undefined;
}

/** Judges by the journal alone. Without the storage only the newest sale can be reversed safely. */
function ofNewest({ touched, unmatched, isShared }: Facts): Freshness {
  if (isShared) return stale("shared-without-moments");
  if (touched.length > 0) {
    return stale("not-shown-not-newest");
  }
  if (unmatched) return stale("unmatched-since");
  return { freshness: "fresh" };
}

/** Judges by the last stored transaction: the connector must know each one since the sale. */
function ofChain(facts: Facts, last: LastTransaction): Freshness {
  const { sale, later } = facts;
  if (last.kind === "transaction" && compareReports(sale.report, last.report) === "same") {
    // Numbers restart, so equal numbers prove the same sale only with date and time.
    return haveMoments(sale.report, last.report) ? ofLast(facts) : ofNewest(facts);
  }
  const probes = [...later.flatMap(({ baseline }) => (baseline ? [baseline.last] : [])), last];
  for (const probe of probes) {
    if (probe.kind === "not-told") {
      return stale("no-baseline");
    }
    if (probe.kind === "none") return stale("emptied-since");
    const { report } = probe;
    if (isKnown(facts, report)) continue;
    if (givesBack(sale.report, report)) return { freshness: "reversed", report };
    if (!isNamed(report)) return ofNewest(facts);
    return stale("unknown-stored");
  }
  return ofFollowed(facts);
}

/** Judges the case that this sale is the last one that the terminal has stored. */
function ofLast({ later }: Facts): Freshness {
  const contradicts = later.some((attempt) => keptNumbers(attempt).length > 0);
  if (contradicts) return stale("follower-not-shown");
  return { freshness: "fresh" };
}

/** Judges the case that another transaction of ours, after this sale, is the last one stored. */
function ofFollowed({ sale, touched, later, unmatched }: Facts): Freshness {
  const given = touched.filter(({ state }) => "sale" in state);
  if ([...later, ...given].some(({ state }) => "last" in state)) {
    return stale("later-in-doubt");
  }
  if (unmatched) return stale("unmatched-since");
  const numbers = [sale.report.receiptNumber, ...later.flatMap(keptNumbers)].map(Number);
  const restarted = numbers.some((number, at) => at > 0 && !follows(numbers[at - 1] ?? 0, number));
  if (restarted) return stale("numbers-restarted");
  return { freshness: "fresh" };
}

function follows(before: number, number: number): boolean {
  return number > before || (before > RECEIPT_MAX - WRAP_WINDOW && number < WRAP_WINDOW);
}

function keptNumbers({ state }: Attempt): readonly string[] {
  const number = saleOf(state)?.report.receiptNumber;
  return number ? [number] : [];
}

function resultsOf({ state }: Attempt): readonly TransactionReport[] {
  const results = [saleOf(state)?.report, endReportOf(state)];
  return results.filter((report) => report !== undefined);
}

function isKnown({ sale, results, isShared }: Facts, report: TransactionReport): boolean {
  return [sale.report, ...results].some(
    (one) =>
      compareReports(one, report) === "same" &&
      // Another till's sale can have our numbers, so the times must agree as well.
      (!isShared || haveMoments(one, report)),
  );
}
