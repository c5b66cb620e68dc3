import { type Clock, sleep, type Timer } from "../../../../shared/time.ts";
import type { BytePort } from "../../port/byte-port.ts";
import { disturbedPieces } from "../../port/disturbance.ts";
import { controlBytes, framed, type Heard, TimedReader } from "./byte-reader.ts";
import type {
  Interference,
  LineHandlers,
  RegisterLine,
  Transport,
  WireListener,
} from "./register-line.ts";
import { type Act, type Happening, type Session, step, type Told } from "./session-machine.ts";

interface SessionLineOptions {
  readonly clock: Clock;
  readonly transport: Transport;
  /** For the answer to our ENQ and to our frame. */
  readonly answerMs: number;
  /** A session of the register that stands still is over. */
  readonly sessionMs: number;
  /** A frame that stands still is cut. */
  readonly silenceMs: number;
  readonly interference: Interference;
  readonly onWire: WireListener;
}

/** One thing to tell, and who waits for how it went. */
interface Telling {
  readonly body: Uint8Array;
  done(how: Told | "closed"): void;
}

/** The dialogue of ENQ, ACK, frames and EOT on one line (docs/concert.md 2.4). */
export class SessionLine implements RegisterLine {
  readonly inSessions = true;
  readonly #port: BytePort;
  readonly #options: SessionLineOptions;
  readonly #reader: TimedReader;
  readonly #waiting: Telling[] = [];
  #telling: Telling | undefined;
  #session: Session = { at: "idle" };
  #handlers: LineHandlers | undefined;
  #begin: (() => void) | undefined;
  #timer: Timer | undefined;
  #closed = false;
  /** Pieces with pauses that are on their way; others wait behind them. */
  #out: Promise<void> | undefined;
  /** How late the next ACK leaves, by a fault. */
  #ackDelayMs = 0;

  constructor(port: BytePort, options: SessionLineOptions) {
    this.#port = port;
    this.#options = options;
    const { clock, silenceMs } = options;
    this.#reader = new TimedReader(clock, silenceMs, (heard) => this.#heard(heard));
  }

  get name(): string {
    return this.#port.name;
  }

  get transport(): Transport {
    return this.#options.transport;
  }

  get closed(): boolean {
    return this.#closed;
  }

  start(handlers: LineHandlers): void {
    this.#handlers = handlers;
    this.#options.onWire({ what: "open" });
    this.#port.start({ data: (bytes) => this.#reader.push(bytes), closed: () => this.#gone() });
  }

  tell(body: Uint8Array): Promise<Told | "closed"> {
    if (this.#closed) return Promise.resolve("closed");
    const bytes = this.#options.interference.rewrite(body);
    return new Promise((done) => {
      this.#waiting.push({ body: bytes, done });
      this.#tellNext();
    });
  }

  /** A line with sessions stays open: the next session is opened on it. */
  finish(): void {}

  /** Half duplex: what is to be told waits for the end of the session that runs. */
  #tellNext(): void {
    if (this.#session.at !== "idle" || this.#telling) return;
    this.#telling = this.#waiting.shift();
    if (this.#telling) this.#happens({ what: "tell", body: this.#telling.body });
  }

  #heard(heard: Heard): void {
    const { onWire } = this.#options;
    if (heard.kind === "junk") onWire({ what: "junk", note: heard.why });
    else if (heard.kind === "frame") {
      onWire({ what: "body", direction: "in", body: heard.body, repeat: 0 });
    } else onWire({ what: heard.kind, direction: "in" });
    this.#happens(this.#happening(heard));
  }

  #happening(heard: Heard): Happening {
    if (heard.kind === "enq") return { what: "enq", word: this.#wordForEnquiry() };
    if (heard.kind === "frame") return this.#requested(heard.body);
    return { what: heard.kind };
  }

  #wordForEnquiry() {
    const { at } = this.#session;
    if (at !== "idle" && at !== "listening") return "nak";
    const usual = this.#handlers?.mayBegin() ? "ack" : "nak";
    return this.#options.interference.enquiry() ?? usual;
  }

  /** A frame outside of a session of the register is asked nothing about. */
  #requested(body: Uint8Array): Happening {
    if (this.#session.at !== "listening") return { what: "frame", body, word: "nak", taken: false };
    const fault = this.#options.interference.request();
    const { word = "ack", taken = word !== "nak" } = fault;
    this.#ackDelayMs = fault.delayMs;
    this.#begin = taken ? this.#handlers?.request(body) : undefined;
    if (!this.#begin) return { what: "frame", body, word: "nak", taken: false };
    return { what: "frame", body, word, taken: true };
  }

  #happens(happening: Happening): void {
    if (this.#closed) return;
    const { next, acts } = step(this.#session, happening);
    if (next.at !== this.#session.at) this.#stopTimer();
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
        this.#startTimer(act.for === "session" ? "session" : "answer");
        return;
    }
  }

  /** Starts behind what is still on its way. */
  #startTimer(name: "session" | "answer"): void {
    this.#stopTimer();
    const session = this.#session;
    if (this.#out !== undefined) {
      void this.#out.then(() => {
        if (this.#session === session && !this.#closed) this.#startTimer(name);
      });
      return;
    }
    const { clock, answerMs, sessionMs } = this.#options;
    const delayMs = name === "session" ? sessionMs : answerMs;
    this.#timer = clock.startTimer(name, delayMs, () => this.#happens({ what: "time" }));
  }

  #stopTimer(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  #say(what: "enq" | "ack" | "nak" | "eot"): void {
    const { interference, onWire } = this.#options;
    if (what === "eot" && interference.withholdsEot()) return;
    const pauseMs = what === "ack" ? this.#ackDelayMs : 0;
    this.#ackDelayMs = 0;
    this.#leave([{ pauseMs, bytes: Uint8Array.of(controlBytes[what]) }]);
    if (!interference.mute) onWire({ what, direction: "out" });
  }

  #transmit(body: Uint8Array, repeat: number): void {
    const { interference, onWire } = this.#options;
    const disturbances = interference.disturb();
    const spoilt = disturbances.some(({ kind }) => kind === "bad-check");
    this.#leave(disturbedPieces(framed(body, spoilt), disturbances));
    if (!interference.mute) onWire({ what: "body", direction: "out", body, repeat });
  }

  /** One write for what is not in pieces by a fault (docs/concert.md 2.3). */
  #leave(pieces: ReturnType<typeof disturbedPieces>): void {
    const { clock, interference } = this.#options;
    const write = (bytes: Uint8Array): void => {
      if (this.#closed || interference.mute) return;
      this.#port.write(interference.parity() ? bytes.map(withParity) : bytes);
    };
    if (this.#out === undefined && pieces.every(({ pauseMs }) => pauseMs === 0)) {
      for (const { bytes } of pieces) write(bytes);
      return;
    }
    const out = (this.#out ?? Promise.resolve()).then(async () => {
      for (const { pauseMs, bytes } of pieces) {
        if (pauseMs > 0) await sleep(clock, "fault pause", pauseMs);
        write(bytes);
      }
      if (this.#out === out) this.#out = undefined;
    });
    this.#out = out;
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader.stop();
    this.#stopTimer();
    this.#options.onWire({ what: "close" });
    for (const { done } of [this.#telling, ...this.#waiting.splice(0)].flatMap((t) => t ?? [])) {
      done("closed");
    }
    this.#telling = undefined;
    this.#handlers?.closed();
  }
}

const PARITY_BIT = 0x80;

/** Seven bits and even parity, as a reader of eight bits sees them (docs/concert.md 2.1). */
function withParity(byte: number): number {
  const ones = byte.toString(2).replaceAll("0", "").length;
  return ones % 2 === 0 ? byte : byte | PARITY_BIT;
}
