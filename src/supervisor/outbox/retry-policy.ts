import type { FaultRow } from "../gateway/fault-table.ts";

/**
 * When a transaction is tried again, and when it is given to an operator (docs/design.md 8.4).
 * Pure: time and random values are arguments.
 *
 * Delays are exponential with full jitter: a random time between nothing and 2 s, 4 s, 8 s, 16 s,
 * 32 s, 64 s, 128 s, 256 s, 512 s and then, for ever, 15 minutes; the queue tries once in each
 * quarter of an hour then, in the kiosk's own slot of it. The item waits when the failure
 * may be its own; the queue waits when the gateway as a whole did not answer (`waits` of the fault
 * table), so that an outage neither reorders the queue nor costs one try per item.
 */
const DELAY_BASE_MS = 2_000;
export const DELAY_CAP_MS = 15 * 60_000;
/** After a failure that may be one item's own, the others wait no longer than this. */
export const SHARED_HOLD_CAP_MS = 60_000;
/** A `Retry-After` of more than a day counts as a day. */
export const RETRY_AFTER_CAP_MS = 24 * 60 * 60_000;
export const PARK_AFTER_MS = 24 * 60 * 60_000;
/** So that a day is a day of tries, not one try before and one after a jump of the clock. */
export const PARK_TRIES_MIN = 20;
/** How often one try finds out whether refused credentials are accepted again. */
export const PROBE_INTERVAL_MS = 60 * 60_000;
/** A probe that learnt nothing is repeated no sooner than this. */
export const PROBE_RETRY_MS = 60_000;

/** Failures in a row so far. */
export interface ItemHistory {
  /** Tries after which the item itself had to wait. */
  readonly failures: number;
  /** Since when every try got an answer without a result; null when the last one did not. */
  readonly noResultSinceMs: number | null;
  readonly noResultTries: number;
}

/** Of an item that was never tried. */
export const noHistory: ItemHistory = { failures: 0, noResultSinceMs: null, noResultTries: 0 };

export interface Decision {
  readonly state: "pending" | "sent" | "parked";
  /** 0: keeps its position in the queue. */
  readonly itemDelayMs: number;
  /** 0: the others go on at once. */
  readonly queueHoldMs: number;
  readonly pause: boolean;
  readonly history: ItemHistory;
}

export interface Circumstances {
  readonly nowMs: number;
  /** Failures of the gateway as a whole, in a row, before this one. */
  readonly queueFailures: number;
  readonly retryAfterMs: number | null;
  /** Sends so far without knowing whether the gateway has the order (uncertain-send-policy.ts). */
  readonly resends: number;
  /** From 0 (included) to 1 (excluded). */
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
  // An item that may be at the gateway already is never parked for this: it is sent once a day.
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
  const holdMs = holdDelayMs(now.queueFailures, now.nowMs, now.slot, now.random);
  return Math.max(waits === "both" ? Math.min(holdMs, SHARED_HOLD_CAP_MS) : holdMs, askedMs);
}

/** Full jitter: any time up to the ceiling, which doubles with every failure before this one. */
export function delayMs(failuresBefore: number, random: () => number): number {
  return Math.floor(random() * delayCeilingMs(failuresBefore));
}

/**
 * The wait of the queue. The longest one ends in the kiosk's own slot of the quarter of an hour: so
 * a thousand kiosks come back evenly after a long outage.
 */
export function holdDelayMs(
  failuresBefore: number,
  nowMs: number,
  slot: number,
  random: () => number,
): number {
  return delayCeilingMs(failuresBefore) === DELAY_CAP_MS
    ? untilSlotMs(nowMs, slot)
    : delayMs(failuresBefore, random);
}

/** The time from `nowMs` of any clock to the next `slot`, from 0 to 1, of a quarter of an hour. */
export function untilSlotMs(nowMs: number, slot: number): number {
  return DELAY_CAP_MS - ((nowMs + Math.floor(slot * DELAY_CAP_MS)) % DELAY_CAP_MS);
}

export function delayCeilingMs(failuresBefore: number): number {
  return Math.min(DELAY_CAP_MS, DELAY_BASE_MS * 2 ** Math.min(failuresBefore, 20));
}

/**
 * `Retry-After` in milliseconds from now: seconds or an HTTP date (RFC 9110, 10.2.3); null when it
 * is neither.
 */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  const trimmed = text.trim();
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed) * 1_000;
  const atMs = /^[A-Z][a-z]{2}, /.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(atMs - nowMs, 0);
}
