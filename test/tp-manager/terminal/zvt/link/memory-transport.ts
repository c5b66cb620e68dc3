import {
  type ByteConnection,
  type ByteTransport,
  TransportError,
  type TransportListener,
} from "../../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import { fromHex, toHex } from "../../../../../src/zvt/index.ts";

/** Both ends of a line in one process, so that a test owns every byte and the time between them. */
export class MemoryTransport implements ByteTransport {
  readonly kind: "serial" | "tcp";
  readonly address = "memory";
  /** Every write since the last call of `take`. */
  written: string[] = [];
  #listener: TransportListener | undefined;

  constructor(kind: "serial" | "tcp") {
    this.kind = kind;
  }

  open(listener: TransportListener): Promise<ByteConnection> {
    this.#listener = listener;
    return Promise.resolve({
      write: (bytes) => {
        if (!this.#listener) throw new TransportError("memory is not open");
        this.written.push(toHex(bytes));
      },
      close: () => Promise.resolve(this.end(null)),
    });
  }

  get isOpen(): boolean {
    return this.#listener !== undefined;
  }

  /** The far end sends. */
  arrive(hex: string): void {
    this.#listener?.data(fromHex(hex.replaceAll(" ", "")));
  }

  /** What was written since the last call. */
  take(): string[] {
    return this.written.splice(0);
  }

  end(problem: TransportError | null = new TransportError("memory broke")): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.closed(problem);
  }
}
