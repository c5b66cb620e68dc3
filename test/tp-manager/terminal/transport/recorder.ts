import type {
  TransportError,
  TransportListener,
} from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import { toHex } from "../../../../src/zvt/index.ts";

/** Records what a transport reports, and waits for it. */
export class Recorder implements TransportListener {
  received = "";
  closedWith: TransportError | null | undefined;
  readonly #waiting = new Set<() => void>();

  data(bytes: Uint8Array): void {
    this.received += toHex(bytes);
    this.#wake();
  }

  closed(problem: TransportError | null): void {
    if (this.closedWith !== undefined) throw new Error("closed was reported twice");
    this.closedWith = problem;
    this.#wake();
  }

  /** Resolves as soon as the condition holds. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }

  #wake(): void {
    for (const check of [...this.#waiting]) check();
  }
}
