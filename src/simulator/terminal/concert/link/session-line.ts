import type { BytePort } from "../../port/byte-port.ts";
import { disturbedPieces } from "../../port/disturbance.ts";
import type { Pieces } from "../../port/register-line.ts";
import { controlBytes, framed, type Heard, TimedReader } from "./byte-reader.ts";
import { ConcertLine, type LineOptions } from "./concert-line.ts";
import { type Act, type Delivery, type Happening, type Session, step } from "./session-machine.ts";

interface SessionLineOptions extends LineOptions {
  /** For the answer to the terminal's ENQ and to its frame. */
  readonly answerMs: number;
  /** A session of the register that stands still is over. */
  readonly sessionMs: number;
  /** A frame that stands still is cut. */
  readonly silenceMs: number;
}

/** The control bytes in the trace (docs/concert.md 2.2). */
const controls = {
  enq: { message: "ENQ", says: "asks to speak", hex: "05" },
  ack: { message: "ACK", says: "understood", hex: "06" },
  nak: { message: "NAK", says: "no", hex: "15" },
  eot: { message: "EOT", says: "has said all", hex: "04" },
} as const;
type Control = keyof typeof controls;

/** One reply to deliver, and the callback for its end. */
interface Telling {
  readonly body: Uint8Array;
  done(how: Delivery | "closed"): void;
}

/** The dialogue of ENQ, ACK, frames and EOT on one line (docs/concert.md 2.4). */
export class SessionLine extends ConcertLine<SessionLineOptions> {
  readonly inSessions = true;
  readonly #waiting: Telling[] = [];
  readonly #reader: TimedReader;
  #telling: Telling | undefined;
  #session: Session = { at: "idle" };
  #begin: (() => void) | undefined;
  /** Pieces with pauses that are on their way; others wait for them. */
  #out: Promise<void> | undefined;
  /** How late the next ACK leaves, by a fault. */
  #ackDelayMs = 0;

  constructor(port: BytePort, options: SessionLineOptions) {
    super(port, options);
    const { clock, silenceMs } = options;
    this.#reader = new TimedReader(clock, silenceMs, (heard) => this.#heard(heard));
  }

  protected override received(bytes: Uint8Array): void {
    this.#reader.push(bytes);
  }

  tell(body: Uint8Array): Promise<Delivery | "closed"> {
    if (this.closed) return Promise.resolve("closed");
    const bytes = this.options.interference.rewrite(body);
    return new Promise((done) => {
      this.#waiting.push({ body: bytes, done });
      this.#tellNext();
    });
  }

  /** A line with sessions stays open: the next session is opened on it. */
  finish(): void {}

  /** Half duplex: a reply waits for the end of the running session. */
  #tellNext(): void {
    if (this.#session.at !== "idle" || this.#telling) return;
    this.#telling = this.#waiting.shift();
    if (this.#telling) this.#happens({ what: "tell", body: this.#telling.body });
  }

  #heard(heard: Heard): void {
    if (heard.kind === "frame") this.receivedMessage(heard.body);
    else if (heard.kind !== "junk") this.#control("in", heard.kind);
    else this.options.onWire({ what: "junk", direction: "in", note: heard.why });
    this.#happens(this.#happening(heard));
  }

  #control(direction: "in" | "out", what: Control): void {
    this.options.onWire({ what, direction, ...controls[what] });
  }

  #happening(heard: Heard): Happening {
    if (heard.kind === "enq") return { what: "enq", reply: this.#replyToEnquiry() };
    if (heard.kind === "frame") return this.#requested(heard.body);
    return { what: heard.kind };
  }

  #replyToEnquiry() {
    const { at } = this.#session;
    if (at !== "idle" && at !== "listening") return "nak";
    const usual = this.handlers?.mayBegin() ? "ack" : "nak";
    return this.options.interference.enquiry() ?? usual;
  }

  /** A frame outside of a session of the register is refused unread. */
  #requested(body: Uint8Array): Happening {
    const refused: Happening = { what: "frame", body, reply: "nak", taken: false };
    if (this.#session.at !== "listening") return refused;
    const fault = this.options.interference.request();
    const { reply = "ack", taken = reply !== "nak" } = fault;
    this.#ackDelayMs = fault.delayMs;
    this.#begin = taken ? this.handlers?.request(body) : undefined;
    return this.#begin ? { what: "frame", body, reply, taken: true } : refused;
  }

  #happens(happening: Happening): void {
    if (this.closed) return;
    const { next, acts } = step(this.#session, happening);
    if (next.at !== this.#session.at) this.stopWaiting();
    this.#session = next;
    for (const act of acts) this.#act(act);
    if (next.at === "idle") this.#tellNext();
  }

  #act(act: Act): void {
    switch (act.do) {
      case "say":
        this.#say(act.what);
        return;
      case "frame":
        this.#transmit(act.body, act.repeat);
        return;
      case "begin": {
        const begin = this.#begin;
        this.#begin = undefined;
        begin?.();
        return;
      }
      case "told": {
        const told = this.#telling;
        this.#telling = undefined;
        told?.done(act.how);
        return;
      }
      case "wait":
        this.#startTimer(act.for);
        return;
    }
  }

  /** Starts after the bytes that are still on their way. */
  #startTimer(name: "session" | "answer"): void {
    this.stopWaiting();
    const session = this.#session;
    if (this.#out !== undefined) {
      void this.#out.then(() => {
        if (this.#session === session && !this.closed) this.#startTimer(name);
      });
      return;
    }
    const { answerMs, sessionMs } = this.options;
    const delayMs = name === "session" ? sessionMs : answerMs;
    this.wait(name, delayMs, () => this.#happens({ what: "time" }));
  }

  #say(what: Control): void {
    const { interference } = this.options;
    if (what === "eot" && interference.withholdsEot()) return;
    const pauseMs = what === "ack" ? this.#ackDelayMs : 0;
    this.#ackDelayMs = 0;
    this.#leave([{ pauseMs, bytes: Uint8Array.of(controlBytes[what]) }]);
    if (!interference.mute) this.#control("out", what);
  }

  #transmit(body: Uint8Array, repeat: number): void {
    const disturbances = this.options.interference.disturb(body);
    const spoilt = disturbances.some(({ kind }) => kind === "bad-check");
    this.#leave(disturbedPieces(framed(body, spoilt), disturbances));
    this.sentMessage(body, repeat);
  }

  /** One write for bytes that no fault cuts into pieces (docs/concert.md 2.3). */
  #leave(pieces: Pieces): void {
    if (this.#out === undefined && pieces.every(({ pauseMs }) => pauseMs === 0)) {
      for (const { bytes } of pieces) this.write(bytes);
      return;
    }
    const out = (this.#out ?? Promise.resolve()).then(async () => {
      await this.leave(pieces);
      if (this.#out === out) this.#out = undefined;
    });
    this.#out = out;
  }

  protected override write(bytes: Uint8Array): void {
    const { interference } = this.options;
    if (this.closed || interference.mute) return;
    this.port.write(interference.parity() ? bytes.map(withParity) : bytes);
  }

  protected override ended(): void {
    this.#reader.stop();
    for (const { done } of [this.#telling, ...this.#waiting.splice(0)].flatMap((t) => t ?? [])) {
      done("closed");
    }
    this.#telling = undefined;
  }
}

const PARITY_BIT = 0x80;

/** Seven bits and even parity, as a reader of eight bits sees them (docs/concert.md 2.1). */
function withParity(byte: number): number {
  const ones = byte.toString(2).replaceAll("0", "").length;
  return ones % 2 === 0 ? byte : byte | PARITY_BIT;
}
