import type { Clock, Timer } from "../../shared/time.ts";

/** From a minute after the answer was lost to four times a day, as long as it takes. */
const FIRST_MS = 60_000;
const CAP_MS = 6 * 60 * 60_000;

function operationLookupPauseMs(before: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(before, 20), CAP_MS);
}

/** Looks the transactions of open operations up by itself, one after the other. */
export class OperationLookups {
  readonly #clock: Clock;
  /** Resolves with whether the operation of this transaction is still open. */
  readonly #look: (transactionPublicId: string) => Promise<boolean>;
  readonly #timers = new Map<string, Timer>();
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(clock: Clock, look: (transactionPublicId: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#look = look;
  }

  /** The operation of this transaction is unknown from now on. */
  begin(transactionPublicId: string): void {
    this.#after(transactionPublicId, 0);
  }

  /** A running lookup ends by its own signal. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.clear();
    this.#timers.clear();
    await this.#last;
  }

  #after(id: string, before: number): void {
    if (this.#stopped) return;
    this.#timers.get(id)?.clear();
    const timer = this.#clock.startTimer("operation lookup", operationLookupPauseMs(before), () => {
      this.#timers.delete(id);
      this.#last = this.#last.then(async () => {
        if (!this.#stopped && (await this.#look(id))) this.#after(id, before + 1);
      });
    });
    this.#timers.set(id, timer);
  }
}
