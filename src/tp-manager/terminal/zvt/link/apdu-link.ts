import type { Clock, Timer } from "../../../../shared/time.ts";
import { type Apdu, ApduReader, encodeApdu } from "../../../../zvt/index.ts";
import type {
  ByteConnection,
  ByteTransport,
  TransportError,
  TransportListener,
} from "../../transport/byte-transport.ts";
import type { ZvtTimers } from "../zvt-options.ts";

export type SendOutcome =
  /**
   * The message got its ACK (serial line) or was given to the network (TCP). `copies`: how often
   * it was sent; any copy may be answered (docs/zvt.md 2.4).
   */
  | { readonly outcome: "delivered"; readonly copies: number }
  /** No byte of the message was sent. */
  | { readonly outcome: "not-begun"; readonly problem: string }
  /** The message was sent three times without an ACK (docs/zvt.md 2.4). */
  | { readonly outcome: "no-ack" }
  /** The terminal sent a message instead of the ACK; ours may have arrived. */
  | { readonly outcome: "collided"; readonly copies: number }
  /** The connection ended before the ACK. */
  | { readonly outcome: "broken"; readonly problem: string };

/** An interface, because a link does not know the session above it. */
export interface LinkListener {
  apdu(apdu: Apdu): void;
  /** Called with a frame that holds no message and has to be refused (docs/zvt.md 2.4). */
  malformed(bytes: Uint8Array): void;
  /** Called with a number of bytes that were skipped outside of frames. */
  noise(bytes: number): void;
  /** Called last, once, when the link ended; `problem` is null after {@link ApduLink.close}. */
  down(problem: string | null): void;
}

export interface LinkOptions {
  readonly transport: ByteTransport;
  readonly timers: ZvtTimers;
  readonly clock: Clock;
}

/** Turns bytes into whole messages and back. A link that is down stays down. */
export abstract class ApduLink implements TransportListener {
  protected readonly options: LinkOptions;
  protected readonly listener: LinkListener;
  protected isDown = false;
  #connection: ByteConnection | undefined;

  constructor(options: LinkOptions, listener: LinkListener) {
    this.options = options;
    this.listener = listener;
  }

  /** Opens the connection; rejects as {@link ByteTransport.open} does. */
  async open(signal: AbortSignal): Promise<void> {
    this.#connection = await this.options.transport.open(this, signal);
  }

  /**
   * Sends one message and calls `done` exactly once. An answer (80 xx, 84 xx) may be sent while a
   * command awaits its ACK: the command then ends as `collided` (docs/zvt.md 2.5).
   */
  abstract send(apdu: Apdu, done: (outcome: SendOutcome) => void): void;

  abstract data(bytes: Uint8Array): void;

  /** Stops the timers, and ends the message that is being sent. */
  protected abstract stop(problem: string | null): void;

  closed(problem: TransportError | null): void {
    this.end(problem?.message ?? null);
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  protected end(problem: string | null): void {
    if (this.isDown) return;
    this.isDown = true;
    this.stop(problem);
    this.listener.down(problem);
  }

  /** Writes bytes; returns null, or the reason why none was sent. */
  protected write(bytes: Uint8Array): string | null {
    if (this.isDown || !this.#connection) return "the connection is closed";
    try {
      this.#connection.write(bytes);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/** Returns whether a message is an answer, 80 xx or 84 xx (docs/zvt.md 4.1). */
export function isAnswer({ control }: { readonly control: number }): boolean {
  return control >> 8 === 0x80 || control >> 8 === 0x84;
}

/** A link over TCP, where APDUs follow each other without frames (docs/zvt.md 3.2). */
export class TcpLink extends ApduLink {
  readonly #reader = new ApduReader();
  #pieceTimer: Timer | undefined;

  send(apdu: Apdu, done: (outcome: SendOutcome) => void): void {
    const problem = this.write(encodeApdu(apdu));
    if (problem === null) done({ outcome: "delivered", copies: 1 });
    else done({ outcome: "not-begun", problem });
  }

  data(bytes: Uint8Array): void {
    const events = this.#reader.push(bytes);
    if (events.length > 0 || this.#reader.pendingBytes === 0) {
      this.#pieceTimer?.clear();
      this.#pieceTimer = undefined;
    }
    // The timer starts first, because the listener of the messages may close the link.
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
