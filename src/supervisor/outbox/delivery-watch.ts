import type { Clock } from "../../shared/time.ts";
import { within } from "../../shared/time.ts";

/**
 * Those who wait for news about one transaction. Waiter first, question second: whoever waits
 * registers before it looks, so no news can be missed.
 */
export class DeliveryWatch {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until `isSettled`, looked at now and after all news, or until `waitMs` is over. */
  async wait(transactionId: string, waitMs: number, isSettled: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#closed || isSettled()) resolve();
    };
    const lookers = this.#waiting.get(transactionId) ?? new Set();
    this.#waiting.set(transactionId, lookers.add(look));
    try {
      look();
      await within(this.#clock, "delivery", waitMs, promise);
    } finally {
      lookers.delete(look);
      if (lookers.size === 0) this.#waiting.delete(transactionId);
    }
  }

  /** Something changed about this transaction. */
  tell(transactionId: string): void {
    for (const look of this.#waiting.get(transactionId) ?? []) look();
  }

  /** Something changed that concerns every transaction. */
  tellAll(): void {
    for (const lookers of this.#waiting.values()) for (const look of lookers) look();
  }

  /** Nobody waits any longer. */
  close(): void {
    this.#closed = true;
    this.tellAll();
  }
}
