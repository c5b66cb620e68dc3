import { type Clock, within } from "../../shared/time.ts";

/** Lets callers wait until the delivery of one transaction to the gateway changes. */
export class DeliveryWatch {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits at most `waitMs` until `isSettled()` is true, asked now and after each change. */
  async wait(transactionId: string, waitMs: number, isSettled: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (isSettled() || this.#closed) resolve(); // isSettled() is first: it reads the state
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

  notify(transactionId: string): void {
    for (const check of this.#waiting.get(transactionId) ?? []) check();
  }

  /** Lets all waiting callers check again, after a change that may concern any transaction. */
  notifyAll(): void {
    for (const checks of this.#waiting.values()) for (const check of checks) check();
  }

  /** Ends all present and future waits of callers, because the program stops. */
  close(): void {
    this.#closed = true;
    this.notifyAll();
  }
}
