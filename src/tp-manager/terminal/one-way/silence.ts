import { type Clock, sleep } from "../../../shared/time.ts";

/**
 * How long a request may still run at a terminal that cannot be asked: during that time nothing is
 * sent, and its result is listened for (docs/rules/25-one-way.md).
 */
export class Silence {
  readonly #clock: Clock;
  readonly #quietMs: number;
  #mayRun = false;
  #untilMs: number;
  #heard: AbortController | undefined;

  /**
   * From `quietMs` after a request on nothing is expected to run; a request of an earlier process
   * is taken to have left just before this start.
   */
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

  /** Listens for `ms` from now on at least. */
  prolong(ms: number): void {
    this.#untilMs = Math.max(this.#untilMs, this.#clock.monotonicMs() + ms);
  }

  /** The terminal has ended what it did. */
  end(): void {
    this.#mayRun = false;
    this.#untilMs = this.#clock.monotonicMs();
  }

  /** A result has come: ends {@link listenOut}. */
  hear(): void {
    this.#heard?.abort();
  }

  /**
   * Waits until nothing can be running, a later request included, or until `isOver`. Returns
   * whether a result came meanwhile. Throws `signal.reason` when `signal` aborts first.
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
