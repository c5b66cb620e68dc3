import { majorOf } from "../../shared/money.ts";
import { type Attempt, endReportOf } from "../attempts/payment.ts";
import { chargedMinorOf, type PaymentStatus } from "../attempts/phase-table.ts";
import type { ListedAttempt, ListPage } from "../journal/attempt-columns.ts";
import type { Listings } from "./listings.ts";

/** Attempts that one search looks at: a payment that begins meanwhile waits for one page. */
const SEARCHED_MAX = 500;

/** The order of the listing, which goes on in the archive; null begins at the newest. */
export interface SearchPlace {
  readonly archived: boolean;
  readonly before: number | null;
}

/** null: whatever it is. */
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
  readonly place: SearchPlace;
}

interface FoundAttempt extends ListedAttempt {
  readonly archived: boolean;
}

interface Found {
  readonly found: readonly FoundAttempt[];
  /** Where the search goes on; null: all of the range was looked at. */
  readonly next: SearchPlace | null;
  /** The start of the oldest attempt that was looked at. */
  readonly searchedToMs: number | null;
}

/**
 * Attempts of a range that fit, newest first. Each call reads at most {@link SEARCHED_MAX} rows of
 * the listings by time and status, so no index is kept for what is searched (docs/design.md 5.17).
 */
export function searchPayments(listings: Listings, search: Search): Found {
  const recent = search.place.archived ? undefined : pageOf(listings, search, SEARCHED_MAX);
  if (recent?.next) return recent;
  const place = search.place.archived ? search.place : { archived: true, before: null };
  // The archive has no cards.
  if (search.card !== null) return recent ?? nothing;
  const left = {
    searched: SEARCHED_MAX - (recent?.searched ?? 0),
    limit: search.limit - (recent?.found.length ?? 0),
  };
  if (left.searched <= 0 || left.limit <= 0) return { ...nothing, ...recent, next: place };
  const old = pageOf(listings, { ...search, place, limit: left.limit }, left.searched);
  return {
    found: [...(recent?.found ?? []), ...old.found],
    next: old.next,
    searchedToMs: old.searchedToMs ?? recent?.searchedToMs ?? null,
  };
}

const nothing: Found = { found: [], next: null, searchedToMs: null };

function pageOf(
  listings: Listings,
  { fromMs, untilMs, limit, place, ...wanted }: Search,
  searchedMax: number,
): Found & { readonly searched: number } {
  const { archived, before } = place;
  const page: ListPage = {
    sinceMs: fromMs,
    untilMs,
    before,
    limit: searchedMax,
    status: wanted.status,
  };
  const listed = archived ? listings.listArchived(page) : listings.list(page);
  const found: FoundAttempt[] = [];
  let seen = 0;
  for (const one of listed) {
    seen += 1;
    if (fits(one.attempt, wanted)) found.push({ ...one, archived });
    if (found.length === limit) break;
  }
  const last = listed[seen - 1];
  const hasMore = seen < listed.length || listed.length === searchedMax;
  return {
    found,
    next: last && hasMore ? { archived, before: last.position } : null,
    searchedToMs: last?.attempt.startedAtMs ?? null,
    searched: listed.length,
  };
}

function fits(attempt: Attempt, { order, amount, card }: Wanted): boolean {
  const { orderId, echo, currency } = attempt.request;
  if (order !== null && !orderId.toLowerCase().includes(order.toLowerCase())) return false;
  if (card !== null && !cardEndsWith(attempt, card)) return false;
  if (amount === null || echo.amount === amount) return true;
  return majorOf(chargedMinorOf(attempt), currency) === amount;
}

/** The masked number of the card, as far as the terminal has told one. */
export function cardOf({ state }: Attempt): string | null {
  const last = "last" in state ? state.last?.report : undefined;
  return (endReportOf(state) ?? last)?.maskedPan ?? null;
}

/** Terminals fill a masked number up in their own ways. */
function cardEndsWith(attempt: Attempt, digits: string): boolean {
  return cardOf(attempt)?.replace(/\D+$/, "").endsWith(digits) ?? false;
}
