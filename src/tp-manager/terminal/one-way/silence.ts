import { type Clock, sleep } from "../../../shared/time.ts";

/**
 * Measures how long a request may still run at a terminal that cannot be asked. During that time
 * nothing is sent, and the driver waits for the result (docs/rules/25-one-way.md).
 */
export class Silence {
  readonly #clock: Clock;
  readonly #quietMs: number;
  #mayRun = false;
  #untilMs: number;
  #heard: AbortController | undefined;

  /** `quietMs`: how long a request may run, counted from now if an earlier process sent it. */
  constructor(clock: Clock, quietMs: number) {
    this.#clock = clock;
    this.#quietMs = quietMs;
    this.#untilMs = clock.monotonicMs() + quietMs;
  }

  /** Whether the newest request may still run: neither a result nor an answer came since. */
  get mayRun(): boolean {
    return this.#mayRun;
  }

  /** Starts the time for which a request that is about to be sent may run. */
  begin(): void {
    this.#mayRun = true;
    this.#untilMs = this.#clock.monotonicMs() + this.#quietMs;
  }

  /** Notes that the terminal got no request, or refused the request. */
  takeBack(): void {
    this.#mayRun = false;
  }

  /** Makes {@link listenOut} last at least `ms` milliseconds from now. */
  prolong(ms: number): void {
    this.#untilMs = Math.max(this.#untilMs, this.#clock.monotonicMs() + ms);
  }

  /** Notes that the terminal no longer runs a request. */
  end(): void {
    this.#mayRun = false;
    this.#untilMs = this.#clock.monotonicMs();
  }

  /** Notes that a result has come, which ends {@link listenOut}. */
  hear(): void {
    this.#heard?.abort();
  }

  /**
   * Waits until no request can be running any more, later requests included, or until `isOver`.
   * Returns whether a result came meanwhile. Throws `signal.reason` when `signal` aborts first.
   */
  async listenOut(signal: AbortSignal, isOver: () => boolean): Promise<boolean> {
    signal.throwIfAborted();
    const leftMs = (): number => this.#untilMs - this.#clock.monotonicMs();
    while (!isOver() && leftMs() > 0) {
      const heard = new AbortController();
      this.#heard = heard;
      const ended = AbortSignal.any([signal, heard.signal]);
      await sleep(this.#clock, "recovery silence", leftMs(), ended).catch(() => undefined);
      signal.throwIfAborted();
      if (heard.signal.aborted) return true;
    }
    return false;
  }
}
