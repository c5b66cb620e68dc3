import { Retrying } from "../../shared/process/retrying.ts";
import type { Clock } from "../../shared/time.ts";

const MINUTE_MS = 60_000;
/** The shortest wait, and the spread, of a missed check after a start of the kiosk. */
const AFTER_START_MINUTES = 5;
const AFTER_START_SPREAD = 31;

interface Options {
  /** The installation's own time of day, hh:mm local time. */
  readonly at: string;
  /** Returns when the last recorded check was made; null: no check was. */
  readonly lastMs: () => number | null;
  readonly check: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Runs a check once a day at its time. A check that was missed while the machine was off is made 5
 * to 35 minutes after the start (docs/updates.md 4.4). The wall clock is read every minute, so that
 * setting the clock skips no check. `stop` does not wait for a running check.
 */
export function startDailyCheck({ at, lastMs, check, clock }: Options): { stop(): void } {
  const [hours = 0, minutes = 0] = at.split(":").map(Number);
  // The minutes of `at` differ from one installation to the next.
  const pauseMs = (AFTER_START_MINUTES + (minutes % AFTER_START_SPREAD)) * MINUTE_MS;
  const startedMs = clock.monotonicMs();
  /** When this process made its last check, which a full disk may have failed to record. */
  let triedMs = Number.NEGATIVE_INFINITY;
  const isDue = (): boolean => {
    const nowMs = clock.now();
    const dueMs = lastTime(hours, minutes, nowMs);
    // A check with a time in the future was made while the clock was wrong.
    const made = [lastMs() ?? Number.NEGATIVE_INFINITY, triedMs].filter((ms) => ms <= nowMs);
    if (Math.max(...made) >= dueMs) return false;
    return nowMs - dueMs < 2 * MINUTE_MS || clock.monotonicMs() - startedMs >= pauseMs;
  };
  const everyMinute = new Retrying(clock, "check for an update", async () => {
    if (!isDue()) return MINUTE_MS;
    triedMs = clock.now();
    await check();
    return MINUTE_MS;
  });
  everyMinute.nudgeIn(MINUTE_MS);
  return { stop: () => void everyMinute.close() };
}

/** Returns the last moment of that time of day that is not after now. */
function lastTime(hours: number, minutes: number, nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(hours, minutes, 0, 0);
  if (day.getTime() > nowMs) day.setDate(day.getDate() - 1);
  return day.getTime();
}
