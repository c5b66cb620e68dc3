import type { AlarmLog } from "../../../shared/process/logger.ts";
import type { Clock, Timer } from "../../../shared/time.ts";
import type { OneWayResult } from "../terminal.ts";
import type { ResultReading } from "./dialogue.ts";
import type { Paying } from "./send-request.ts";

/** A result that is not on disk yet, and that the terminal will not repeat. */
export interface UnstoredResult {
  readonly reply: Uint8Array;
  readonly reading: ResultReading;
  readonly result: OneWayResult;
  /** The payment that ran when the result came. */
  readonly paying: Paying | undefined;
  /** Whether the result is of that payment; undefined: the journal could not be read yet. */
  readonly isOwn: boolean | undefined;
}

const STORE_AGAIN_MS = 1_000;

/**
 * Holds results that could not be judged or stored, and tries again to store them in the order
 * of arrival, until they are written or the program ends (docs/rules/31-result-effects.md).
 */
export class UnstoredResults {
  readonly #clock: Clock;
  readonly #log: AlarmLog;
  readonly #store: (result: UnstoredResult) => boolean;
  #results: readonly UnstoredResult[] = [];
  #timer: Timer | undefined;

  constructor(clock: Clock, log: AlarmLog, store: (result: UnstoredResult) => boolean) {
    this.#clock = clock;
    this.#log = log;
    this.#store = store;
  }

  /** Adds a result that could not be judged, or could not be written to the disk. */
  keep(result: UnstoredResult): void {
    if (!this.#add(result)) return;
    const text = "a result of the terminal is in memory only: storing it is tried again";
    this.#log.error({ alarm: "journal" }, text);
  }

  /** Adds a result that must wait until the outcome of the running payment is on disk. */
  hold(result: UnstoredResult): void {
    if (!this.#add(result)) return;
    this.#log.warn({}, "a result of the terminal is stored once the running payment has ended");
  }

  #add(result: UnstoredResult): boolean {
    if (this.#results.some(({ reply }) => Buffer.compare(reply, result.reply) === 0)) return false;
    this.#results = [...this.#results, result];
    this.#tryLater();
    return true;
  }

  close(): void {
    this.storeAll();
    this.#timer?.clear();
  }

  #tryLater(): void {
    this.#timer?.clear();
    const again = (): void => this.storeAll();
    this.#timer = this.#clock.startTimer("store a result again", STORE_AGAIN_MS, again);
  }

  /** Tries at once to store the results, up to the first result that cannot be written. */
  storeAll(): void {
    for (let [first] = this.#results; first !== undefined; [first] = this.#results) {
      if (!this.#store(first)) {
        this.#tryLater();
        return;
      }
      this.#results = this.#results.slice(1);
      this.#log.warn({}, "a result of the terminal was written to the disk after a delay");
    }
  }
}
