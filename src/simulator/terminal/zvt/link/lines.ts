import { concat, sameBytes } from "../../../../zvt/index.ts";
import { disturbedPieces } from "../../faults/fault-box.ts";
import * as port from "../../port/register-line.ts";
import { ackOf, disturbances, rewritten } from "../faults.ts";
import type { Timers } from "../options.ts";
import { ACK, encodeFrame, FrameReader, frameCrc, type LineEvent, NAK } from "./frame.ts";

interface LineHandlers {
  apdu(apdu: Uint8Array): void;
  closed(): void;
}

interface LineOptions extends port.LineOptions, Timers {
  readonly running: () => number | undefined;
  /** Whether command 08 02 has switched ZVT off (docs/zvt.md 6.4). */
  readonly zvtOff: () => boolean;
}

/** The bytes that a terminal sends while its ZVT is switched off (docs/zvt.md 12.7). */
const ZVT_OFF = Uint8Array.of(0x15, 0x03, 0x69);

/** A line of ZVT: serial with frames, checksums and repeats, or TCP with bare messages. */
export abstract class Line extends port.RegisterLine<LineOptions, LineHandlers> {
  protected readonly what = "apdu";

  /**
   * Sends a message after the earlier messages. `sent`: the register has sent ACK (serial) or the
   * network has the message (TCP). `failed`: all repeats are used up, or the line has closed.
   */
  abstract send(apdu: Uint8Array): Promise<"sent" | "failed">;

  /** Sets the speed of a serial line in bits per second; does nothing on TCP. */
  changeSpeed(_bitsPerSecond: number): void {}

  /** Answers as a terminal whose ZVT is off: with bytes that are no message (docs/zvt.md 12.7). */
  refuseProtocol(): void {
    this.options.onWire({ what: "noise", direction: "in", note: "ZVT is off" });
    this.port.write(ZVT_OFF);
  }

  protected override received(bytes: Uint8Array): void {
    if (this.options.zvtOff()) this.refuseProtocol();
    else this.read(bytes);
  }

  protected abstract read(bytes: Uint8Array): void;
}

/** Joins the pieces of a TCP stream into messages (docs/zvt.md 3.2). */
export class ApduReader {
  #pending = new Uint8Array(0);

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

/** Returns the length of the message at `start`; undefined: the length field is incomplete. */
function apduLength(bytes: Uint8Array, start: number): number | undefined {
  const short = bytes[start + 2];
  if (short === undefined) return undefined;
  if (short !== 0xff) return 3 + short;
  const low = bytes[start + 3];
  const high = bytes[start + 4];
  return low === undefined || high === undefined ? undefined : 5 + low + (high << 8);
}

/** Whether the length field of a message agrees with its number of bytes. */
export function hasTrueLength(apdu: Uint8Array): boolean {
  return apduLength(apdu, 0) === apdu.length;
}

/** A TCP line: messages without frame, checksum and ACK (docs/zvt.md 3.2). */
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

/** How often a frame is sent at most (docs/zvt.md 2.4). */
export const SENDS_MAX = 3;

/** The most messages that wait for an ACK; further messages fail. */
const WAITING_MAX = 8;

/** A serial line with frames, ACK, NAK, T1, T2 and repeats on both sides (docs/zvt.md 2.2, 2.4). */
export class SerialLine extends Line {
  readonly #reader = new FrameReader();
  #waiting = 0;
  /** Ends the wait for the ACK of the last frame; undefined: no frame awaits an ACK. */
  #settle: ((how: "ack" | "again" | "gone") => void) | undefined;
  /** The last valid frame, while an equal frame still counts as its repeat. */
  #lastAccepted: Uint8Array | undefined;
  #lastAcceptedAtMs = 0;

  async send(apdu: Uint8Array): Promise<"sent" | "failed"> {
    if (this.#waiting === WAITING_MAX) return "failed";
    this.#waiting += 1;
    try {
      return await this.inOrder(() => this.#sendUntilAck(rewritten(this.options, apdu)));
    } finally {
      this.#waiting -= 1;
    }
  }

  override changeSpeed(bitsPerSecond: number): void {
    this.port.setSpeed?.(bitsPerSecond);
    this.options.onWire({ what: "speed", note: `${bitsPerSecond} bits per second` });
  }

  async #sendUntilAck(apdu: Uint8Array): Promise<"sent" | "failed"> {
    for (let sends = 1; sends <= SENDS_MAX; sends++) {
      if (this.closed) return "failed";
      // The wait for the ACK begins before the frame is written; T2 runs from the frame's end.
      const { promise: answer, resolve } = Promise.withResolvers<"ack" | "again" | "gone">();
      this.#settle = resolve;
      await this.#transmit(apdu, sends - 1);
      const { clock, t2Ms } = this.options;
      const t2 = clock.startTimer("T2", t2Ms, () => this.#settle?.("again"));
      const how = await answer;
      t2.clear();
      this.#settle = undefined;
      if (how === "ack") return "sent";
      if (how === "gone") return "failed";
    }
    return "failed";
  }

  async #transmit(apdu: Uint8Array, repeat: number): Promise<void> {
    const struck = disturbances(this.options, apdu);
    const damaged = struck.some(({ kind }) => kind === "bad-crc");
    const frame = encodeFrame(apdu, damaged ? frameCrc(apdu) ^ 0x0100 : frameCrc(apdu));
    await this.leave(disturbedPieces(frame, struck));
    this.sentMessage(apdu, repeat);
  }

  protected override read(bytes: Uint8Array): void {
    const t1 = { name: "T1", ms: this.options.t1Ms };
    this.readFrames(bytes, this.#reader, (event) => this.#handle(event), t1);
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
    if (what === "ack") this.#ackArrived();
    else if (what === "nak") this.#settle?.("again");
    else if (what === "bad-frame") this.#refuse();
  }

  #refuse(): void {
    this.write(Uint8Array.of(NAK));
    this.options.onWire({ what: "nak", direction: "out" });
  }

  #ackArrived(): void {
    if (!this.#settle) return;
    // The register has received our frame, so from now on an equal frame is a new message.
    this.#lastAccepted = undefined;
    this.#settle("ack");
  }

  #frame(apdu: Uint8Array): void {
    const { clock, onWire, t2Ms } = this.options;
    if (!this.#sendAck(apdu)) return;
    const sinceMs = clock.monotonicMs() - this.#lastAcceptedAtMs;
    this.#lastAcceptedAtMs = clock.monotonicMs();
    // The register repeats a frame within T2, plus its time on the wire (docs/zvt.md 2.4). An equal
    // frame that comes later is a new request, which needs an answer.
    if (this.#lastAccepted && sinceMs <= 2 * t2Ms && sameBytes(this.#lastAccepted, apdu)) {
      // The register missed our ACK of this frame, whose answer is already on its way.
      onWire({ what: "duplicate", direction: "in", note: "answered with ACK and dropped" });
      return;
    }
    this.receivedMessage(apdu);
    // An answer of the register proves that our last frame arrived (docs/zvt.md 2.4).
    if (apdu[0] === 0x80 || apdu[0] === 0x84) this.#ackArrived();
    this.#lastAccepted = apdu;
    this.handlers?.apdu(apdu);
  }

  /** Sends ACK before a frame's content is checked (docs/zvt.md 2.4), unless a fault forbids it. */
  #sendAck(apdu: Uint8Array): boolean {
    const { faults, onWire } = this.options;
    const { how, delayMs } = ackOf(this.options, apdu);
    if (how === "nothing") return true;
    if (how === "nak") {
      this.#refuse();
      return false;
    }
    const send = () => {
      if (this.closed) return;
      this.write(Uint8Array.of(ACK));
      if (!faults.muted) onWire({ what: "ack", direction: "out" });
    };
    if (delayMs > 0) void this.pause("fault late ACK", delayMs).then(send);
    else send();
    return true;
  }

  protected override ended(): void {
    this.#settle?.("gone");
  }
}
