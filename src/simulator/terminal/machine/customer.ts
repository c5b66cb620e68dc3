import type { CardName } from "../bank/cards.ts";

/** What the simulated customer does at the terminal. */
export type CustomerAction =
  | { readonly action: "insert"; readonly card?: CardName }
  | { readonly action: "cancel" }
  | { readonly action: "time-out" };

/** Where the terminal waits for the customer and the control API plays one. */
export class CustomerDesk {
  #waiting: ((action: CustomerAction) => void) | undefined;

  get waiting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Lets the customer act; false when the terminal is not waiting for one. */
  act(action: CustomerAction): boolean {
    const waiting = this.#waiting;
    waiting?.(action);
    return waiting !== undefined;
  }

  wait(signal: AbortSignal): Promise<CustomerAction> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting = undefined;
        signal.removeEventListener("abort", aborted);
      };
      const aborted = (): void => {
        leave();
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener("abort", aborted, { once: true });
      this.#waiting = (action) => {
        leave();
        resolve(action);
      };
    });
  }
}
