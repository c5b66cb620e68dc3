import type { Timer } from "../../../../shared/time.ts";
import { type Apdu, ApduReader, encodeApdu } from "../../../../zvt/index.ts";
import type { ByteConnection } from "../../transport/byte-transport.ts";
import type { ApduLink, LinkListener, LinkOptions, OpenLink, SendOutcome } from "./apdu-link.ts";

export const openTcpLink: OpenLink = async (options, listener, signal) => {
  const link = new TcpLink(options, listener);
  await link.open(signal);
  return link;
};

/** ZVT over TCP (docs/zvt.md 3.2): bare APDUs one after the other. */
class TcpLink implements ApduLink {
  readonly #options: LinkOptions;
  readonly #listener: LinkListener;
  readonly #reader = new ApduReader();
  #connection: ByteConnection | undefined;
  #pieceTimer: Timer | undefined;
  #down = false;

  constructor(options: LinkOptions, listener: LinkListener) {
    this.#options = options;
    this.#listener = listener;
  }

  async open(signal: AbortSignal): Promise<void> {
    this.#connection = await this.#options.transport.open(
      {
        data: (bytes) => this.#received(bytes),
        closed: (problem) => this.#ended(problem?.message ?? null),
      },
      signal,
    );
  }

  send(apdu: Apdu, done: (outcome: SendOutcome) => void): void {
    if (this.#down || !this.#connection) {
      done({ outcome: "not-begun", problem: "the connection is closed" });
      return;
    }
    try {
      this.#connection.write(encodeApdu(apdu));
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      done({ outcome: "not-begun", problem });
      return;
    }
    done({ outcome: "delivered", copies: 1 });
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  #received(bytes: Uint8Array): void {
    const events = this.#reader.push(bytes);
    if (events.length > 0 || this.#reader.pendingBytes === 0) {
      this.#pieceTimer?.clear();
      this.#pieceTimer = undefined;
    }
    // Before the messages are passed on, because the listener may close the link.
    if (this.#reader.pendingBytes > 0) this.#startPieceTimer();
    for (const event of events) {
      if (this.#down) return;
      if (event.event === "apdu") this.#listener.apdu(event.apdu);
      else {
        this.#listener.noise(event.bytes.length);
        this.#giveUp("what arrives is not ZVT; is this the right port of the terminal?");
      }
    }
  }

  /** docs/zvt.md 3.3: a message that arrives in pieces too slowly ends the connection. */
  #startPieceTimer(): void {
    const { clock, timers } = this.#options;
    this.#pieceTimer ??= clock.startTimer("zvt T3 pieces", timers.t3Ms, () =>
      this.#giveUp("a message stopped in the middle"),
    );
  }

  #giveUp(problem: string): void {
    const connection = this.#connection;
    this.#ended(problem);
    void connection?.close();
  }

  #ended(problem: string | null): void {
    if (this.#down) return;
    this.#down = true;
    this.#pieceTimer?.clear();
    this.#listener.down(problem);
  }
}
