import { type Clock, within } from "../../shared/time.ts";

/** Lets callers wait for a change of one transaction. A caller that waits misses no change. */
export class DeliveryWatch {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until `isSettled`, which is asked now and after each change, or `waitMs` at most. */
  async wait(transactionId: string, waitMs: number, isSettled: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (this.#closed || isSettled()) resolve();
    };
    const checks = this.#waiting.get(transactionId) ?? new Set();
    this.#waiting.set(transactionId, checks.add(check));
    try {
      check();
      await within(this.#clock, "delivery", waitMs, promise);
    } finally {
      checks.delete(check);
      if (checks.size === 0) this.#waiting.delete(transactionId);
    }
  }

  /** Asks the callers again that wait for this transaction: it has changed. */
  notify(transactionId: string): void {
    for (const check of this.#waiting.get(transactionId) ?? []) check();
  }

  /** Asks all callers again: a change concerns every transaction. */
  notifyAll(): void {
    for (const checks of this.#waiting.values()) for (const check of checks) check();
  }

  /** Ends every wait, now and from now on. */
  close(): void {
    this.#closed = true;
    this.notifyAll();
  }
}
