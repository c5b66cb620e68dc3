import type { Clock, Timer } from "../../shared/time.ts";

const MINUTE_MS = 60_000;
/** How long a check waits after a start of the kiosk: so long, and a part of the spread. */
const AFTER_START_MINUTES = 5;
const AFTER_START_SPREAD = 31;

interface Options {
  /** hh:mm local time, each installation's own. */
  readonly at: string;
  /** Returns when the last recorded check was made; null: none was. */
  readonly lastMs: () => number | null;
  readonly check: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Runs a check once a day at its time. A check that was missed, because the machine was off, is
 * made 5 to 35 minutes after the start (docs/updates.md 4.4). The wall clock is read every minute,
 * so that no check is missed when the clock is set.
 */
export class DailyCheck {
  readonly #options: Options;
  readonly #startedMs: number;
  /** When this process made its last check; a full disk may have kept it from being recorded. */
  #triedMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    this.#wait();
  }

  stop(): void {
    this.#timer?.clear();
  }

  #wait(): void {
    this.#timer = this.#options.clock.startTimer("check for an update", MINUTE_MS, () => {
      if (this.#running === undefined && this.#isDue()) this.#begin();
      this.#wait();
    });
  }

  #begin(): void {
    const { check, clock } = this.#options;
    this.#triedMs = clock.now();
    this.#running = check().finally(() => (this.#running = undefined));
  }

  #isDue(): boolean {
    const { at, lastMs, clock } = this.#options;
    const nowMs = clock.now();
    const [hours = 0, minutes = 0] = at.split(":").map(Number);
    const dueMs = lastTime(hours, minutes, nowMs);
    // A check that lies in the future was made by a wrong clock.
    const made = [lastMs() ?? Number.NEGATIVE_INFINITY, this.#triedMs].filter((ms) => ms <= nowMs);
    if (Math.max(...made) >= dueMs) return false;
    const isOnTime = nowMs - dueMs < 2 * MINUTE_MS;
    // The minutes of `at` differ from one installation to the next.
    const pauseMinutes = AFTER_START_MINUTES + (minutes % AFTER_START_SPREAD);
    return isOnTime || clock.monotonicMs() - this.#startedMs >= pauseMinutes * MINUTE_MS;
  }
}

/** Returns the last moment of that time of day that is not after now. */
function lastTime(hours: number, minutes: number, nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(hours, minutes, 0, 0);
  if (day.getTime() > nowMs) day.setDate(day.getDate() - 1);
  return day.getTime();
}
