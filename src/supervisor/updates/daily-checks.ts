import { Retrying } from "../../shared/process/retrying.ts";
import { type Clock, MINUTE_MS } from "../../shared/time.ts";

/** The shortest time from a start to a missed check; each installation adds 0 to 30 minutes. */
const AFTER_START_MINUTES = 5;
const AFTER_START_SPREAD = 31;

interface Options {
  /** When this installation checks each day: hh:mm local time, different for each installation. */
  readonly at: string;
  /** Returns when the last recorded check was made; null: no check is recorded. */
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
  // The minutes of `at` differ between installations, which spreads their missed checks.
  const pauseMs = (AFTER_START_MINUTES + (minutes % AFTER_START_SPREAD)) * MINUTE_MS;
  const startedMs = clock.monotonicMs();
  /** When this process made its last check, which a full disk may have failed to record. */
  let triedMs = Number.NEGATIVE_INFINITY;
  const isDue = (): boolean => {
    const nowMs = clock.now();
    const dueMs = lastTime(hours, minutes, nowMs);
    // A check recorded in the future was made while the clock was wrong, and does not count.
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

/** Returns the latest moment with this time of day that is not after `nowMs`. */
function lastTime(hours: number, minutes: number, nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(hours, minutes, 0, 0);
  if (day.getTime() > nowMs) day.setDate(day.getDate() - 1);
  return day.getTime();
}
