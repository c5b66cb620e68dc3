import { readTagged } from "../../../../concert/index.ts";
import { disturbedPieces } from "../../faults/fault-box.ts";
import * as port from "../../port/register-line.ts";
import { type FaultName, rewritten } from "../faults.ts";
import type { Timers } from "../options.ts";
import { ByteReader, type ControlName, controls, framed, type Received } from "./byte-reader.ts";

interface LineHandlers {
  /** Whether the register may begin a session, for which it has sent ENQ. */
  mayBegin(): boolean;
  /** Reads a request and returns the work to begin; undefined: the request is refused. */
  request(body: Uint8Array): (() => void) | undefined;
  closed(): void;
}

interface LineOptions extends port.LineOptions, Timers {
  saysAll(tags: ReadonlyMap<string, string>): boolean;
}

/** A line of Concert or Caisse-AP: in sessions of ENQ, frames and EOT, or as bare messages. */
export abstract class ConcertLine extends port.RegisterLine<LineOptions, LineHandlers> {
  protected readonly what = "body";
  /** Whether the line has sessions; without sessions it carries only the answer to a request. */
  abstract readonly inSessions: boolean;

  protected fault(name: FaultName) {
    return this.options.faults.take(name);
  }

  /** Makes one attempt to deliver a reply, as soon as the line is free. */
  abstract deliver(body: Uint8Array): Promise<Delivery>;

  /** Ends the exchange with the register. Without sessions this closes a TCP connection. */
  abstract finish(): void;
}

/** The longest message in bytes that the terminal accepts without frames. */
const MESSAGE_BYTES_MAX = 8_192;

/** A line of tagged messages without frames; silence ends a message (docs/concert.md 4.7). */
export class BareLine extends ConcertLine {
  readonly inSessions = false;
  #read: Uint8Array = new Uint8Array(0);
  /** What a fault does to the connection of the reply; undefined: there is no such fault. */
  #closing: "before" | "middle" | "left-open" | undefined;

  /** Sends a message; it counts as delivered when the network has accepted it. */
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
    if (this.transport !== "tcp") this.#closing = undefined;
    else if (this.fault("left-open")) this.#closing = "left-open";
    else this.#closing = this.fault("close")?.["when"] as "before" | "middle" | undefined;
    if (this.#closing !== "before") {
      const half = this.#closing === "middle" ? [{ kind: "half-reply", given: {} } as const] : [];
      await this.leave(disturbedPieces(bytes, [...half, ...faults.disturbances()]));
    }
    const isCut = this.#closing === "before" || this.#closing === "middle";
    if (isCut) this.close();
    if (isCut || this.closed) return "closed";
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

  /** Handles the last message, if it was read completely before the line closed. */
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

type Delivery =
  | "delivered"
  /** The register did not answer the ENQ, or answered with NAK. */
  | "not-heard"
  | "not-acknowledged"
  /** The register refused the frame and all its repeats. */
  | "refused"
  | "closed";

interface LinkReply {
  readonly body: Uint8Array;
  done(how: Delivery): void;
}

type Session =
  | { readonly at: "idle" }
  /** The terminal has answered the register's ENQ with ACK and waits for a frame. */
  | { readonly at: "listening" }
  /** The terminal has accepted the request and waits for the register's EOT. */
  | { readonly at: "taken"; readonly request: Uint8Array }
  /** The terminal has sent ENQ. */
  | { readonly at: "calling"; readonly reply: LinkReply }
  /** The terminal has sent its frame, which the register has refused `naks` times. */
  | { readonly at: "sending"; readonly reply: LinkReply; readonly naks: number };

/** How often a reply is repeated after NAK. */
const REPEATS_MAX = 3;

/** A line with sessions. Unexpected bytes are ignored (docs/concert.md 2.4 to 2.7). */
export class SessionLine extends ConcertLine {
  readonly inSessions = true;
  readonly #waiting: LinkReply[] = [];
  readonly #reader = new ByteReader();
  #session: Session = { at: "idle" };
  #ackDelayMs = 0;

  protected override received(bytes: Uint8Array): void {
    const silence = { name: "silence in a frame", ms: this.options.silenceMs };
    this.readFrames(bytes, this.#reader, (received) => this.#understood(received), silence);
  }

  deliver(body: Uint8Array): Promise<Delivery> {
    if (this.closed) return Promise.resolve("closed");
    const bytes = rewritten(this.options.faults, body);
    return new Promise((done) => {
      this.#waiting.push({ body: bytes, done });
      this.#sendNext();
    });
  }

  /** Does nothing: the line stays open for the next session. */
  finish(): void {}

  /** Sends the next reply unless a session runs, because only one side can speak at a time. */
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

  /** Answers the register's ENQ. During a session of the terminal's own, the answer is NAK. */
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

  /** Answers a frame; a frame that the register sends outside a session is ignored. */
  #requested(body: Uint8Array): void {
    const session = this.#session;
    if (session.at === "taken") {
      // A register that missed our ACK repeats its frame; any other frame gets NAK.
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

  #end({ done }: LinkReply, how: Delivery): void {
    this.#move({ at: "idle" });
    this.#say("eot");
    done(how);
    this.#sendNext();
  }

  /** Starts the timer as soon as all earlier bytes have been sent. */
  #startTimer(name: "session" | "answer"): void {
    this.stopWaiting();
    const session = this.#session;
    if (this.leaving !== undefined) {
      void this.leaving.then(() => {
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
    void this.leave([{ pauseMs, bytes: Uint8Array.of(controls[what].byte) }]);
    if (!this.options.faults.muted) this.#control("out", what);
  }

  #transmit(reply: LinkReply, naks: number): void {
    this.#move({ at: "sending", reply, naks });
    const { body } = reply;
    const struck = this.options.faults.disturbances();
    const damaged = struck.some(({ kind }) => kind === "bad-check");
    void this.leave(disturbedPieces(framed(body, damaged), struck));
    this.sentMessage(body, naks);
    this.#startTimer("answer");
  }

  protected override write(bytes: Uint8Array): void {
    if (this.closed || this.options.faults.muted) return;
    this.port.write(this.fault("parity") ? bytes.map(withParity) : bytes);
  }

  protected override ended(): void {
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
