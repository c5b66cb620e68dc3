import { AppError } from "../../shared/errors.ts";

/** What has the terminal for itself now. */
export interface Turn {
  readonly what: "payment" | "reversal" | "reset" | "end of day";
  /** The order it is about; undefined for the terminal's own affairs. */
  readonly orderId: string | undefined;
  readonly ended: Promise<unknown>;
}

/**
 * One thing at a time on a terminal: a payment, a reversal, a restart, an end of day. A turn lasts
 * until its work has really ended on the wire, whoever is still waiting for it.
 */
export class TerminalTurn {
  #current: Turn | undefined;
  #closed = false;

  get current(): Turn | undefined {
    return this.#current;
  }

  /** Nothing new gets a turn any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** From now on nothing new gets a turn: 503 `STOPPING`. */
  close(): void {
    this.#closed = true;
  }

  /** Throws STOPPING or TERMINAL_BUSY. */
  assertFree(): void {
    if (this.#closed) throw new AppError("STOPPING");
    const { what, orderId } = this.#current ?? {};
    if (what === undefined) return;
    throw new AppError("TERMINAL_BUSY", `The terminal is busy with a ${what}.`, {
      details: orderId === undefined ? {} : { orderId },
    });
  }

  /** Begins `work` at once, in the same turn of the event loop. Throws as {@link assertFree}. */
  take<T>(what: Turn["what"], orderId: string | undefined, work: () => Promise<T>): Promise<T> {
    this.assertFree();
    const { promise: ended, resolve, reject } = Promise.withResolvers<T>();
    this.#current = { what, orderId, ended };
    work()
      .finally(() => {
        this.#current = undefined;
      })
      .then(resolve, reject);
    return ended;
  }

  /** Resolves when nothing has the terminal. */
  async whenFree(): Promise<void> {
    while (this.#current) await this.#current.ended.then(undefined, () => undefined);
  }
}
