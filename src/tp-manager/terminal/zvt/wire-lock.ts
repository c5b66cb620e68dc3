import type { Clock } from "../../../shared/time.ts";

/** Thrown when the wire did not become free in time. */
export class WireBusy extends Error {
  override readonly name = "WireBusy";
}

/** Lets one command at a time onto the wire, in the order in which they were wanted. */
export class WireLock {
  readonly #clock: Clock;
  readonly #waiting: Array<() => void> = [];
  #held = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get held(): boolean {
    return this.#held;
  }

  /**
   * Rejects with {@link WireBusy} after `waitMs`, or with `signal.reason`; else runs `work`, on a
   * free wire at once.
   */
  async run<T>(
    limits: { readonly waitMs: number; readonly signal?: AbortSignal },
    work: () => Promise<T>,
  ): Promise<T> {
    limits.signal?.throwIfAborted();
    if (this.#held) await this.#acquire(limits.waitMs, limits.signal);
    this.#held = true;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#held = false;
    }
  }

  #acquire(waitMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        timer.clear();
        signal?.removeEventListener("abort", onAbort);
        const at = this.#waiting.indexOf(enter);
        if (at >= 0) this.#waiting.splice(at, 1);
      };
      const enter = (): void => {
        leave();
        resolve();
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
      };
      const timer = this.#clock.startTimer("zvt wire", waitMs, () => {
        leave();
        reject(new WireBusy("another command is running on the terminal"));
      });
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(enter);
    });
  }
}
