import type { Clock } from "../../shared/time.ts";

/** The longest pause between two checks of what is due, because the clock may be set. */
const RECHECK_MS = 60_000;

/** A loop that begins work when it is due; {@link stop} waits for all work that was begun. */
export class WorkLoop {
  readonly #clock: Clock;
  readonly #name: string;
  readonly #step: () => number;
  /** The work that runs; an array is faster than a Set here. */
  readonly #running: Promise<void>[] = [];
  isActive = false;
  isStopping = false;
  #wake: () => void = () => undefined;

  /** `step` begins the work that is due, and returns the pause before the next step. */
  constructor(clock: Clock, name: string, step: () => number) {
    this.#clock = clock;
    this.#name = name;
    this.#step = step;
  }

  start(): void {
    this.isActive = !this.isStopping;
    this.track(this.#run());
  }

  wake(): void {
    this.#wake();
  }

  /** Adds work that {@link stop} waits for. Work that rejects ends the program. */
  track(work: Promise<void>, onEnded: () => void = () => undefined): void {
    this.#running.push(work);
    void work.then(() => {
      takeOut(this.#running, work);
      onEnded();
    });
  }

  async stop(): Promise<void> {
    this.isActive = false;
    this.isStopping = true;
    this.wake();
    // Work that ends may add more work, such as the recording of its end.
    while (this.#running.length > 0) await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    while (!this.isStopping) {
      const waitMs = this.#step();
      // A timer and a promise for each pause cost less than an AbortSignal for each pause.
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = this.#clock.startTimer(this.#name, waitMs, resolve);
      this.#wake = () => {
        timer.clear();
        resolve();
      };
      await promise;
    }
  }
}

export function takeOut<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}

/** Returns how long a loop pauses: for `heldMs`, or, if that is 0, until `dueAtMs`. */
export function pauseMs(heldMs: number, dueAtMs: number | undefined, nowMs: number): number {
  if (heldMs > 0) return heldMs;
  return dueAtMs === undefined ? RECHECK_MS : Math.min(Math.max(dueAtMs - nowMs, 1), RECHECK_MS);
}
