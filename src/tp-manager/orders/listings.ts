import { majorOf } from "../../shared/money.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { storage } from "../attempts/failures.ts";
import type { SettledUnmatched } from "../attempts/findings.ts";
import { type Attempt, endReportOf } from "../attempts/payment.ts";
import { chargedMinorOf, type PaymentStatus } from "../attempts/phase-table.ts";
import type { Reconciliation } from "../attempts/reconciliation/reconciliation-policy.ts";
import type { ListedAttempt, ListPage } from "../journal/attempt-columns.ts";
import type { Journal } from "../journal/journal.ts";
import { asAnswered } from "./admission.ts";

export type Listings = ReturnType<typeof listingsOf>;

/**
 * Returns pages of the journal for people, the newest entries first, without asking the terminal or
 * the gateway. Each method throws STORAGE_FAILED when the journal cannot be read.
 */
export function listingsOf(journal: Journal, arbiter: TerminalArbiter) {
  return {
    list(page: ListPage): ListedAttempt[] {
      const listed = storage(() => journal.attempts.list(page), "unknown");
      return listed.map((one) => ({ ...one, attempt: asAnswered(one.attempt, journal, arbiter) }));
    },

    listArchived(page: ListPage): ListedAttempt[] {
      return storage(() => journal.archive.list(page), "unknown");
    },

    unmatchedTransactions(limit: number): SettledUnmatched[] {
      return storage(() => journal.terminalLog.unmatched(limit), "unknown");
    },

    reconciliations(limit: number, before: number | null): Reconciliation[] {
      return storage(() => journal.reconciliations.list(limit, before), "unknown");
    },

    /** Returns an attempt in its present state; undefined: it is in the archive. */
    attempt(transactionId: string): Attempt | undefined {
      return storage(() => journal.attempts.read(transactionId), "unknown");
    },
  };
}

/** The largest number of attempts that one search reads, because a payment may wait meanwhile. */
const SEARCHED_MAX = 500;

/** Where a search continues, in journal or archive; `before` null: at the newest attempt. */
export interface SearchPosition {
  readonly archived: boolean;
  readonly before: number | null;
}

/** The values that a search looks for; undefined: any value is wanted. */
interface Search {
  readonly status?: PaymentStatus | undefined;
  /** A part of the order id; upper and lower case are not distinguished. */
  readonly order?: string | undefined;
  /** The amount requested or charged, in major units. */
  readonly amount?: number | undefined;
  /** The last digits of the masked card number. */
  readonly card?: string | undefined;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly limit: number;
  readonly position: SearchPosition;
}

/**
 * Returns the attempts of a time range that have the wanted values, newest first. Each call reads
 * at most {@link SEARCHED_MAX} rows of the listings by time and status, so that no index is needed
 * (docs/design.md 5.17). `next`: where the search continues; null when the range is finished.
 * `searchedToMs`: the start of the oldest attempt that was read; null when no attempt was read.
 */
export function searchPayments(listings: Listings, search: Search) {
  const { fromMs: sinceMs, untilMs, limit, position, status = null, card } = search;
  const found: Array<ListedAttempt & { archived: boolean }> = [];
  let searchedToMs: number | null = null;
  let left = SEARCHED_MAX;
  let next: SearchPosition | null = position;
  while (next) {
    const { archived, before }: SearchPosition = next;
    // The archive has no card numbers, so a search for a card number ends at the archive.
    if (archived && card !== undefined) return { found, next: null, searchedToMs };
    if (left === 0 || found.length === limit) break;
    const page = { sinceMs, untilMs, before, limit: left, status };
    const listed: ListedAttempt[] = archived ? listings.listArchived(page) : listings.list(page);
    const isFull = listed.length === left;
    left -= listed.length;
    next = archived ? null : { archived: true, before: null };
    for (const [index, one] of listed.entries()) {
      if (isWanted(one.attempt, search)) found.push({ ...one, archived });
      searchedToMs = one.attempt.startedAtMs;
      const isLast = index === listed.length - 1;
      if (found.length < limit && !(isLast && isFull)) continue;
      if (!isLast || isFull) next = { archived, before: one.position };
      break;
    }
  }
  return { found, next, searchedToMs };
}

function isWanted(attempt: Attempt, { order, amount, card }: Search): boolean {
  const { orderId, echo, currency } = attempt.request;
  if (order !== undefined && !orderId.toLowerCase().includes(order.toLowerCase())) return false;
  // A masked card number may end in other characters than digits, which are removed here.
  const digits = cardOf(attempt)?.replace(/\D+$/, "");
  if (card !== undefined && !digits?.endsWith(card)) return false;
  if (amount === undefined || echo.amount === amount) return true;
  return majorOf(chargedMinorOf(attempt), currency) === amount;
}

/** Returns the masked card number, if the terminal has reported one. */
export function cardOf({ state }: Attempt): string | null {
  const last = "last" in state ? state.last?.report : undefined;
  return (endReportOf(state) ?? last)?.maskedPan ?? null;
}
