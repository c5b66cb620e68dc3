import { readTagged } from "../../../../concert/index.ts";
import type { BytePort } from "../../port/ports.ts";
import * as port from "../../port/register-line.ts";
import { disturbedPieces, type Pieces } from "../../port/register-line.ts";
import type { ConcertFaultyWire } from "../faults.ts";
import type { Timers } from "../options.ts";
import { controlBytes, framed, type Received, TimedReader } from "./byte-reader.ts";
import {
  type Action,
  type Delivery,
  type Happening,
  type Session,
  step,
} from "./session-machine.ts";

interface LineHandlers {
  /** Whether a register that asks to speak may speak. */
  mayBegin(): boolean;
  /** Reads a request. Returns the work that begins, or undefined to refuse it on the line. */
  request(body: Uint8Array): (() => void) | undefined;
  closed(): void;
}

/** The armed faults, asked at every moment at which one can disturb the line. */
export type Interference = Pick<ConcertFaultyWire, keyof ConcertFaultyWire>;

interface LineOptions extends port.LineOptions, Timers {
  readonly transport: port.Transport;
  readonly interference: Interference;
  /** Whether a message with these tags has all members that its action needs. */
  saysAll(tags: ReadonlyMap<string, string>): boolean;
}

/**
 * A line of these protocols. Two kinds: {@link SessionLine} (the dialogue of ENQ, frames and EOT)
 * and {@link BareLine} (bodies as they are). The code above a line distinguishes neither.
 */
export abstract class ConcertLine extends port.RegisterLine<LineOptions, LineHandlers> {
  protected readonly what = "body";
  /** A line without sessions carries the answer to its request, and nothing else. */
  abstract readonly inSessions: boolean;

  get transport(): port.Transport {
    return this.options.transport;
  }

  /** Tries once to deliver a reply, as soon as the line is free. */
  abstract deliver(body: Uint8Array): Promise<Delivery | "closed">;

  /** Ends the exchange: without sessions over TCP the connection closes. */
  abstract finish(): void;
}

/** No message that a terminal accepts is longer. */
const MESSAGE_BYTES_MAX = 8_192;

/**
 * Messages of tags without anything around them (docs/concert.md 4.7). Nothing ends a message, so
 * the silence after it does.
 */
export class BareLine extends ConcertLine {
  readonly inSessions = false;
  #read: Uint8Array = new Uint8Array(0);
  #closing: ReturnType<Interference["closing"]>;
  #out: Promise<unknown> = Promise.resolve();

  /** A message counts as delivered when it was handed to the network. */
  deliver(body: Uint8Array): Promise<Delivery | "closed"> {
    const delivery = this.#out.then(() => this.#deliver(body));
    this.#out = delivery;
    return delivery;
  }

  finish(): void {
    if (this.transport !== "tcp") return;
    void this.#out.then(() => {
      if (this.#closing !== "left-open") this.close();
    });
  }

  async #deliver(body: Uint8Array): Promise<Delivery | "closed"> {
    const { interference } = this.options;
    const bytes = interference.rewrite(body);
    this.#closing = this.transport === "tcp" ? interference.closing() : undefined;
    if (this.#closing !== "before") {
      const half = this.#closing === "middle" ? [{ kind: "half" } as const] : [];
      await this.leave(disturbedPieces(bytes, [...half, ...interference.disturb()]));
    }
    if (this.#closing === "before" || this.#closing === "middle") this.close();
    if (this.closed) return "closed";
    this.sentMessage(bytes);
    return "delivered";
  }

  protected override received(bytes: Uint8Array): void {
    const room = Math.max(MESSAGE_BYTES_MAX - this.#read.length, 0);
    this.#read = Uint8Array.of(...this.#read, ...bytes.subarray(0, room));
    const { gapMs, sessionMs } = this.options;
    const waitMs = this.#awaitsMore ? sessionMs : gapMs;
    this.wait("end of a message", waitMs, () => this.#whole());
  }

  get #awaitsMore(): boolean {
    const { tags, fault } = readTagged(this.#read);
    if (fault) return fault.code === "incomplete" && this.#read.length < MESSAGE_BYTES_MAX;
    return !this.options.saysAll(new Map(tags));
  }

  #whole(): void {
    const body = trimmed(this.#read);
    this.#read = new Uint8Array(0);
    if (body.length === 0) return;
    this.receivedMessage(body);
    this.handlers?.request(body)?.();
  }

  /** Handles a whole message that was read before the line closed. */
  protected override ended(): void {
    this.stopWaiting();
    if (!this.#awaitsMore) this.#whole();
  }
}

const CR = 0x0d;
const LF = 0x0a;

/** Returns the message without a line end, which registers may send (docs/concert.md 4.7). */
function trimmed(bytes: Uint8Array): Uint8Array {
  const last = bytes.findLastIndex((byte) => byte !== CR && byte !== LF);
  return bytes.slice(0, last + 1);
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
interface Reply {
  readonly body: Uint8Array;
  done(how: Delivery | "closed"): void;
}

/** The dialogue of ENQ, ACK, frames and EOT on one line (docs/concert.md 2.4). */
export class SessionLine extends ConcertLine {
  readonly inSessions = true;
  readonly #waiting: Reply[] = [];
  readonly #reader: TimedReader;
  #sending: Reply | undefined;
  #session: Session = { at: "idle" };
  #begin: (() => void) | undefined;
  /** Pieces with pauses that are on their way; others wait for them. */
  #out: Promise<void> | undefined;
  /** A fault delays the next ACK by so much. */
  #ackDelayMs = 0;

  constructor(port: BytePort, options: LineOptions) {
    super(port, options);
    const { clock, silenceMs } = options;
    this.#reader = new TimedReader(clock, silenceMs, (received) => this.#understood(received));
  }

  protected override received(bytes: Uint8Array): void {
    this.#reader.push(bytes);
  }

  deliver(body: Uint8Array): Promise<Delivery | "closed"> {
    if (this.closed) return Promise.resolve("closed");
    const bytes = this.options.interference.rewrite(body);
    return new Promise((done) => {
      this.#waiting.push({ body: bytes, done });
      this.#sendNext();
    });
  }

  /** Does nothing: the next session begins on the same line. */
  finish(): void {}

  /** Sends the next reply, unless a session runs: the line is half duplex. */
  #sendNext(): void {
    if (this.#session.at !== "idle" || this.#sending) return;
    this.#sending = this.#waiting.shift();
    if (this.#sending) this.#happens({ what: "send", body: this.#sending.body });
  }

  #understood(received: Received): void {
    if (received.kind === "frame") this.receivedMessage(received.body);
    else if (received.kind !== "junk") this.#control("in", received.kind);
    else this.options.onWire({ what: "junk", direction: "in", note: received.why });
    this.#happens(this.#happening(received));
  }

  #control(direction: "in" | "out", what: Control): void {
    this.options.onWire({ what, direction, ...controls[what] });
  }

  #happening(received: Received): Happening {
    if (received.kind === "enq") return { what: "enq", reply: this.#replyToEnquiry() };
    if (received.kind === "frame") return this.#requested(received.body);
    return { what: received.kind };
  }

  #replyToEnquiry() {
    const { at } = this.#session;
    if (at !== "idle" && at !== "listening") return "nak";
    const usual = this.handlers?.mayBegin() ? "ack" : "nak";
    return this.options.interference.enquiry() ?? usual;
  }

  /** Reads a frame; outside of a session of the register it is refused unread. */
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
    const { next, actions } = step(this.#session, happening);
    if (next.at !== this.#session.at) this.stopWaiting();
    this.#session = next;
    for (const action of actions) this.#action(action);
    if (next.at === "idle") this.#sendNext();
  }

  #action(action: Action): void {
    switch (action.do) {
      case "say":
        this.#say(action.what);
        return;
      case "frame":
        this.#transmit(action.body, action.repeat);
        return;
      case "begin": {
        const begin = this.#begin;
        this.#begin = undefined;
        begin?.();
        return;
      }
      case "ended": {
        const reply = this.#sending;
        this.#sending = undefined;
        reply?.done(action.how);
        return;
      }
      case "wait":
        this.#startTimer(action.for);
        return;
    }
  }

  /** Starts the timer, after bytes that are still on their way. */
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
    const disturbances = this.options.interference.disturb();
    const damaged = disturbances.some(({ kind }) => kind === "bad-check");
    this.#leave(disturbedPieces(framed(body, damaged), disturbances));
    this.sentMessage(body, repeat);
  }

  /** Writes the pieces; one write if no fault cuts them (docs/concert.md 2.3). */
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
    for (const { done } of [this.#sending, ...this.#waiting.splice(0)].flatMap((t) => t ?? [])) {
      done("closed");
    }
    this.#sending = undefined;
  }
}

const PARITY_BIT = 0x80;

/** Returns the byte with even parity in its eighth bit (docs/concert.md 2.1). */
function withParity(byte: number): number {
  const ones = byte.toString(2).replaceAll("0", "").length;
  return ones % 2 === 0 ? byte : byte | PARITY_BIT;
}
