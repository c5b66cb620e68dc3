import { AppError } from "../../shared/catalog/errors.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, isCharged, REVERSAL_BEGINS } from "../attempts/payment.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { TerminalRows } from "../journal/terminal-rows.ts";
import { sameTerminal } from "../matching/comparison.ts";
import { freshnessOf, type SaleToReverse } from "../matching/fresh-number.ts";
import type { Matcher } from "../matching/matcher.ts";
import type { Baseline } from "../terminal/terminal.ts";

/** The journal since a sale, and whether others are paid at the terminal too. */
export interface JournalParts {
  readonly attempts: Pick<AttemptRows, "since" | "events">;
  readonly terminalLog: Pick<TerminalRows, "wasClosedSince" | "wasUnmatchedSince">;
  readonly matcher: Pick<Matcher, "isShared">;
}

/**
 * The sale to reverse: sold on the terminal that is connected, and named by its receipt number and
 * by that of no other (docs/rules/07-returns.md, docs/rules/16-fresh.md). `now` is the terminal
 * before the reversal, which is all that is asked of it. Throws {@link AppError}; nothing has left
 * then.
 */
export function reversibleSale(attempt: Attempt, now: Baseline, journal: JournalParts) {
  const { state, startedAtMs, transactionId } = attempt;
  if (!isCharged(state) || state.report.receiptNumber === null) {
    throw new AppError("REVERSAL_REFUSED", "The terminal gave no receipt number for this sale.");
  }
  if (!attempt.baseline || !sameTerminal(attempt.baseline.identity, now.identity)) {
    throw new AppError("REVERSAL_REFUSED", "Another terminal is connected than at the sale.");
  }
  const { terminalLog } = journal;
  if (storage(() => terminalLog.wasClosedSince(startedAtMs, transactionId), "yes")) {
    throw new AppError("REVERSAL_REFUSED", "An end of day ran since the sale.");
  }
  return fresh(attempt, { transactionId, report: state.report }, now, journal);
}

function fresh(
  attempt: Attempt,
  sold: Parameters<typeof freshnessOf>[0],
  now: Baseline,
  { attempts, terminalLog, matcher: { isShared } }: JournalParts,
): SaleToReverse {
  const { transactionId } = attempt;
  const since = storage(() => attempts.since(transactionId), "yes");
  if (!since) throw notSafe("too much has happened since the sale");
  const unmatched = storage(() => terminalLog.wasUnmatchedSince(transactionId), "yes");
  const events = storage(() => attempts.events(transactionId), "yes");
  const wasTried = events.some(({ kind }) => kind === REVERSAL_BEGINS);
  const verdict = freshnessOf(sold, now, { ...since, unmatched, wasTried, isShared });
  switch (verdict.freshness) {
    case "fresh":
      return { attempt, reversedBefore: null };
    case "reversed":
      return { attempt, reversedBefore: verdict.report };
    case "stale":
      throw notSafe(verdict.because);
  }
}

function notSafe(because: string): AppError {
  return new AppError("REVERSAL_NOT_SAFE", undefined, { details: { because } });
}
