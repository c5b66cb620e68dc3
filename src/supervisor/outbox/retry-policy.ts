import type { FaultRow } from "../gateway/fault-table.ts";

/*
 * When a transaction is tried again, and when it is given to an operator (docs/design.md 8.4). The
 * item waits when the failure may be its own; the queue waits when the gateway as a whole did not
 * answer, so that an outage neither reorders the queue nor costs a try for each item.
 */

/** The ceiling of the first delay; each failure doubles it, up to {@link DELAY_CAP_MS}. */
const DELAY_BASE_MS = 2_000;
/** The longest delay: the queue then tries once in each quarter of an hour. */
export const DELAY_CAP_MS = 15 * 60_000;
/** The longest wait of the queue after a failure that may concern one item only. */
export const SHARED_HOLD_CAP_MS = 60_000;
/** The longest `Retry-After` that is kept to. */
const RETRY_AFTER_CAP_MS = 24 * 60 * 60_000;
/** How long an item gets answers without a result before it is parked. */
const PARK_AFTER_MS = 24 * 60 * 60_000;
/** The fewest tries before an item is parked, so that a jump of the clock parks none. */
const PARK_TRIES_MIN = 20;
/** The pause between tries that find out whether refused credentials are accepted again. */
export const PROBE_INTERVAL_MS = 60 * 60_000;
/** The pause before a try with refused credentials is repeated when it got no answer. */
export const PROBE_RETRY_MS = 60_000;

/** The failures of an item in a row so far. */
export interface ItemHistory {
  /** How many tries ended so that the item itself had to wait. */
  readonly failures: number;
  /** Since when each try got an answer without a result; null: the last try did not. */
  readonly noResultSinceMs: number | null;
  readonly noResultTries: number;
}

/** The history of an item that was never tried. */
export const noHistory: ItemHistory = { failures: 0, noResultSinceMs: null, noResultTries: 0 };

export interface Decision {
  readonly state: "pending" | "sent" | "parked";
  /** How long the item waits; 0: it keeps its position in the queue. */
  readonly itemDelayMs: number;
  /** How long the queue waits; 0: it goes on at once. */
  readonly queueHoldMs: number;
  readonly pause: boolean;
  readonly history: ItemHistory;
}

export interface Circumstances {
  readonly nowMs: number;
  /** How often the gateway as a whole has failed in a row before. */
  readonly queueFailures: number;
  readonly retryAfterMs: number | null;
  /** How often the order was sent although the gateway may have had it already. */
  readonly resends: number;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** The kiosk's own slot of each quarter of an hour, from 0 to 1. */
  readonly slot: number;
}

const settled = { itemDelayMs: 0, queueHoldMs: 0, pause: false } as const;

/** Decides what one try, with this row of the fault table, means for the item and for the queue. */
export function decide(row: FaultRow, item: ItemHistory, now: Circumstances): Decision {
  const kept: ItemHistory = { ...item, noResultSinceMs: null, noResultTries: 0 };
  switch (row.action) {
    case "sent":
      return { ...settled, state: "sent", history: kept };
    case "park":
      return { ...settled, state: "parked", history: kept };
    case "pause":
      return { ...settled, state: "pending", pause: true, history: kept };
    case "retry":
      return retry(row, item, now);
  }
}

function retry(row: FaultRow, item: ItemHistory, now: Circumstances): Decision {
  const itemWaits = row.waits === "item" || row.waits === "both";
  const history: ItemHistory = {
    failures: itemWaits ? item.failures + 1 : item.failures,
    noResultSinceMs: row.parkAfterADay ? (item.noResultSinceMs ?? now.nowMs) : null,
    noResultTries: row.parkAfterADay ? item.noResultTries + 1 : 0,
  };
  // An order that the gateway may have already is sent once a day, and never parked.
  if (now.resends === 0 && isHopeless(history, now.nowMs))
    return { ...settled, state: "parked", history };
  const askedMs = Math.min(now.retryAfterMs ?? 0, RETRY_AFTER_CAP_MS);
  const itemDelayMs = itemWaits ? Math.max(delayMs(item.failures, now.random), askedMs) : 0;
  return { state: "pending", itemDelayMs, queueHoldMs: queueHold(row, now), pause: false, history };
}

function isHopeless({ noResultSinceMs, noResultTries }: ItemHistory, nowMs: number): boolean {
  return (
    noResultSinceMs !== null &&
    nowMs - noResultSinceMs >= PARK_AFTER_MS &&
    noResultTries >= PARK_TRIES_MIN
  );
}

/** Returns how long the queue waits; 0: it goes on at once. */
function queueHold({ waits }: FaultRow, now: Circumstances): number {
  if (waits !== "queue" && waits !== "both") return 0;
  const askedMs = Math.min(now.retryAfterMs ?? 0, DELAY_CAP_MS);
  // The longest wait ends in the kiosk's own slot of the quarter of an hour, so that a thousand
  // kiosks come back evenly after a long outage.
  const holdMs =
    delayCeilingMs(now.queueFailures) === DELAY_CAP_MS
      ? untilSlotMs(now.nowMs, now.slot)
      : delayMs(now.queueFailures, now.random);
  return Math.max(waits === "both" ? Math.min(holdMs, SHARED_HOLD_CAP_MS) : holdMs, askedMs);
}

/** Returns a random time up to the ceiling, which doubles with each failure (full jitter). */
export function delayMs(failuresBefore: number, random: () => number): number {
  return Math.floor(random() * delayCeilingMs(failuresBefore));
}

/** Returns the time from `nowMs` to the next `slot`, from 0 to 1, of a quarter of an hour. */
export function untilSlotMs(nowMs: number, slot: number): number {
  return DELAY_CAP_MS - ((nowMs + Math.floor(slot * DELAY_CAP_MS)) % DELAY_CAP_MS);
}

export function delayCeilingMs(failuresBefore: number): number {
  return Math.min(DELAY_CAP_MS, DELAY_BASE_MS * 2 ** Math.min(failuresBefore, 20));
}

/** Returns a `Retry-After` in milliseconds (RFC 9110, 10.2.3); null: it is unreadable. */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  const trimmed = text.trim();
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed) * 1_000;
  const atMs = /^[A-Z][a-z]{2}, /.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(atMs - nowMs, 0);
}
