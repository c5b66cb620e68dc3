import { hash } from "node:crypto";
import { type Clock, sleep } from "../../../shared/time.ts";

const DELAY_MIN_MS = 100;
const DELAY_MAX_MS = 5_000;
/** After this time without a failure the failures of a login are forgotten. */
const FORGOTTEN_AFTER_MS = 60_000;
/** The most refusals that are delayed at the same time; others are answered at once. */
const WAITING_MAX = 64;
/** The most logins whose failures are counted one by one; all other logins share one count. */
const LOGINS_MAX = 256;
const OTHERS = "others";

/**
 * Delays the answers to wrong credentials more and more, for each login separately. Right
 * credentials are never delayed, so nobody can lock the kiosk out (docs/design.md 5.3). Only the
 * login distinguishes clients, because all are on this machine and may use any address of
 * 127.0.0.0/8. A right login resets no delay, or the kiosk's calls would help a guessing client.
 */
export class FailureDelay {
  readonly #clock: Clock;
  readonly #failures = new Map<string, { readonly count: number; readonly lastMs: number }>();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for a login's delay or until the client is gone. Returns false if too many wait. */
  async wait(login: string, gone: AbortSignal): Promise<boolean> {
    const delayMs = Math.min(DELAY_MIN_MS * 2 ** (this.#failed(login) - 1), DELAY_MAX_MS);
    if (this.#waiting >= WAITING_MAX) return false;
    this.#waiting += 1;
    try {
      await sleep(this.#clock, "failed authentication", delayMs, gone);
    } catch {
      // When the client is gone, nobody waits for the answer.
    } finally {
      this.#waiting -= 1;
    }
    return true;
  }

  #failed(login: string): number {
    const nowMs = this.#clock.monotonicMs();
    this.#forget(nowMs);
    const own = hash("sha256", login, "base64");
    // A new login never replaces a counted one: a flood of logins would erase all failures.
    const isRoom = this.#failures.has(own) || this.#failures.size < LOGINS_MAX;
    const key = isRoom ? own : OTHERS;
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    // The entry moves to the end, so that the map is ordered by the last failure.
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
