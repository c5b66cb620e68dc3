import { type Clock, sleep, type Timer } from "../../../../shared/time.ts";
import type { BytePort } from "../../port/byte-port.ts";
import { disturbedPieces } from "../../port/disturbance.ts";
import { ApduReader } from "./apdu-reader.ts";
import {
  type Interference,
  type Line,
  type LineHandlers,
  type WireListener,
  ZVT_OFF,
} from "./line.ts";

interface TcpLineOptions {
  readonly clock: Clock;
  /**
   * A message that comes in pieces more slowly than this closes the connection (docs/zvt.md 3.3).
   */
  readonly t3Ms: number;
  readonly interference: Interference;
  /** Another protocol was switched on by 08 02 (docs/zvt.md 6.4): ZVT is not understood. */
  readonly zvtOff?: () => boolean;
  readonly onWire: WireListener;
}

/**
 * Bare messages one after the other; no frame, no checksum, no acknowledgement byte
 * (docs/zvt.md 3.2).
 */
export class TcpLine implements Line {
  readonly name: string;
  readonly transport = "tcp";
  readonly #port: BytePort;
  readonly #options: TcpLineOptions;
  readonly #reader = new ApduReader();
  #handlers: LineHandlers | undefined;
  #pieceTimer: Timer | undefined;
  #sending: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(port: BytePort, options: TcpLineOptions) {
    this.name = port.name;
    this.#port = port;
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  start(handlers: LineHandlers): void {
    this.#handlers = handlers;
    this.#options.onWire({ what: "open" });
    this.#port.start({ data: (bytes) => this.#received(bytes), closed: () => this.#gone() });
  }

  send(apdu: Uint8Array): Promise<"sent" | "failed"> {
    const { interference } = this.#options;
    const sent = this.#sending.then(() => {
      const bytes = interference.rewrite(apdu);
      const pieces = disturbedPieces(bytes, interference.disturb(apdu));
      return this.#transmit(bytes, pieces);
    });
    this.#sending = sent;
    return sent;
  }

  refuseProtocol(): void {
    this.#options.onWire({ what: "noise", direction: "in", note: "ZVT is off" });
    this.#port.write(ZVT_OFF);
  }

  close(): void {
    this.#port.close();
  }

  async #transmit(
    apdu: Uint8Array,
    pieces: ReturnType<typeof disturbedPieces>,
  ): Promise<"sent" | "failed"> {
    const { clock, interference, onWire } = this.#options;
    for (const { pauseMs, bytes } of pieces) {
      if (pauseMs > 0) await sleep(clock, "fault pause", pauseMs);
      if (this.#closed) return "failed";
      if (!interference.mute) this.#port.write(bytes);
    }
    if (this.#closed) return "failed";
    if (!interference.mute) onWire({ what: "apdu", direction: "out", apdu, repeat: 0 });
    return "sent";
  }

  #received(bytes: Uint8Array): void {
    if (this.#options.zvtOff?.()) {
      this.refuseProtocol();
      return;
    }
    this.#pieceTimer?.clear();
    this.#pieceTimer = undefined;
    for (const apdu of this.#reader.push(bytes)) {
      this.#options.onWire({ what: "apdu", direction: "in", apdu, repeat: 0 });
      this.#handlers?.apdu(apdu);
    }
    if (this.#reader.pendingBytes > 0 && !this.#closed) {
      this.#pieceTimer = this.#options.clock.startTimer("T3 pieces", this.#options.t3Ms, () => {
        const note = `${this.#reader.pendingBytes} bytes of a message, then nothing within T3`;
        this.#options.onWire({ what: "bad-frame", direction: "in", note });
        this.#port.close();
      });
    }
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pieceTimer?.clear();
    this.#options.onWire({ what: "close" });
    this.#handlers?.closed();
  }
}
