import { BrokenInvariant } from "../../../shared/invariant.ts";
import type { Clock, Timer } from "../../../shared/time.ts";

/** The longest time that a write waits. */
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
  /** How many of them the open transaction has written; these are the first ones. */
  #written = 0;
  #timer: Timer | undefined;
  /** Called when the timer's commit failed: the writes are tried again with the next commit. */
  onFault: (error: unknown) => void = () => {};

  /** `settle` makes a commit. */
  constructor(clock: Clock | undefined, settle: () => void) {
    this.#clock = clock;
    this.#settle = settle;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** false: without a clock no timer would write it. */
  get mayWait(): boolean {
    return this.#clock !== undefined;
  }

  add(write: () => void, written: () => void): void {
    this.#waiting.push({ write, written });
    this.#startTimer();
  }

  /** Writes all that waits. To be called inside a transaction. */
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

  /** Drops what waits. */
  close(): void {
    this.#timer?.clear();
    this.#waiting = [];
  }
}
