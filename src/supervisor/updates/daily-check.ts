import type { Clock, Timer } from "../../shared/time.ts";

const MINUTE_MS = 60_000;
/** A check waits after a start: the kiosk has other work, and many may start with the power. */
const AFTER_START_MINUTES = 5;
const AFTER_START_SPREAD = 31;

interface Options {
  /** hh:mm local time, each installation's own. */
  readonly at: string;
  /** The last check that was written down; null: none. */
  readonly lastMs: () => number | null;
  readonly check: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Runs a check once a day, at its time; one that was missed, because the machine was off or asleep,
 * is made up for 5 to 35 minutes after the start (docs/updates.md 4.4). The wall clock is read
 * every minute, so a clock that is set costs no day.
 */
export class DailyCheck {
  readonly #options: Options;
  readonly #startedMs: number;
  /** The last check of this process, which a full disk may have kept from being written down. */
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
    // A check in the future was made by a wrong clock.
    const made = [lastMs() ?? Number.NEGATIVE_INFINITY, this.#triedMs].filter((ms) => ms <= nowMs);
    if (Math.max(...made) >= dueMs) return false;
    const isOnTime = nowMs - dueMs < 2 * MINUTE_MS;
    // Each installation has another minute of its hour.
    const pauseMinutes = AFTER_START_MINUTES + (minutes % AFTER_START_SPREAD);
    return isOnTime || clock.monotonicMs() - this.#startedMs >= pauseMinutes * MINUTE_MS;
  }
}

/** The newest moment of that time of day that is not after now. */
function lastTime(hours: number, minutes: number, nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(hours, minutes, 0, 0);
  if (day.getTime() > nowMs) day.setDate(day.getDate() - 1);
  return day.getTime();
}
