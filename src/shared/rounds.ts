import type { Clock, Timer } from "./time.ts";

/** The same work again and again, never twice at a time, with a pause after each. */
export class Rounds {
  readonly #clock: Clock;
  readonly #name: string;
  readonly #pauseMs: number;
  #timer: Timer | undefined;
  #round: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(clock: Clock, name: string, pauseMs: number) {
    this.#clock = clock;
    this.#name = name;
    this.#pauseMs = pauseMs;
  }

  /** Whoever works in several steps ends between two of them then. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Begins the first round at once. `work` must not reject. */
  begin(work: () => Promise<void>): void {
    this.#round = work().finally(() => this.later(work));
  }

  /** Begins the first round after one pause. `work` must not reject. */
  later(work: () => Promise<void>): void {
    if (this.#closed) return;
    this.#timer = this.#clock.startTimer(this.#name, this.#pauseMs, () => this.begin(work));
  }

  /** Resolves when a round that runs has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.clear();
    await this.#round;
  }
}
