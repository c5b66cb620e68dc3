import type { FaultRow } from "../gateway/fault-table.ts";

/*
 * This file decides when a transaction is sent again, and when it is parked for an operator
 * (docs/design.md 8.4). After a failure that may concern one transaction, that item alone waits.
 * While the gateway as a whole does not answer, the queue waits, so that an outage neither reorders
 * the queue nor costs a try for each item.
 */

/** The upper limit of the first delay; each failure doubles it, up to {@link DELAY_CAP_MS}. */
const DELAY_BASE_MS = 2_000;
/** The longest delay between two tries: a quarter of an hour. */
export const DELAY_CAP_MS = 15 * 60_000;
/** The longest wait of the whole queue after a failure that may concern one item only. */
export const SHARED_HOLD_CAP_MS = 60_000;
/** The longest `Retry-After` of the gateway that the connector obeys. */
const RETRY_AFTER_CAP_MS = 24 * 60 * 60_000;
/** How long the gateway may answer an item's tries without a result before the item is parked. */
const PARK_AFTER_MS = 24 * 60 * 60_000;
/** The smallest number of tries before an item is parked, so that a clock jump parks no item. */
const PARK_TRIES_MIN = 20;
/** The pause between tries that find out whether the gateway accepts refused credentials again. */
export const PROBE_INTERVAL_MS = 60 * 60_000;
/** The shortest pause after a try without a result while refused credentials pause the queue. */
export const PROBE_RETRY_MS = 60_000;

export interface ItemHistory {
  /** The number of failed tries after each of which the item itself had to wait. */
  readonly failures: number;
  /** Since when every try was answered without a result; null: the last try ended otherwise. */
  readonly noResultSinceMs: number | null;
  readonly noResultTries: number;
}

export const noHistory: ItemHistory = { failures: 0, noResultSinceMs: null, noResultTries: 0 };

export interface Decision {
  readonly state: "pending" | "sent" | "parked";
  /** How long the item waits; 0: the item keeps its position in the queue. */
  readonly itemDelayMs: number;
  /** How long the queue waits; 0: the queue continues at once. */
  readonly queueHoldMs: number;
  readonly pause: boolean;
  readonly history: ItemHistory;
}

export interface Circumstances {
  readonly nowMs: number;
  /** The number of consecutive failures of the gateway as a whole before this try. */
  readonly queueFailures: number;
  readonly retryAfterMs: number | null;
  /** How often the order was sent although the gateway may have had it already. */
  readonly resends: number;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** This kiosk's random point (0 to 1) of each quarter of an hour, for tries in a long outage. */
  readonly slot: number;
}

const settled = { itemDelayMs: 0, queueHoldMs: 0, pause: false } as const;

/** Decides by a try's row of the fault table what the try means for its item and the queue. */
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

function queueHold({ waits }: FaultRow, now: Circumstances): number {
  if (waits !== "queue" && waits !== "both") return 0;
  const askedMs = Math.min(now.retryAfterMs ?? 0, DELAY_CAP_MS);
  // In a long outage each kiosk tries once in a quarter of an hour, at a moment that is random for
  // each kiosk, so that a thousand kiosks return evenly.
  const holdMs =
    delayCeilingMs(now.queueFailures) === DELAY_CAP_MS
      ? untilSlotMs(now.nowMs, now.slot)
      : delayMs(now.queueFailures, now.random);
  return Math.max(waits === "both" ? Math.min(holdMs, SHARED_HOLD_CAP_MS) : holdMs, askedMs);
}

/** Returns a random time up to a limit that doubles with each failure (full jitter). */
export function delayMs(failuresBefore: number, random: () => number): number {
  return Math.floor(random() * delayCeilingMs(failuresBefore));
}

/** Returns the time until the next point of a quarter of an hour that `slot` (0 to 1) names. */
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
