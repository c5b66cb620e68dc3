import type { Clock } from "../../../shared/time.ts";

/** Pieces of noise that are written down in each span of time. */
const NOISE_MAX = 20;
const NOISE_SPAN_MS = 60_000;

/** Counts what comes and is no result: a line full of noise must not fill log and journal. */
export class Babble {
  readonly #clock: Clock;
  #sinceMs = 0;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One more piece; true: more than anybody reads. */
  isMore(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sinceMs > NOISE_SPAN_MS) [this.#sinceMs, this.#count] = [nowMs, 0];
    this.#count += 1;
    return this.#count > NOISE_MAX;
  }
}
