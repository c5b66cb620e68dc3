import type { Clock, Timer } from "../../shared/time.ts";

const LOOK_EVERY_MS = 60_000;
const MINUTE_MS = 60_000;
/** A kiosk that has just started has other work, and a fleet may start with the power. */
const AFTER_START_MINUTES = 5;
const AFTER_START_SPREAD = 31;

interface Options {
  /** hh:mm local time, each installation's own. */
  readonly at: string;
  /** The last look that was written down; null: none. */
  readonly lastMs: () => number | null;
  readonly look: () => Promise<void>;
  readonly clock: Clock;
}

/**
 * Looks once a day, at its time; a look that was missed, because the machine was off or asleep, is
 * made up for 5 to 35 minutes after the start (docs/updates.md 4.4). The wall clock is read every
 * minute, so a clock that is set costs no day.
 */
export class DailyLook {
  readonly #options: Options;
  readonly #startedMs: number;
  /** The last look of this process, which a full disk may have kept from being written down. */
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
    this.#timer = this.#options.clock.startTimer("look for an update", LOOK_EVERY_MS, () => {
      if (this.#running === undefined && this.#isDue()) this.#begin();
      this.#wait();
    });
  }

  #begin(): void {
    const { look, clock } = this.#options;
    this.#triedMs = clock.now();
    this.#running = look().finally(() => (this.#running = undefined));
  }

  #isDue(): boolean {
    const { at, lastMs, clock } = this.#options;
    const nowMs = clock.now();
    const dueMs = lastTime(at, nowMs);
    // A look in the future is one of a wrong clock.
    const looks = [lastMs() ?? Number.NEGATIVE_INFINITY, this.#triedMs].filter((ms) => ms <= nowMs);
    if (Math.max(...looks) >= dueMs) return false;
    const isOnTime = nowMs - dueMs < 2 * LOOK_EVERY_MS;
    return isOnTime || clock.monotonicMs() - this.#startedMs >= pauseMs(at);
  }
}

/** The newest moment of that time of day that is not after now. */
function lastTime(at: string, nowMs: number): number {
  const [hours = 0, minutes = 0] = at.split(":").map(Number);
  const day = new Date(nowMs);
  day.setHours(hours, minutes, 0, 0);
  if (day.getTime() > nowMs) day.setDate(day.getDate() - 1);
  return day.getTime();
}

/** Each installation has another minute of its hour. */
function pauseMs(at: string): number {
  const minute = Number(at.slice(-2));
  return (AFTER_START_MINUTES + (minute % AFTER_START_SPREAD)) * MINUTE_MS;
}
