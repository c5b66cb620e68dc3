import type { Timer } from "../../../../shared/time.ts";
import {
  type Apdu,
  decodeApdu,
  encodeApdu,
  sameBytes,
  ZvtCodecError,
} from "../../../../zvt/index.ts";
import { ApduLink, isAnswer, type SendOutcome } from "./apdu-link.ts";
import { ACK, encodeFrame, type FrameEvent, FrameReader, NAK } from "./serial-frame.ts";

/** The largest number of sends of a frame (docs/zvt.md 2.4, docs/rules/03-repeats.md). */
const SENDS_MAX = 3;

interface Outgoing {
  readonly apdu: Apdu;
  readonly frame: Uint8Array;
  readonly done: (outcome: SendOutcome) => void;
  sends: number;
  timer: Timer | undefined;
}

/** The last frame that the terminal sent, to recognise its repeat (docs/zvt.md 2.4). */
interface Incoming {
  readonly bytes: Uint8Array;
  readonly atMs: number;
  answer: Uint8Array | undefined;
  /** Whether our answer got its ACK: an equal frame is then a new message. */
  settled: boolean;
}

/** ZVT over a serial line: framed, answered with ACK, repeated at most twice (docs/zvt.md 2.4). */
export class SerialLink extends ApduLink {
  readonly #reader = new FrameReader();
  #outgoing: Outgoing | undefined;
  #incoming: Incoming | undefined;
  #answered: Uint8Array | undefined;
  #byteTimer: Timer | undefined;

  send(apdu: Apdu, done: (outcome: SendOutcome) => void): void {
    const before = this.#outgoing;
    if (before && !(isAnswer(apdu) && !isAnswer(before.apdu))) {
      throw new Error("another message is still being sent on this serial link");
    }
    // The terminal awaits this answer, so our command ends as collided (docs/zvt.md 2.5).
    if (before) this.#finish({ outcome: "collided", copies: before.sends });
    const frame = encodeFrame(encodeApdu(apdu));
    const outgoing = { apdu, frame, done, sends: 0, timer: undefined };
    this.#outgoing = outgoing;
    if (!isAnswer(apdu)) this.#answered = undefined;
    else if (this.#incoming) this.#incoming.answer = frame;
    this.#transmit(outgoing);
  }

  #transmit(outgoing: Outgoing): void {
    const problem = this.write(outgoing.frame);
    if (problem !== null) {
      const outcome = outgoing.sends === 0 ? "not-begun" : "broken";
      this.#finish({ outcome, problem });
      return;
    }
    outgoing.sends += 1;
    this.#awaitAck(outgoing);
  }

  #awaitAck(outgoing: Outgoing): void {
    const { clock, timers } = this.options;
    outgoing.timer?.clear();
    outgoing.timer = clock.startTimer("zvt T2", timers.t2Ms, () => this.#noAck());
  }

  /** Repeats the frame after NAK or T2, at most twice (docs/zvt.md 2.4). */
  #noAck(): void {
    const outgoing = this.#outgoing;
    if (!outgoing) return;
    if (outgoing.sends < SENDS_MAX) this.#transmit(outgoing);
    else this.#finish({ outcome: "no-ack" });
  }

  #delivered({ sends }: Outgoing): void {
    this.#finish({ outcome: "delivered", copies: sends });
  }

  #finish(outcome: SendOutcome): void {
    const outgoing = this.#outgoing;
    if (!outgoing) return;
    outgoing.timer?.clear();
    this.#outgoing = undefined;
    if (outcome.outcome === "delivered" && isAnswer(outgoing.apdu) && this.#incoming) {
      this.#incoming.settled = true;
    }
    outgoing.done(outcome);
  }

  data(bytes: Uint8Array): void {
    this.#byteTimer?.clear();
    for (const event of this.#reader.push(bytes)) this.#event(event);
    this.#byteTimer?.clear();
    if (this.isDown || !this.#reader.inFrame) return;
    const { clock, timers } = this.options;
    this.#byteTimer = clock.startTimer("zvt T1", timers.t1Ms, () => {
      for (const event of this.#reader.timeout()) this.#event(event);
    });
  }

  #event(event: FrameEvent): void {
    if (this.isDown) return;
    switch (event.event) {
      case "ack":
        if (this.#outgoing) this.#delivered(this.#outgoing);
        return;
      case "nak":
        this.#noAck();
        return;
      case "bad-frame":
        this.write(Uint8Array.of(NAK));
        return;
      case "noise":
        this.listener.noise(event.bytes);
        return;
      case "frame":
        this.#frame(event.apdu);
    }
  }

  #frame(bytes: Uint8Array): void {
    // A frame gets its ACK before its content is decoded (docs/zvt.md 2.4).
    this.write(Uint8Array.of(ACK));
    if (this.#isRepeat(bytes)) {
      this.#answerAgain(bytes);
      return;
    }
    const fromAnswerer = bytes[0] === 0x80 || bytes[0] === 0x84;
    const outgoing = this.#outgoing;
    // A late or missing ACK (docs/zvt.md 2.4): an answer proves that our command arrived, a new
    // message of the terminal proves that our last answer arrived.
    if (outgoing && fromAnswerer !== isAnswer(outgoing.apdu)) this.#delivered(outgoing);
    if (fromAnswerer) {
      this.#answered = bytes;
    } else {
      const atMs = this.options.clock.monotonicMs();
      this.#incoming = { bytes, atMs, answer: undefined, settled: false };
    }
    const apdu = read(bytes);
    if (apdu) this.listener.apdu(apdu);
    else this.listener.malformed(bytes);
  }

  /**
   * Returns whether a frame repeats the last one (docs/zvt.md 2.4): its bytes are equal, and the
   * terminal has not sent the ACK of our answer yet. An equal answer is a repeat until we send a
   * command. An equal print line after the ACK of our answer is a new line.
   */
  #isRepeat(bytes: Uint8Array): boolean {
    if (this.#answered && sameBytes(this.#answered, bytes)) return true;
    const last = this.#incoming;
    if (!last || last.settled || !sameBytes(last.bytes, bytes)) return false;
    const { clock, timers } = this.options;
    return clock.monotonicMs() - last.atMs <= SENDS_MAX * timers.t2Ms;
  }

  #answerAgain(repeated: Uint8Array): void {
    const { bytes, answer } = this.#incoming ?? {};
    if (!answer || !bytes || !sameBytes(bytes, repeated)) return;
    if (this.#outgoing?.frame === answer) this.#awaitAck(this.#outgoing);
    this.write(answer);
  }

  protected stop(problem: string | null): void {
    this.#byteTimer?.clear();
    this.#finish({ outcome: "broken", problem: problem ?? "the line was closed" });
  }
}

function read(bytes: Uint8Array): Apdu | undefined {
  try {
    return decodeApdu(bytes);
  } catch (error) {
    if (error instanceof ZvtCodecError) return undefined;
    throw error;
  }
}
