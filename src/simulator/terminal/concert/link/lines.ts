import { readTagged } from "../../../../concert/index.ts";
import type { Timer } from "../../../../shared/time.ts";
import { disturbedPieces, type Pieces } from "../../faults/fault-box.ts";
import * as port from "../../port/register-line.ts";
import { disturbances, type FaultName, rewritten, struckBy } from "../faults.ts";
import type { Timers } from "../options.ts";
import { ByteReader, type ControlName, controls, framed, type Received } from "./byte-reader.ts";

interface LineHandlers {
  /** Whether a register that asks to speak may speak. */
  mayBegin(): boolean;
  /** Reads a request. Returns the work that begins, or undefined to refuse it on the line. */
  request(body: Uint8Array): (() => void) | undefined;
  closed(): void;
}

interface LineOptions extends port.LineOptions, Timers {
  /** Whether a message with these tags has all members that its action needs. */
  saysAll(tags: ReadonlyMap<string, string>): boolean;
}

/**
 * A line of Concert or Caisse-AP: {@link SessionLine} has the dialogue of ENQ, frames and EOT,
 * {@link BareLine} sends bodies as they are. The code that uses a line treats both alike.
 */
export abstract class ConcertLine extends port.RegisterLine<LineOptions, LineHandlers> {
  protected readonly what = "body";
  /** Whether the line has sessions; one without carries only the answer to its request. */
  abstract readonly inSessions: boolean;

  protected fault(name: FaultName) {
    return struckBy(this.options.faults, name);
  }

  /** Tries once to deliver a reply, as soon as the line is free. */
  abstract deliver(body: Uint8Array): Promise<Delivery>;

  /** Ends the exchange: without sessions over TCP the connection closes. */
  abstract finish(): void;
}

/** The longest message that a terminal accepts. */
const MESSAGE_BYTES_MAX = 8_192;

/**
 * A line of tagged messages without frames (docs/concert.md 4.7). A message ends with the silence
 * after it.
 */
export class BareLine extends ConcertLine {
  readonly inSessions = false;
  #read: Uint8Array = new Uint8Array(0);
  /** When a fault closes the connection, seen from the reply; undefined: after it, as usual. */
  #closing: "before" | "middle" | "left-open" | undefined;

  /** A message counts as delivered when it was handed to the network. */
  deliver(body: Uint8Array): Promise<Delivery> {
    return this.inOrder(() => this.#deliver(body));
  }

  finish(): void {
    if (this.transport !== "tcp") return;
    void this.inOrder(() => {
      if (this.#closing !== "left-open") this.close();
    });
  }

  async #deliver(body: Uint8Array): Promise<Delivery> {
    const { faults } = this.options;
    const bytes = rewritten(faults, body);
    this.#closing = this.transport === "tcp" ? this.#closingByFault() : undefined;
    if (this.#closing !== "before") {
      const half = this.#closing === "middle" ? [{ kind: "half", given: {} } as const] : [];
      await this.leave(disturbedPieces(bytes, [...half, ...disturbances(faults)]));
    }
    if (this.#closing === "before" || this.#closing === "middle") this.close();
    if (this.closed) return "closed";
    this.sentMessage(bytes);
    return "delivered";
  }

  #closingByFault(): "before" | "middle" | "left-open" | undefined {
    if (this.fault("left-open")) return "left-open";
    const closes = this.fault("close");
    return closes && (closes["when"] === "before" ? "before" : "middle");
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

/** How the terminal's own session ended. */
type Delivery =
  | "delivered"
  /** ENQ was not answered, or with NAK. */
  | "not-heard"
  /** The frame was out, and nothing came. */
  | "not-acknowledged"
  /** The frame was refused, and every repeat of it. */
  | "refused"
  | "closed";

/** One reply to deliver, and the callback for its end. */
interface Reply {
  readonly body: Uint8Array;
  done(how: Delivery): void;
}

/** Where the terminal is in the dialogue. */
type Session =
  | { readonly at: "idle" }
  /** The register's ENQ was acknowledged: its frame is awaited. */
  | { readonly at: "listening" }
  /** The request was taken: its EOT is awaited. */
  | { readonly at: "taken"; readonly request: Uint8Array }
  /** The terminal's ENQ is out. */
  | { readonly at: "calling"; readonly reply: Reply }
  /** The terminal's frame is out; the register has refused it so many times. */
  | { readonly at: "sending"; readonly reply: Reply; readonly naks: number };

/** How often a reply is sent again after a NAK, at most. */
const REPEATS_MAX = 3;

/**
 * The dialogue of ENQ, ACK, frames and EOT on one line (docs/concert.md 2.4 to 2.7). A byte that is
 * not expected is not answered.
 */
export class SessionLine extends ConcertLine {
  readonly inSessions = true;
  readonly #waiting: Reply[] = [];
  readonly #reader = new ByteReader();
  /** The timer that runs while a frame has begun and not ended. */
  #silence: Timer | undefined;
  #session: Session = { at: "idle" };
  /** The write of pieces with pauses; other writes wait for its end. */
  #out: Promise<void> | undefined;
  /** By how much a fault delays the next ACK. */
  #ackDelayMs = 0;

  protected override received(bytes: Uint8Array): void {
    this.#silence?.clear();
    for (const received of this.#reader.push(bytes)) this.#understood(received);
    if (!this.#reader.isInside) return;
    const { clock, silenceMs } = this.options;
    this.#silence = clock.startTimer("silence in a frame", silenceMs, () => {
      for (const received of this.#reader.silence()) this.#understood(received);
    });
  }

  deliver(body: Uint8Array): Promise<Delivery> {
    if (this.closed) return Promise.resolve("closed");
    const bytes = rewritten(this.options.faults, body);
    return new Promise((done) => {
      this.#waiting.push({ body: bytes, done });
      this.#sendNext();
    });
  }

  /** Does nothing: the next session begins on the same line. */
  finish(): void {}

  /** Sends the next reply, unless a session runs: the line is half duplex. */
  #sendNext(): void {
    const reply = this.#session.at === "idle" ? this.#waiting.shift() : undefined;
    if (!reply) return;
    this.#move({ at: "calling", reply });
    this.#say("enq");
    this.#startTimer("answer");
  }

  #understood(received: Received): void {
    const { kind } = received;
    if (kind === "frame") {
      this.receivedMessage(received.body);
      this.#requested(received.body);
      return;
    }
    if (kind === "junk") this.options.onWire({ what: kind, direction: "in", note: received.why });
    else this.#control("in", kind);
    if (kind === "enq") this.#asked();
    else this.#goOn(kind);
  }

  #control(direction: "in" | "out", what: ControlName): void {
    const { byte, says } = controls[what];
    const hex = byte.toString(16).padStart(2, "0");
    this.options.onWire({ what, direction, message: what.toUpperCase(), says, hex });
  }

  #move(next: Session): void {
    if (next.at !== this.#session.at) this.stopWaiting();
    this.#session = next;
  }

  /** Answers the register's ENQ, with NAK while the terminal's own session runs. */
  #asked(): void {
    const { at } = this.#session;
    if (at !== "idle" && at !== "listening") {
      this.#say("nak");
      return;
    }
    if (this.fault("silent-enq")) return;
    if (this.fault("nak-enq") || !this.handlers?.mayBegin()) {
      this.#say("nak");
      return;
    }
    this.#move({ at: "listening" });
    this.#say("ack");
    this.#startTimer("session");
  }

  /** Answers a frame; outside of a session of the register it is not even read. */
  #requested(body: Uint8Array): void {
    const session = this.#session;
    if (session.at === "taken") {
      // An equal frame comes from a register that missed our ACK: it was taken once.
      this.#say(Buffer.compare(body, session.request) === 0 ? "ack" : "nak");
      this.#startTimer("session");
    }
    if (session.at !== "listening") return;
    const isRefused = this.fault("nak-frame") !== undefined;
    const isSilent = !isRefused && this.fault("no-ack") !== undefined;
    const late = isRefused || isSilent ? undefined : this.fault("late-ack");
    this.#ackDelayMs = Number(late?.["ms"] ?? 0);
    const begin = isRefused ? undefined : this.handlers?.request(body);
    if (begin) this.#move({ at: "taken", request: body });
    if (!begin) this.#say("nak");
    else if (!isSilent) this.#say("ack");
    begin?.();
    this.#startTimer("session");
  }

  #goOn(what: "ack" | "nak" | "eot" | "junk" | "time"): void {
    const session = this.#session;
    const isOver = what === "eot" || what === "time";
    switch (session.at) {
      case "idle":
        return;
      case "listening":
      case "taken":
        if (isOver) this.#rest();
        else if (what === "junk" && session.at === "listening") {
          this.#say("nak");
          this.#startTimer("session");
        }
        return;
      case "calling":
        if (what === "ack") this.#transmit(session.reply, 0);
        else if (what === "nak" || what === "time") this.#end(session.reply, "not-heard");
        return;
      case "sending":
        if (what === "ack") this.#end(session.reply, "delivered");
        else if (what === "time") this.#end(session.reply, "not-acknowledged");
        else if (what === "nak" && session.naks === REPEATS_MAX)
          this.#end(session.reply, "refused");
        else if (what === "nak") this.#transmit(session.reply, session.naks + 1);
        return;
    }
  }

  #rest(): void {
    this.#move({ at: "idle" });
    this.#sendNext();
  }

  /** Ends the terminal's own session. */
  #end({ done }: Reply, how: Delivery): void {
    this.#move({ at: "idle" });
    this.#say("eot");
    done(how);
    this.#sendNext();
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
    this.wait(name, name === "session" ? sessionMs : answerMs, () => this.#goOn("time"));
  }

  #say(what: ControlName): void {
    if (what === "eot" && this.fault("no-eot")) return;
    const pauseMs = what === "ack" ? this.#ackDelayMs : 0;
    this.#ackDelayMs = 0;
    this.#leave([{ pauseMs, bytes: Uint8Array.of(controls[what].byte) }]);
    if (!this.options.faults.muted) this.#control("out", what);
  }

  /** Sends the reply's frame; `naks`: how often the register has refused it. */
  #transmit(reply: Reply, naks: number): void {
    this.#move({ at: "sending", reply, naks });
    const { body } = reply;
    const struck = disturbances(this.options.faults);
    const damaged = struck.some(({ kind }) => kind === "bad-check");
    this.#leave(disturbedPieces(framed(body, damaged), struck));
    this.sentMessage(body, naks);
    this.#startTimer("answer");
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
    if (this.closed || this.options.faults.muted) return;
    this.port.write(this.fault("parity") ? bytes.map(withParity) : bytes);
  }

  protected override ended(): void {
    this.#silence?.clear();
    const open = "reply" in this.#session ? [this.#session.reply] : [];
    this.#session = { at: "idle" };
    for (const { done } of [...open, ...this.#waiting.splice(0)]) done("closed");
  }
}

const PARITY_BIT = 0x80;

/** Returns the byte with even parity in its eighth bit (docs/concert.md 2.1). */
function withParity(byte: number): number {
  const ones = byte.toString(2).replaceAll("0", "").length;
  return ones % 2 === 0 ? byte : byte | PARITY_BIT;
}
