import type { Clock } from "../../../shared/time.ts";

/**
 * How long a request may still run at a terminal that cannot be asked: so long nothing is sent, and
 * its result is listened for (docs/rules/25-one-way.md).
 */
export class Silence {
  readonly #clock: Clock;
  readonly #quietMs: number;
  #mayRun = false;
  #untilMs: number;
  #heard: (() => void) | undefined;

  /** `quietMs` from the request on nothing is expected to run; one of before a start counts too. */
  constructor(clock: Clock, quietMs: number) {
    this.#clock = clock;
    this.#quietMs = quietMs;
    this.#untilMs = clock.monotonicMs() + quietMs;
  }

  /** A request has left, and neither its result nor an answered question came since. */
  get mayRun(): boolean {
    return this.#mayRun;
  }

  /** A request is about to leave. */
  begin(): void {
    this.#mayRun = true;
    this.#untilMs = this.#clock.monotonicMs() + this.#quietMs;
  }

  /** The request has not left after all, or was refused. */
  takeBack(): void {
    this.#mayRun = false;
  }

  /** At least for so long from now on. */
  prolong(ms: number): void {
    this.#untilMs = Math.max(this.#untilMs, this.#clock.monotonicMs() + ms);
  }

  /** The terminal has come to an end of what it did. */
  end(): void {
    this.#mayRun = false;
    this.#untilMs = this.#clock.monotonicMs();
  }

  /** A result has come: who listens hears of it. */
  hear(): void {
    this.#heard?.();
  }

  /**
   * Until nothing can be running, also of a request since, or `isOver`. true: a result came
   * meanwhile. Throws when `signal` ends it.
   */
  async listenOut(signal: AbortSignal, isOver: () => boolean): Promise<boolean> {
    signal.throwIfAborted();
    let isHeard = false;
    const leftMs = (): number => this.#untilMs - this.#clock.monotonicMs();
    while (!isHeard && !isOver() && leftMs() > 0) isHeard = await this.#listen(leftMs(), signal);
    return isHeard;
  }

  async #listen(forMs: number, signal: AbortSignal): Promise<boolean> {
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
}
