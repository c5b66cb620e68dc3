import type { Clock } from "../../../shared/time.ts";

/** A span of time in which nothing is sent; a result that comes ends it early. */
export class Silence {
  readonly #clock: Clock;
  #heard: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** true: a result came meanwhile. Throws when `signal` ends it. */
  async listen(forMs: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = this.#clock.startTimer("recovery silence", forMs, () => resolve(false));
    const onAbort = (): void => resolve(false);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#heard = () => resolve(true);
    try {
      const isHeard = await promise;
      signal.throwIfAborted();
      return isHeard;
    } finally {
      timer.clear();
      signal.removeEventListener("abort", onAbort);
      this.#heard = undefined;
    }
  }

  /** A result has come. */
  end(): void {
    this.#heard?.();
  }
}
