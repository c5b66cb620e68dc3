import { createHash } from "node:crypto";
import { type Clock, sleep } from "../../../shared/time.ts";

const DELAY_MIN_MS = 100;
const DELAY_MAX_MS = 5_000;
/** Failures of a login are forgotten when it has not failed for so long. */
const FORGOTTEN_AFTER_MS = 60_000;
/** Failing requests that wait at the same time. */
const WAITING_MAX = 64;
/** Logins with a count of their own; all others share one. */
const LOGINS_MAX = 256;
const OTHERS = "others";

interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

/**
 * Delays the answers to wrong credentials more and more, for each login by itself; good ones never
 * come here, so nobody can lock the kiosk out (docs/design.md 5.3). Only the login distinguishes
 * clients: all are on this machine, and a program there may take any address of 127.0.0.0/8. A good
 * answer does not undo failures, or a client that guesses would be reset by the kiosk's own calls.
 */
export class FailureDelay {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failures>();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits as long as a wrong pair with this login has earned, or until its sender is gone. False,
   * at once, when as many wait as may: a flood is refused without being kept.
   */
  async wait(login: string, gone: AbortSignal): Promise<boolean> {
    const delayMs = Math.min(DELAY_MIN_MS * 2 ** (this.#failed(login) - 1), DELAY_MAX_MS);
    if (this.#waiting >= WAITING_MAX) return false;
    this.#waiting += 1;
    try {
      await sleep(this.#clock, "failed authentication", delayMs, gone);
    } catch {
      // Gone: nobody waits for this answer any more.
    } finally {
      this.#waiting -= 1;
    }
    return true;
  }

  /** How often this login has failed, this time included. */
  #failed(login: string): number {
    const nowMs = this.#clock.monotonicMs();
    this.#forget(nowMs);
    const own = createHash("sha256").update(login).digest("base64");
    // Never another login's place: a flood of new ones would make a known one be forgotten.
    const isRoom = this.#failures.has(own) || this.#failures.size < LOGINS_MAX;
    const key = isRoom ? own : OTHERS;
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    // Deleted first, so that the map keeps the order of the last failures.
    this.#failures.delete(key);
    this.#failures.set(key, { count, lastMs: nowMs });
    return count;
  }

  #forget(nowMs: number): void {
    for (const [key, { lastMs }] of this.#failures) {
      if (nowMs - lastMs < FORGOTTEN_AFTER_MS) return;
      this.#failures.delete(key);
    }
  }
}
