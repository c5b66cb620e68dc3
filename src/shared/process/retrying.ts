import type { Clock, Timer } from "../time.ts";

/** The longest pause between two tries after failures. */
export const RETRY_MAX_MS = 15_000;

/**
 * Runs one task, never twice at the same time: at once after {@link nudge}, and after each pause
 * that the task returns. A nudge during a run causes another run, unless the run returns a pause.
 */
export class Retrying {
  readonly #clock: Clock;
  readonly #name: string;
  readonly #work: () => Promise<number | undefined>;
  readonly #minMs: number;
  #nextMs: number;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isNudged = false;
  isClosed = false;

  /**
   * `work` resolves with the pause in ms until the next run; undefined: none. It rejects only for a
   * fault of the program, and the rejection, which nothing handles, ends the process.
   */
  constructor(clock: Clock, name: string, work: () => Promise<number | undefined>, minMs = 0) {
    this.#clock = clock;
    this.#name = name;
    this.#work = work;
    this.#minMs = minMs;
    this.#nextMs = minMs;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Ends the present pause and runs the task at once. */
  nudge(): void {
    this.#timer?.clear();
    if (this.isClosed) return;
    this.#isNudged = true;
    this.#running ??= this.#run();
  }

  nudgeIn(delayMs: number): void {
    this.#timer?.clear();
    if (this.isClosed) return;
    this.#timer = this.#clock.startTimer(this.#name, delayMs, () => this.nudge());
  }

  /** Returns the pause after a failure: first the shortest, then each time twice as long. */
  failed(): number {
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, RETRY_MAX_MS);
    return pauseMs;
  }

  succeeded(): void {
    this.#nextMs = this.#minMs;
  }

  /** Prevents further runs. Resolves when the run that is under way has ended. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.#timer?.clear();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isNudged && !this.isClosed) {
      this.#isNudged = false;
      const pauseMs = await this.#work();
      if (pauseMs === undefined) continue;
      this.#isNudged = false;
      this.nudgeIn(pauseMs);
    }
    this.#running = undefined;
  }
}
