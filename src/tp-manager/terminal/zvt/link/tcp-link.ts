import type { Timer } from "../../../../shared/time.ts";
import { type Apdu, ApduReader, encodeApdu } from "../../../../zvt/index.ts";
import { ApduLink, type OpenLink, type SendOutcome } from "./apdu-link.ts";

export const openTcpLink: OpenLink = (options, listener, signal) =>
  new TcpLink(options, listener).open(signal);

/** ZVT over TCP (docs/zvt.md 3.2): bare APDUs one after the other. */
class TcpLink extends ApduLink {
  readonly #reader = new ApduReader();
  #pieceTimer: Timer | undefined;

  send(apdu: Apdu, done: (outcome: SendOutcome) => void): void {
    const problem = this.write(encodeApdu(apdu));
    done(problem ? { outcome: "not-begun", problem } : { outcome: "delivered", copies: 1 });
  }

  data(bytes: Uint8Array): void {
    const events = this.#reader.push(bytes);
    if (events.length > 0 || this.#reader.pendingBytes === 0) {
      this.#pieceTimer?.clear();
      this.#pieceTimer = undefined;
    }
    // Before the messages are passed on, because the listener may close the link.
    if (this.#reader.pendingBytes > 0) this.#startPieceTimer();
    for (const event of events) {
      if (this.isDown) return;
      if (event.event === "apdu") this.listener.apdu(event.apdu);
      else {
        this.listener.noise(event.bytes.length);
        this.#giveUp("what arrives is not ZVT; is this the right port of the terminal?");
      }
    }
  }

  /** Ends the connection unless all pieces of a message come in time (docs/zvt.md 3.3). */
  #startPieceTimer(): void {
    const { clock, timers } = this.options;
    this.#pieceTimer ??= clock.startTimer("zvt T3 pieces", timers.t3Ms, () =>
      this.#giveUp("a message stopped in the middle"),
    );
  }

  #giveUp(problem: string): void {
    this.end(problem);
    void this.close();
  }

  protected stop(): void {
    this.#pieceTimer?.clear();
  }
}
