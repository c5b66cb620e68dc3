import { type Clock, sleep } from "../../../shared/time.ts";

/**
 * Measures how long a request may still run at a terminal that cannot be asked. During that time
 * nothing is sent, and the driver waits for the result (docs/rules/25-one-way.md).
 */
export class Silence {
  readonly #clock: Clock;
  readonly #quietMs: number;
  /** Whether the last request may still run: neither a result nor an answer has come since. */
  mayRun = false;
  #untilMs: number;
  #heard: AbortController | undefined;

  /** `quietMs`: how long a request may run, counted from now for one of an earlier process. */
  constructor(clock: Clock, quietMs: number) {
    this.#clock = clock;
    this.#quietMs = quietMs;
    this.#untilMs = clock.monotonicMs() + quietMs;
  }

  /** Called when a request is about to be sent: the time in which it may run begins. */
  begin(): void {
    this.mayRun = true;
    this.#untilMs = this.#clock.monotonicMs() + this.#quietMs;
  }

  /** Called when the terminal got no request, or refused it. */
  takeBack(): void {
    this.mayRun = false;
  }

  /** Makes {@link listenOut} last at least `ms` milliseconds from now. */
  prolong(ms: number): void {
    this.#untilMs = Math.max(this.#untilMs, this.#clock.monotonicMs() + ms);
  }

  /** Called when the terminal runs no request any more. */
  end(): void {
    this.mayRun = false;
    this.#untilMs = this.#clock.monotonicMs();
  }

  /** Called when a result has come, which ends {@link listenOut}. */
  hear(): void {
    this.#heard?.abort();
  }

  /**
   * Waits until no request can be running any more, also no later one, or until `isOver` says so.
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
