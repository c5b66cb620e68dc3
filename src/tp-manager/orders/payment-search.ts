import { majorOf } from "../../shared/money.ts";
import { type Attempt, endReportOf } from "../attempts/payment.ts";
import { chargedMinorOf, type PaymentStatus } from "../attempts/phase-table.ts";
import type { ListedAttempt } from "../journal/attempt-columns.ts";
import type { Listings } from "./listings.ts";

/** Attempts that one search reads: a payment that begins meanwhile waits for one page. */
const SEARCHED_MAX = 500;

/** A position in the listing, which goes on in the archive; `before` null begins at the newest. */
export interface SearchPosition {
  readonly archived: boolean;
  readonly before: number | null;
}

/** null: any value. */
interface Wanted {
  readonly status: PaymentStatus | null;
  /** A part of the order id, in any case. */
  readonly order: string | null;
  /** In major units, asked for or charged. */
  readonly amount: number | null;
  /** The last digits of the masked card number. */
  readonly card: string | null;
}

interface Search extends Wanted {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly limit: number;
  readonly position: SearchPosition;
}

interface SearchResult {
  readonly found: ReadonlyArray<ListedAttempt & { readonly archived: boolean }>;
  /** Where the search goes on; null: all of the range was read. */
  readonly next: SearchPosition | null;
  /** The start of the oldest attempt that was read; null: none was. */
  readonly searchedToMs: number | null;
}

/**
 * Attempts of a range with the wanted values, newest first. Each call reads at most
 * {@link SEARCHED_MAX} rows of the listings by time and status, so no index is kept for what is
 * searched (docs/design.md 5.17).
 */
export function searchPayments(listings: Listings, search: Search): SearchResult {
  const { fromMs: sinceMs, untilMs, limit, position, status, card } = search;
  const found: Array<ListedAttempt & { archived: boolean }> = [];
  let searchedToMs: number | null = null;
  let left = SEARCHED_MAX;
  let next: SearchPosition | null = position;
  while (next) {
    const { archived, before }: SearchPosition = next;
    // The archive has no cards.
    if (archived && card !== null) return { found, next: null, searchedToMs };
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

function isWanted(attempt: Attempt, { order, amount, card }: Wanted): boolean {
  const { orderId, echo, currency } = attempt.request;
  if (order !== null && !orderId.toLowerCase().includes(order.toLowerCase())) return false;
  if (card !== null && !cardEndsWith(attempt, card)) return false;
  if (amount === null || echo.amount === amount) return true;
  return majorOf(chargedMinorOf(attempt), currency) === amount;
}

/** The masked number of the card, as far as the terminal has reported one. */
export function cardOf({ state }: Attempt): string | null {
  const last = "last" in state ? state.last?.report : undefined;
  return (endReportOf(state) ?? last)?.maskedPan ?? null;
}

/** Terminals fill a masked number up in their own ways. */
function cardEndsWith(attempt: Attempt, digits: string): boolean {
  return cardOf(attempt)?.replace(/\D+$/, "").endsWith(digits) ?? false;
}
