import type {
  ByteConnection,
  ByteTransport,
  TransportListener,
} from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import { TransportError } from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";

/** The other end of a transport: a test reads what was written, and says what it likes. */
export class LinePeer {
  readonly clock: TestClock;
  /** Each write as it came, in hexadecimal. */
  readonly written: string[] = [];
  /** How often a connection was opened. */
  opened = 0;
  /** No connection can be opened. */
  isAway = false;
  hears: (hex: string) => void = () => {};
  connected: () => void = () => {};
  #listener: TransportListener | undefined;

  constructor(clock: TestClock) {
    this.clock = clock;
  }

  readonly transport: ByteTransport = {
    kind: "serial",
    address: "/dev/test",
    open: (listener) => {
      if (this.isAway) {
        return Promise.reject(new TransportError("cannot open /dev/test: no port"));
      }
      this.opened += 1;
      this.#listener = listener;
      this.clock.startTimer("connected", 0, () => this.connected());
      return Promise.resolve(this.#connectionOf(listener));
    },
  };

  #connectionOf(listener: TransportListener): ByteConnection {
    return {
      write: (bytes) => {
        if (this.#listener !== listener) throw new TransportError("not open");
        const hex = Buffer.from(bytes).toString("hex");
        this.written.push(hex);
        this.clock.startTimer("peer", 1, () => this.hears(hex));
      },
      close: () => {
        if (this.#listener === listener) this.#listener = undefined;
        listener.closed(null);
        return Promise.resolve();
      },
    };
  }

  /** Bytes of the terminal, after a while. */
  say(hex: string, afterMs = 1): void {
    this.clock.startTimer("peer speaks", afterMs, () => {
      this.#listener?.data(new Uint8Array(Buffer.from(hex, "hex")));
    });
  }

  /** The terminal closes the connection; with a cause, the line breaks. */
  drop(afterMs = 1, options: ErrorOptions = {}): void {
    this.clock.startTimer("peer drops", afterMs, () => {
      const listener = this.#listener;
      this.#listener = undefined;
      listener?.closed(new TransportError("/dev/test went away", options));
    });
  }
}
