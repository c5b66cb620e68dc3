/** All holds of one version together (docs/fleet.md 6.3): nobody freezes a kiosk from afar. */
const HOLDS_MS = 14 * 86_400_000;
const DAY_MS = 86_400_000;

/** The holds of one version. */
export interface Hold {
  /** Of holds that have ended. */
  readonly usedMs: number;
  /** Of the one that runs; null: none. */
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}

export const noHold: Hold = { usedMs: 0, fromMs: null, untilMs: null };

/** Whether it runs. A clock that was set back ends it, because nobody knows how long it was. */
export function isHeld({ fromMs, untilMs }: Hold, nowMs: number): boolean {
  return fromMs !== null && untilMs !== null && fromMs <= nowMs && nowMs < untilMs;
}

/** The hold without the one that ran: as long as it was, or as long as it was meant. */
export function ended({ usedMs, fromMs, untilMs }: Hold, nowMs: number): Hold {
  if (fromMs === null || untilMs === null) return { usedMs, fromMs: null, untilMs: null };
  const lasted = nowMs < fromMs ? untilMs - fromMs : Math.min(nowMs, untilMs) - fromMs;
  return { usedMs: usedMs + lasted, fromMs: null, untilMs: null };
}

/** A hold of so many days from now on, as far as there are days left; undefined: none is. */
export function held(before: Hold, days: number, nowMs: number): Hold | undefined {
  const { usedMs } = ended(before, nowMs);
  const leftMs = HOLDS_MS - usedMs;
  if (leftMs <= 0) return undefined;
  return { usedMs, fromMs: nowMs, untilMs: nowMs + Math.min(days * DAY_MS, leftMs) };
}
