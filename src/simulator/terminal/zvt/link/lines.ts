import { concat, sameBytes } from "../../../../zvt/index.ts";
import { disturbedPieces } from "../../faults/fault-box.ts";
import * as port from "../../port/register-line.ts";
import { acknowledgement, disturbances, rewritten } from "../faults.ts";
import type { Timers } from "../options.ts";
import { ACK, encodeFrame, FrameReader, frameCrc, type LineEvent, NAK } from "./frame.ts";

interface LineHandlers {
  apdu(apdu: Uint8Array): void;
  /** Called exactly once. */
  closed(): void;
}

interface LineOptions extends port.LineOptions, Timers {
  /** Returns the number of the running command, by which faults choose. */
  readonly running: () => number | undefined;
  /** Whether 08 02 has switched to another protocol (docs/zvt.md 6.4). */
  readonly zvtOff?: () => boolean;
}

/** The bytes that a terminal with ZVT switched off sends (docs/zvt.md 12.7). */
const ZVT_OFF = Uint8Array.of(0x15, 0x03, 0x69);

/**
 * A line of ZVT: {@link SerialLine} has frames, checksum, ACK, NAK and repeats, {@link TcpLine}
 * sends bare messages. The code that uses a line treats both alike.
 */
export abstract class Line extends port.RegisterLine<LineOptions, LineHandlers> {
  protected readonly what = "apdu";

  /**
   * Sends one message, after those before it. "sent": acknowledged by the other side's transport
   * (serial), handed to the network (TCP). "failed": repeats used up, or the line is gone.
   */
  abstract send(apdu: Uint8Array): Promise<"sent" | "failed">;

  /** Sets the speed of a serial line in bits per second; TCP has none. */
  changeSpeed(_bitsPerSecond: number): void {}

  /** Answers with bytes that are no ZVT (docs/zvt.md 12.7). */
  refuseProtocol(): void {
    this.options.onWire({ what: "noise", direction: "in", note: "ZVT is off" });
    this.port.write(ZVT_OFF);
  }

  protected override received(bytes: Uint8Array): void {
    if (this.options.zvtOff?.()) this.refuseProtocol();
    else this.read(bytes);
  }

  protected abstract read(bytes: Uint8Array): void;
}

/**
 * Puts the messages of a TCP connection together again, however the stream is cut
 * (docs/zvt.md 3.2): two control bytes, the length (one byte, or FF low high), data.
 */
export class ApduReader {
  #pending = new Uint8Array(0);

  /** Bytes of a message that is not complete. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const joined = concat([this.#pending, chunk]);
    const apdus: Uint8Array[] = [];
    let start = 0;
    for (;;) {
      const length = apduLength(joined, start);
      if (length === undefined || start + length > joined.length) break;
      apdus.push(joined.slice(start, start + length));
      start += length;
    }
    this.#pending = joined.slice(start);
    return apdus;
  }
}

/** Returns the length of the message at `start`; undefined: it is not known yet. */
function apduLength(bytes: Uint8Array, start: number): number | undefined {
  const short = bytes[start + 2];
  if (short === undefined) return undefined;
  if (short !== 0xff) return 3 + short;
  const low = bytes[start + 3];
  const high = bytes[start + 4];
  // Low byte first (docs/zvt.md 4.1).
  return low === undefined || high === undefined ? undefined : 5 + low + (high << 8);
}

/** Whether the length field of a message agrees with its number of bytes. */
export function hasTrueLength(apdu: Uint8Array): boolean {
  return apduLength(apdu, 0) === apdu.length;
}

/** Messages without frame, checksum and acknowledgement byte (docs/zvt.md 3.2). */
export class TcpLine extends Line {
  readonly #reader = new ApduReader();

  send(apdu: Uint8Array): Promise<"sent" | "failed"> {
    return this.inOrder(async () => {
      const bytes = rewritten(this.options, apdu);
      await this.leave(disturbedPieces(bytes, disturbances(this.options, apdu)));
      if (this.closed) return "failed";
      this.sentMessage(bytes);
      return "sent";
    });
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

/** A frame leaves at most three times (docs/zvt.md 2.4). */
const SENDS_MAX = 3;

/** How many messages may wait for their ACK, whatever a register sends. */
const WAITING_MAX = 8;

/** The frame that waits for its ACK. */
interface Outgoing {
  readonly apdu: Uint8Array;
  sends: number;
  settle(how: "ack" | "again" | "gone"): void;
}

/** Frames with ACK and NAK, T1, T2, two repeats, and repeats recognised (docs/zvt.md 2.2, 2.4). */
export class SerialLine extends Line {
  readonly #reader = new FrameReader();
  #waiting = 0;
  #outgoing: Outgoing | undefined;
  /** The last good frame, as long as an equal one is a repeat. */
  #lastAccepted: Uint8Array | undefined;
  #lastAcceptedAtMs = 0;

  async send(apdu: Uint8Array): Promise<"sent" | "failed"> {
    if (this.#waiting === WAITING_MAX) return "failed";
    this.#waiting += 1;
    try {
      return await this.inOrder(() => this.#sendUntilAcknowledged(rewritten(this.options, apdu)));
    } finally {
      this.#waiting -= 1;
    }
  }

  override changeSpeed(bitsPerSecond: number): void {
    this.port.setSpeed?.(bitsPerSecond);
    this.options.onWire({ what: "speed", note: `${bitsPerSecond} bits per second` });
  }

  async #sendUntilAcknowledged(apdu: Uint8Array): Promise<"sent" | "failed"> {
    for (let sends = 1; sends <= SENDS_MAX; sends++) {
      if (this.closed) return "failed";
      // The waiter is set before the write; T2 runs from the end of the frame.
      const answer = new Promise<"ack" | "again" | "gone">((resolve) => {
        this.#outgoing = { apdu, sends, settle: resolve };
      });
      await this.#transmit(apdu, sends - 1);
      const t2 = this.options.clock.startTimer("T2", this.options.t2Ms, () =>
        this.#outgoing?.settle("again"),
      );
      const how = await answer;
      t2.clear();
      this.#outgoing = undefined;
      if (how === "ack") return "sent";
      if (how === "gone") return "failed";
    }
    return "failed";
  }

  async #transmit(apdu: Uint8Array, repeat: number): Promise<void> {
    const struck = disturbances(this.options, apdu);
    const damaged = struck.some(({ kind }) => kind === "bad-check");
    const frame = encodeFrame(apdu, damaged ? frameCrc(apdu) ^ 0x0100 : frameCrc(apdu));
    await this.leave(disturbedPieces(frame, struck));
    this.sentMessage(apdu, repeat);
  }

  protected override read(bytes: Uint8Array): void {
    this.stopWaiting();
    for (const event of this.#reader.push(bytes)) this.#handle(event);
    if (!this.#reader.insideFrame || this.closed) return;
    this.wait("T1", this.options.t1Ms, () => {
      for (const event of this.#reader.silence()) this.#handle(event);
    });
  }

  #handle(event: LineEvent): void {
    if (event.kind === "frame") {
      this.#frame(event.apdu);
      return;
    }
    const { kind: what } = event;
    const count = event.kind === "noise" ? { note: `${event.count} bytes` } : {};
    const reason = event.kind === "bad-frame" ? { note: event.reason } : {};
    this.options.onWire({ what, direction: "in", ...count, ...reason });
    if (what === "ack") this.#acknowledged();
    else if (what === "nak") this.#outgoing?.settle("again");
    else if (what === "bad-frame") this.#refuse();
  }

  #refuse(): void {
    this.write(Uint8Array.of(NAK));
    this.options.onWire({ what: "nak", direction: "out" });
  }

  #acknowledged(): void {
    if (!this.#outgoing) return;
    // The register has gone on: equal bytes are a new message from now on.
    this.#lastAccepted = undefined;
    this.#outgoing.settle("ack");
  }

  #frame(apdu: Uint8Array): void {
    const { onWire } = this.options;
    if (!this.#acknowledge(apdu)) return;
    const { clock: now, t2Ms } = this.options;
    const sinceMs = now.monotonicMs() - this.#lastAcceptedAtMs;
    this.#lastAcceptedAtMs = now.monotonicMs();
    // docs/zvt.md 2.4: a repeat leaves within T2, and takes its time on the wire; later than that
    // the register asks anew, and wants an answer.
    if (this.#lastAccepted && sinceMs <= 2 * t2Ms && sameBytes(this.#lastAccepted, apdu)) {
      // Its sender missed our ACK (docs/zvt.md 2.4). The answer is on its way already.
      onWire({ what: "duplicate", direction: "in", note: "acknowledged and dropped" });
      return;
    }
    this.receivedMessage(apdu);
    // An answer to the frame that still waits for its ACK says that the frame arrived
    // (docs/zvt.md 2.4).
    if (apdu[0] === 0x80 || apdu[0] === 0x84) this.#acknowledged();
    this.#lastAccepted = apdu;
    this.handlers?.apdu(apdu);
  }

  /** Sends ACK before the content is checked (docs/zvt.md 2.4), unless a fault forbids it. */
  #acknowledge(apdu: Uint8Array): boolean {
    const { clock, faults, onWire } = this.options;
    const { how, delayMs } = acknowledgement(this.options, apdu);
    if (how === "nothing") return true;
    if (how === "nak") {
      this.#refuse();
      return false;
    }
    const acknowledge = () => {
      this.write(Uint8Array.of(ACK));
      if (!faults.muted) onWire({ what: "ack", direction: "out" });
    };
    if (delayMs > 0) clock.startTimer("fault late ACK", delayMs, acknowledge);
    else acknowledge();
    return true;
  }

  protected override ended(): void {
    this.#outgoing?.settle("gone");
  }
}
