import type { Clock, Timer } from "../../../shared/time.ts";

interface Parts {
  readonly clock: Clock;
  readonly log: {
    warn(details: object, text: string): void;
    error(details: object, text: string): void;
  };
}

/** A result that is not on disk yet, and will not be told again. */
export interface UnstoredResult {
  readonly reply: Uint8Array;
}

const STORE_AGAIN_MS = 1_000;

/**
 * Results that the disk did not take and that memory alone has: tried again until the disk takes
 * them or the program ends, in the order in which they came (docs/rules/25-one-way.md).
 */
export class UnstoredResults<Result extends UnstoredResult> {
  readonly #parts: Parts;
  readonly #store: (result: Result) => boolean;
  #results: readonly Result[] = [];
  #timer: Timer | undefined;

  /** `store`: whether the result is on disk now. */
  constructor(parts: Parts, store: (result: Result) => boolean) {
    this.#parts = parts;
    this.#store = store;
  }

  /** The disk did not take it. */
  keep(result: Result): void {
    if (!this.#add(result)) return;
    const words = "a result of the terminal is in memory only: it is tried again to store it";
    this.#parts.log.error({ alarm: "journal" }, words);
  }

  /** Something else has to be on disk first. */
  hold(result: Result): void {
    if (!this.#add(result)) return;
    this.#parts.log.warn({}, "a result of the terminal waits until the payment of now has ended");
  }

  #add(result: Result): boolean {
    if (this.#results.some(({ reply }) => Buffer.compare(reply, result.reply) === 0)) return false;
    this.#results = [...this.#results, result];
    this.#later();
    return true;
  }

  /** Tries at once. */
  again(): void {
    this.#storeAll();
  }

  /** One last try. */
  close(): void {
    this.#storeAll();
    this.#timer?.clear();
  }

  #later(): void {
    this.#timer?.clear();
    const again = (): void => this.#storeAll();
    this.#timer = this.#parts.clock.startTimer("store a result again", STORE_AGAIN_MS, again);
  }

  #storeAll(): void {
    for (let [first] = this.#results; first !== undefined; [first] = this.#results) {
      if (!this.#store(first)) {
        this.#later();
        return;
      }
      this.#results = this.#results.slice(1);
      this.#parts.log.warn({}, "a result of the terminal is on disk now");
    }
  }
}
