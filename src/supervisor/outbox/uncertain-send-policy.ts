import { type FaultRow, faultTable, type TryClass } from "../gateway/fault-table.ts";
import type { OrderFinding } from "../gateway/lookup.ts";
import { type Circumstances, DELAY_CAP_MS, delayCeilingMs, untilSlotMs } from "./retry-policy.ts";

/** The state of an order with a lost answer, looked up before each send (docs/design.md 8.5). */
export interface UncertainSend {
  /** Whether the next step is a lookup; false: the next step is a send. */
  readonly lookUpNext: boolean;
  /** The time of the last send that may have reached the gateway; null: there is none. */
  readonly sentAtMs: number | null;
  /** How many sends were made while an earlier send may have reached the gateway. */
  readonly resends: number;
  /** How many sends may have made an order at the gateway; 2 or more: a duplicate may exist. */
  readonly orders: number;
  /** Since when lookups after the last send have not found the order; null: no lookup missed it. */
  readonly absentSinceMs: number | null;
  /** The number of consecutive lookups without an answer. */
  readonly unanswered: number;
}

/** The state of an item when the outcome of each of its sends is known. */
export const noUncertainSend: UncertainSend = {
  lookUpNext: false,
  sentAtMs: null,
  resends: 0,
  orders: 0,
  absentSinceMs: null,
  unanswered: 0,
};

/** How long an order must be missing until it counts as absent; it may be in work until then. */
const ABSENT_FOR_MS = 60_000;
/** The first pause between sends while no lookup is answered; it doubles, up to 10.7 hours. */
const RESEND_PAUSE_MS = 10 * 60_000;
/** The number of sends on the first day without an answered lookup; each later day has one send. */
export const SENDS_OF_FIRST_DAY = 8;
const DAILY_MS = 24 * 60 * 60_000;
/** While lookups fail, an order is sent again without a lookup after this pause at the earliest. */
const FAILING_PAUSE_MS = 60 * 60_000;
const LOOKUP_HOLD_FIRST_MS = 2_000;
const LOOKUP_HOLD_LEAST_MS = 100;
/** The longest wait of all lookups, as a multiple of the time that the gateway was silent. */
const LOOKUP_HOLD_FACTOR = 3;

/** Returns an item's {@link UncertainSend} after a try that ended with `tryClass`. Pure. */
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

interface LookupDecision {
  /** The item's next step or end; "send": the queue sends the item when it is due. */
  readonly next: "look-up" | "send" | "sent" | "parked";
  readonly delayMs: number;
  readonly uncertain: UncertainSend;
  /** Whether the order is sent again although the gateway may have it. */
  readonly blind: boolean;
  /** Whether the gateway gave no answer, so that all lookups wait. */
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
      // If an operator requeues the item, it is sent without a lookup: the operator has checked it.
      return { ...decided, next: "parked", uncertain: { ...before, lookUpNext: false } };
    case "absent": {
      const { absentSinceMs } = before;
      // If the clock was set back, the minute for which the order must be absent begins again.
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
  // When a lookup could not leave this machine, a send could not leave it either.
  if (unsent) return { ...again, delayMs: soonMs };
  const leftMs = sentAtMs + resendPauseMs(before.resends, refused) - nowMs;
  if (leftMs > 0) return { ...again, delayMs: refused ? leftMs : Math.min(soonMs, leftMs) };
  const sendable = { ...uncertain, lookUpNext: false };
  return { next: "send", delayMs: 0, blind: true, silent, uncertain: sendable };
}

function resendPauseMs(resends: number, refused: boolean): number {
  if (resends >= SENDS_OF_FIRST_DAY - 1) return DAILY_MS;
  return Math.max(RESEND_PAUSE_MS * 2 ** resends, refused ? 0 : FAILING_PAUSE_MS);
}

/** Returns the pause until the next lookup: a random part, at least half, of a growing limit. */
function lookupPauseMs(unanswered: number, random: () => number): number {
  const ceilingMs = delayCeilingMs(unanswered);
  return Math.floor(ceilingMs / 2 + (random() * ceilingMs) / 2);
}

/**
 * Returns how long all lookups wait while the gateway has been silent for `silentMs`: one to three
 * times as long. From five minutes of silence on, one lookup is made in each quarter of an hour, at
 * a moment that is random for this kiosk (`slot`, from 0 to 1; docs/design.md 8.5).
 */
export function lookupHoldMs(silentMs: number, slot: number, random: () => number): number {
  const most = Math.max(silentMs * LOOKUP_HOLD_FACTOR, LOOKUP_HOLD_FIRST_MS);
  if (most >= DELAY_CAP_MS) return untilSlotMs(silentMs, slot);
  const least = Math.max(silentMs, LOOKUP_HOLD_LEAST_MS);
  return least + Math.floor(random() * (most - least));
}
