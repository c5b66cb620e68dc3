import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Clock, Timer } from "../../shared/time.ts";

/** A write that waits is on disk so much later at most. */
const LATER_MS = 1_000;

interface Waiting {
  readonly write: () => void;
  readonly written: () => void;
}

/**
 * Writes that wait for the next commit of the journal (docs/design.md 1.3). A process that is
 * killed loses them, so only what can be learnt again may wait.
 */
export class WaitingWrites {
  readonly #clock: Clock | undefined;
  readonly #settle: () => void;
  #waiting: Waiting[] = [];
  /** How many of them, the first ones, the open transaction has written. */
  #written = 0;
  #timer: Timer | undefined;
  /** Called when a settling by the timer failed: it is tried again, with the next commit too. */
  onFault: (error: unknown) => void = () => {};

  /** `settle` makes a commit. */
  constructor(clock: Clock | undefined, settle: () => void) {
    this.#clock = clock;
    this.#settle = settle;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** false: nobody would come back to it. */
  get mayWait(): boolean {
    return this.#clock !== undefined;
  }

  add(write: () => void, written: () => void): void {
    this.#waiting.push({ write, written });
    this.#startTimer();
  }

  /** Inside a transaction. */
  write(): void {
    for (const { write } of this.#waiting) write();
    this.#written = this.#waiting.length;
  }

  /** The transaction is on disk. A write that was added after {@link write} waits on. */
  written(): void {
    if (this.isEmpty) return;
    const done = this.#waiting.splice(0, this.#written);
    this.#written = 0;
    if (this.isEmpty) {
      this.#timer?.clear();
      this.#timer = undefined;
    }
    for (const one of done) one.written();
  }

  #startTimer(): void {
    this.#timer ??= this.#clock?.startTimer("waiting writes", LATER_MS, () => {
      this.#timer = undefined;
      try {
        this.#settle();
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        this.onFault(error);
        this.#startTimer();
      }
    });
  }

  /** Nothing is written any more. */
  close(): void {
    this.#timer?.clear();
    this.#waiting = [];
  }
}
