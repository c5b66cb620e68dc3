import { disturbedPieces } from "../../port/disturbance.ts";
import { ApduReader } from "./apdu-reader.ts";
import { Line, type LineOptions } from "./line.ts";

interface TcpLineOptions extends LineOptions {
  /**
   * A message that comes in pieces more slowly than this closes the connection (docs/zvt.md 3.3).
   */
  readonly t3Ms: number;
}

/**
 * Bare messages one after the other; no frame, no checksum, no acknowledgement byte
 * (docs/zvt.md 3.2).
 */
export class TcpLine extends Line<TcpLineOptions> {
  readonly transport = "tcp";
  readonly #reader = new ApduReader();
  #sending: Promise<unknown> = Promise.resolve();

  send(apdu: Uint8Array): Promise<"sent" | "failed"> {
    const sent = this.#sending.then(() => this.#transmit(apdu));
    this.#sending = sent;
    return sent;
  }

  async #transmit(apdu: Uint8Array): Promise<"sent" | "failed"> {
    const { interference } = this.options;
    const bytes = interference.rewrite(apdu);
    await this.leave(disturbedPieces(bytes, interference.disturb(apdu)));
    if (this.closed) return "failed";
    this.sentMessage(bytes);
    return "sent";
  }

  protected override read(bytes: Uint8Array): void {
    this.stopWaiting();
    for (const apdu of this.#reader.push(bytes)) {
      this.receivedMessage(apdu);
      this.handlers?.apdu(apdu);
    }
    if (this.#reader.pendingBytes === 0 || this.closed) return;
    this.wait("T3 pieces", this.options.t3Ms, () => {
      const note = `${this.#reader.pendingBytes} bytes of a message, then nothing within T3`;
      this.options.onWire({ what: "bad-frame", direction: "in", note });
      this.port.close();
    });
  }

  protected override ended(): void {}
}
