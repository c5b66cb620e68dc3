import { type FaultRow, faultTable, type TryClass } from "../gateway/fault-table.ts";
import type { OrderFinding } from "../gateway/lookup.ts";
import { type Circumstances, DELAY_CAP_MS, delayCeilingMs, untilSlotMs } from "./retry-policy.ts";

/** What is known of an order whose answer was lost: it is looked up first (docs/design.md 8.5). */
export interface UncertainSend {
  /** The next step is a lookup, not a send. */
  readonly lookUpNext: boolean;
  /** When the last send was made that may have reached the gateway; null: none may have. */
  readonly sentAtMs: number | null;
  /** How many sends were made while an earlier one may have reached the gateway. */
  readonly resends: number;
  /** How many sends may have made an order at the gateway; with two there may be a copy. */
  readonly orders: number;
  /** When a lookup first did not find the order. */
  readonly absentSinceMs: number | null;
  /** How many lookups in a row gave no answer. */
  readonly unanswered: number;
}

/** The state of an item that was never sent, or of which the end of each send is known. */
export const noUncertainSend: UncertainSend = {
  lookUpNext: false,
  sentAtMs: null,
  resends: 0,
  orders: 0,
  absentSinceMs: null,
  unanswered: 0,
};

/** The time between two lookups that must both miss an order, which may be in work meanwhile. */
const ABSENT_FOR_MS = 60_000;
/** The first pause between sends without an answered lookup; it doubles, up to 10.7 hours. */
const RESEND_PAUSE_MS = 10 * 60_000;
/** How many sends the first day without an answered lookup has; each later day has one. */
export const SENDS_OF_FIRST_DAY = 8;
/** The pause between sends after the first day without an answered lookup. */
const DAILY_MS = 24 * 60 * 60_000;
/** The shortest pause after a send while the lookup fails; then the order is sent without it. */
const FAILING_PAUSE_MS = 60 * 60_000;
const LOOKUP_HOLD_FIRST_MS = 2_000;
const LOOKUP_HOLD_LEAST_MS = 100;
/** The longest wait of all lookups, as a multiple of the time that the gateway was silent. */
const LOOKUP_HOLD_FACTOR = 3;

/** Returns the uncertainty about an item after a try of this class. Pure. */
export function uncertainAfterSend(
  tryClass: TryClass,
  before: UncertainSend,
  nowMs: number,
): UncertainSend {
  const { ambiguous, unsent, action }: FaultRow = faultTable[tryClass];
  const blind = before.sentAtMs !== null;
  if (unsent) return { ...before, lookUpNext: blind };
  const sent = action === "sent";
  if (!ambiguous && !sent && !blind) return before;
  return {
    lookUpNext: !sent,
    sentAtMs: nowMs,
    resends: before.resends + (blind ? 1 : 0),
    orders: before.orders + (ambiguous || sent ? 1 : 0),
    absentSinceMs: null,
    unanswered: 0,
  };
}

export interface LookupDecision {
  /** "send": the queue sends it when it is due. */
  readonly next: "look-up" | "send" | "sent" | "parked";
  readonly delayMs: number;
  readonly uncertain: UncertainSend;
  /** The order is sent again without knowing whether the gateway has it. */
  readonly blind: boolean;
  /** The gateway gave no answer: all lookups wait. */
  readonly silent: boolean;
}

type Now = Pick<Circumstances, "nowMs" | "retryAfterMs" | "random">;

/** Decides what one lookup means for its order. Pure. */
export function decideLookup(
  finding: OrderFinding,
  before: UncertainSend,
  now: Now,
): LookupDecision {
  const decided = { delayMs: 0, blind: false, silent: false } as const;
  switch (finding.kind) {
    case "ours":
      return { ...decided, next: "sent", uncertain: { ...before, lookUpNext: false } };
    case "other":
      // After a requeue the order is sent: an operator has checked the gateway before.
      return { ...decided, next: "parked", uncertain: { ...before, lookUpNext: false } };
    case "absent": {
      const { absentSinceMs } = before;
      // A clock that was set back begins the minute again.
      const isBack = absentSinceMs === null || absentSinceMs > now.nowMs;
      const sinceMs = isBack ? now.nowMs : absentSinceMs;
      const delayMs = sinceMs + ABSENT_FOR_MS - now.nowMs;
      if (delayMs <= 0) return { ...decided, next: "send", uncertain: noUncertainSend };
      const uncertain = { ...before, absentSinceMs: sinceMs, unanswered: 0 };
      return { ...decided, next: "look-up", delayMs, uncertain };
    }
    case "unanswered":
      return afterSilence(finding, before, now);
  }
}

function afterSilence(
  { verdict, refused }: Extract<OrderFinding, { kind: "unanswered" }>,
  before: UncertainSend,
  { nowMs, retryAfterMs, random }: Now,
): LookupDecision {
  const { unsent } = faultTable[verdict.class] as FaultRow;
  const sentAtMs = Math.min(before.sentAtMs ?? 0, nowMs);
  const uncertain = { ...before, sentAtMs, unanswered: before.unanswered + 1 };
  const silent = !refused;
  const again = { next: "look-up", blind: false, silent, uncertain } as const;
  const askedMs = Math.min(retryAfterMs ?? 0, DELAY_CAP_MS);
  const soonMs = Math.max(lookupPauseMs(before.unanswered, random), askedMs);
  // A lookup that did not leave this machine: a send would not leave either.
  if (unsent) return { ...again, delayMs: soonMs };
  const leftMs = sentAtMs + resendPauseMs(before.resends, refused) - nowMs;
  if (leftMs > 0) return { ...again, delayMs: refused ? leftMs : Math.min(soonMs, leftMs) };
  const sendable = { ...uncertain, lookUpNext: false };
  return { next: "send", delayMs: 0, blind: true, silent, uncertain: sendable };
}

/** Returns the pause between the last send and one that is made without an answered lookup. */
function resendPauseMs(resends: number, refused: boolean): number {
  if (resends >= SENDS_OF_FIRST_DAY - 1) return DAILY_MS;
  return Math.max(RESEND_PAUSE_MS * 2 ** resends, refused ? 0 : FAILING_PAUSE_MS);
}

/** Returns the pause between two lookups: half to all of the ceiling of sends, 1 s to 15 min. */
function lookupPauseMs(unanswered: number, random: () => number): number {
  const ceilingMs = delayCeilingMs(unanswered);
  return Math.floor(ceilingMs / 2 + (random() * ceilingMs) / 2);
}

/**
 * Returns the wait of all lookups while the gateway has been silent for `silentMs`: one to three
 * times that, so that an outage of a minute costs no kiosk more than three. From five minutes on a
 * lookup comes once in each quarter of an hour, in the kiosk's own `slot` of it, from 0 to 1
 * (docs/design.md 8.5).
 */
export function lookupHoldMs(silentMs: number, slot: number, random: () => number): number {
  const most = Math.max(silentMs * LOOKUP_HOLD_FACTOR, LOOKUP_HOLD_FIRST_MS);
  if (most >= DELAY_CAP_MS) return untilSlotMs(silentMs, slot);
  const least = Math.max(silentMs, LOOKUP_HOLD_LEAST_MS);
  return least + Math.floor(random() * (most - least));
}
