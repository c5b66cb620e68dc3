import { type FaultRow, faultTable, type TryClass } from "../gateway/fault-table.ts";
import type { OrderFinding } from "../gateway/lookup.ts";
import { DELAY_CAP_MS, delayCeilingMs, untilPlaceMs } from "./retry-policy.ts";

/**
 * The next step for an order whose answer was lost (docs/design.md 8.5): a lookup comes before
 * another send. Pure: time and chance are arguments.
 */
export interface Doubt {
  /** The next step is a lookup, not a send. */
  readonly look: boolean;
  /** The last send that may have arrived and that nothing disproves; null: not in doubt. */
  readonly sentAtMs: number | null;
  /** Sends since then that were made without knowing. */
  readonly resends: number;
  /** Sends that may have made an order at the gateway: with two of them there may be a copy. */
  readonly orders: number;
  /** When a lookup did not find the order for the first time. */
  readonly absentSinceMs: number | null;
  /** Lookups in a row from which nothing was learnt. */
  readonly untold: number;
}

export const noDoubt: Doubt = {
  look: false,
  sentAtMs: null,
  resends: 0,
  orders: 0,
  absentSinceMs: null,
  untold: 0,
};

/** An order that the gateway is still working on is not found yet: so it is asked for twice. */
export const ABSENT_FOR_MS = 60_000;
/** Without any lookup the pauses between two sends double from here: 10 minutes to 10.7 hours. */
export const RESEND_PAUSE_MS = 10 * 60_000;
/** So many sends without a lookup in a day, the first one included; then one a day. */
export const SENDS_OF_FIRST_DAY = 8;
export const DAILY_MS = 24 * 60 * 60_000;
/** A lookup in trouble now may answer soon: so long nothing is sent without it. */
export const TROUBLE_PAUSE_MS = 60 * 60_000;
const LOOK_HOLD_FIRST_MS = 2_000;
const LOOK_HOLD_LEAST_MS = 100;
const LOOK_HOLD_MOST = 3;

/** The doubt after a send of this class. */
export function doubtAfterSend(tryClass: TryClass, doubt: Doubt, nowMs: number): Doubt {
  const { ambiguous, unsent, action }: FaultRow = faultTable[tryClass];
  const blind = doubt.sentAtMs !== null;
  if (unsent) return { ...doubt, look: blind };
  const resends = doubt.resends + (blind ? 1 : 0);
  const sent = action === "sent";
  if (!ambiguous && !sent && !blind) return doubt;
  return {
    look: !sent,
    sentAtMs: nowMs,
    resends,
    orders: doubt.orders + (ambiguous || sent ? 1 : 0),
    absentSinceMs: null,
    untold: 0,
  };
}

export interface LookDecision {
  /** "send": the queue sends it when its turn comes. */
  readonly next: "look" | "send" | "sent" | "parked";
  readonly delayMs: number;
  readonly doubt: Doubt;
  /** Sent again without knowing whether the gateway has it. */
  readonly blind: boolean;
  /** The gateway did not answer: the other lookups wait as well. */
  readonly trouble: boolean;
}

interface LookCircumstances {
  readonly nowMs: number;
  readonly retryAfterMs: number | null;
  /** From 0 (included) to 1 (excluded). */
  readonly chance: () => number;
}

/** The meaning of one lookup for its order. */
export function decideLook(
  finding: OrderFinding,
  doubt: Doubt,
  now: LookCircumstances,
): LookDecision {
  const decided = { delayMs: 0, blind: false, trouble: false } as const;
  switch (finding.kind) {
    case "ours":
      return { ...decided, next: "sent", doubt: { ...doubt, look: false } };
    case "other":
      // An operator who queues it again has looked: then it is sent.
      return { ...decided, next: "parked", doubt: { ...doubt, look: false } };
    case "absent":
      return { ...decided, ...afterAbsence(doubt, now) };
    case "untold":
      return afterSilence(finding, doubt, now);
  }
}

function afterAbsence(
  doubt: Doubt,
  { nowMs }: LookCircumstances,
): Pick<LookDecision, "next" | "delayMs" | "doubt"> {
  const { absentSinceMs } = doubt;
  // A clock that went back begins the minute again.
  const sinceMs = absentSinceMs === null || absentSinceMs > nowMs ? nowMs : absentSinceMs;
  const leftMs = sinceMs + ABSENT_FOR_MS - nowMs;
  if (leftMs <= 0) return { next: "send", delayMs: 0, doubt: noDoubt };
  const told = { ...doubt, absentSinceMs: sinceMs, untold: 0 };
  return { next: "look", delayMs: leftMs, doubt: told };
}

function afterSilence(
  { verdict, refused }: Extract<OrderFinding, { kind: "untold" }>,
  doubt: Doubt,
  { nowMs, retryAfterMs, chance }: LookCircumstances,
): LookDecision {
  const { unsent } = faultTable[verdict.class] as FaultRow;
  const sentAtMs = Math.min(doubt.sentAtMs ?? 0, nowMs);
  const untold = { ...doubt, sentAtMs, untold: doubt.untold + 1 };
  const trouble = !refused;
  const kept = { blind: false, trouble, doubt: untold } as const;
  const askedMs = Math.min(retryAfterMs ?? 0, DELAY_CAP_MS);
  const soonMs = Math.max(lookPauseMs(doubt.untold, chance), askedMs);
  // Where the question did not leave this machine, a send would not either.
  if (unsent) return { ...kept, next: "look", delayMs: soonMs };
  const leftMs = sentAtMs + resendPauseMs(doubt.resends, refused) - nowMs;
  if (leftMs > 0) {
    return { ...kept, next: "look", delayMs: refused ? leftMs : Math.min(soonMs, leftMs) };
  }
  return { next: "send", delayMs: 0, blind: true, trouble, doubt: { ...untold, look: false } };
}

/** Between the last send and the next one that is made without knowing. */
export function resendPauseMs(resends: number, refused: boolean): number {
  if (resends >= SENDS_OF_FIRST_DAY - 1) return DAILY_MS;
  return Math.max(RESEND_PAUSE_MS * 2 ** resends, refused ? 0 : TROUBLE_PAUSE_MS);
}

/** At least half of the ceiling of the policy for sends: 1 s to 15 minutes. */
function lookPauseMs(before: number, chance: () => number): number {
  const ceilingMs = delayCeilingMs(before);
  return Math.floor(ceilingMs / 2 + (chance() * ceilingMs) / 2);
}

/**
 * The wait of all lookups while the gateway as a whole has been silent for `silentMs`: one to three
 * times that, so that the spread of many kiosks grows with the outage and an outage of a minute
 * costs no kiosk more than three. From five minutes on a lookup comes once in each quarter of an
 * hour, at the kiosk's own `place` in it, from 0 to 1, which stays the same (docs/design.md 8.5).
 */
export function lookHoldMs(silentMs: number, place: number, chance: () => number): number {
  const most = Math.max(silentMs * LOOK_HOLD_MOST, LOOK_HOLD_FIRST_MS);
  if (most < DELAY_CAP_MS) {
    const least = Math.max(silentMs, LOOK_HOLD_LEAST_MS);
    return least + Math.floor(chance() * (most - least));
  }
  return untilPlaceMs(silentMs, place);
}
