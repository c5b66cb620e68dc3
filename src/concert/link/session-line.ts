import type { Clock, Timer } from "../../shared/time.ts";
import type { ConcertFaultCode } from "../errors.ts";
import { textOf } from "../latin-text.ts";
import { shownText } from "../masking.ts";
import { encodeFrame } from "./frame.ts";
import {
  advanceSession,
  idleSession,
  isSessionFree,
  type SessionInput,
  type SessionNews,
  type SessionState,
  type SessionTimes,
  sawParity,
} from "./session-machine.ts";

/** Bytes to and from the terminal, as the transports of tp-manager give them. */
interface LineTransport {
  readonly address: string;
  open(listener: ConnectionListener, signal: AbortSignal): Promise<LineConnection>;
}

interface ConnectionListener {
  data(bytes: Uint8Array): void;
  closed(problem: Error | null): void;
}

interface LineConnection {
  write(bytes: Uint8Array): void;
  close(): Promise<void>;
}

interface LineListener {
  /** Whether the body is stored and may be acknowledged. */
  reply(body: Uint8Array, unasked: boolean): boolean;
  spoilt(text: string): void;
  link(problem: string | null): void;
}

/** "away": there is no line. The other two: the terminal did not let us speak. */
type Opened =
  | { readonly opened: true }
  | {
      readonly opened: false;
      readonly why: "away" | "silent" | "busy";
      /** For people. */
      readonly text: string;
    };

type NotOpened = Extract<Opened, { opened: false }>;
type Sent = "taken" | "refused" | "unanswered" | "lapsed";

interface LineParts {
  readonly transport: LineTransport;
  readonly clock: Clock;
  readonly times: SessionTimes;
  readonly reconnect: { readonly minMs: number; readonly maxMs: number };
}

/**
 * Performs the sessions of session-machine.ts on a line that is opened again for ever, because a
 * result may come at any time (docs/concert.md 2.7). One wish of ours at a time.
 */
export class SessionLine {
  readonly isShared = true;
  readonly #parts: LineParts;
  readonly #closing = new AbortController();
  #listener: LineListener | undefined;
  #connection: LineConnection | undefined;
  #problem: string | null = "not started";
  #state: SessionState = idleSession;
  #timer: Timer | undefined;
  #opening: ((opened: Opened) => void) | undefined;
  #sending: ((sent: Sent) => void) | undefined;
  #retry: Timer | undefined;
  #connecting: Promise<void> | undefined;
  #retryMs: number;

  constructor(parts: LineParts) {
    this.#parts = parts;
    this.#retryMs = parts.reconnect.minMs;
  }

  /** Why the line is not open; null when it is. */
  get problem(): string | null {
    return this.#problem;
  }

  start(listener: LineListener): void {
    this.#listener = listener;
    void this.#connect();
  }

  /** Asks to speak. The session is held for a moment, and left when nothing is sent in it. */
  async open(signal: AbortSignal): Promise<Opened> {
    if (this.#state.phase.is === "open") return { opened: true };
    // A terminal may close a TCP connection behind each payment.
    if (!this.#connection) await this.#connectNow();
    if (!this.#connection) return this.#not("away");
    if (this.#opening || !isSessionFree(this.#state)) return this.#not("busy");
    return await new Promise((resolve) => {
      const onAbort = (): void => {
        const silent = this.#not("silent", sawParity(this.#state));
        this.leave();
        this.#opened(silent);
      };
      this.#opening = (opened) => {
        signal.removeEventListener("abort", onAbort);
        resolve(opened);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      else this.#do({ input: "ask" });
    });
  }

  leave(): void {
    this.#do({ input: "leave" });
  }

  /** A session without a frame (docs/concert.md 2.4). */
  async ping(signal: AbortSignal): Promise<Opened> {
    const opened = await this.open(signal);
    if (opened.opened) this.leave();
    return opened;
  }

  #not(why: NotOpened["why"], hasParity = false): NotOpened {
    const { address } = this.#parts.transport;
    const silent = hasParity
      ? "bytes come with a parity bit: wrong parity setting, see CONCERT_LINE"
      : "the terminal does not answer: is it on, and is its cash register link enabled?";
    const busy = "the terminal does not listen now: it is busy, in a menu or printing";
    const words = { away: this.#problem ?? "the line is closed", silent, busy }[why];
    const text = why === "away" ? words : `${address} is open, but ${words}`;
    return { opened: false, why, text };
  }

  /**
   * Sends a body in the session that is open. "lapsed": there is none, nothing has left.
   * "unanswered": the terminal may have it.
   */
  send(body: Uint8Array): Promise<Sent> {
    return new Promise((resolve) => {
      this.#sending = resolve;
      this.#do({ input: "send", frame: encodeFrame(body) });
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the connector stops"));
    this.#retry?.clear();
    this.#timer?.clear();
    await this.#connection?.close();
  }

  /** One try at once, in the place of the one that is waited for. */
  async #connectNow(): Promise<void> {
    this.#retry?.clear();
    await this.#connect();
  }

  #connect(): Promise<void> {
    this.#connecting ??= this.#tryToConnect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #tryToConnect(): Promise<void> {
    const { transport } = this.#parts;
    const { signal } = this.#closing;
    const listener: ConnectionListener = {
      data: (bytes) => {
        for (const byte of bytes) this.#do({ input: "byte", byte });
      },
      closed: (problem) => this.#lost(problem?.message ?? "closed"),
    };
    try {
      this.#connection = await transport.open(listener, signal);
      this.#retryMs = this.#parts.reconnect.minMs;
      this.#tell(null);
    } catch (error) {
      if (!signal.aborted) this.#lost((error as Error).message);
    }
  }

  #lost(problem: string): void {
    const { clock, reconnect } = this.#parts;
    this.#connection = undefined;
    this.#do({ input: "lost" });
    this.#sent("unanswered");
    if (!this.#closing.signal.aborted) this.#tell(problem);
    this.#opened(this.#not("away"));
    if (this.#closing.signal.aborted) return;
    this.#retry = clock.startTimer("reconnect", this.#retryMs, () => void this.#connect());
    this.#retryMs = Math.min(2 * this.#retryMs, reconnect.maxMs);
  }

  #tell(problem: string | null): void {
    this.#problem = problem;
    this.#listener?.link(problem);
  }

  #do(input: SessionInput): void {
    const { clock, times } = this.#parts;
    const step = advanceSession(this.#state, input, times);
    this.#state = step.state;
    if (step.timerMs !== undefined) {
      this.#timer?.clear();
      const fire = (): void => this.#do({ input: "timer" });
      this.#timer =
        step.timerMs === null ? undefined : clock.startTimer("session", step.timerMs, fire);
    }
    const written = this.#write(step.frame ?? Uint8Array.from(step.write));
    // When the line was closed already nothing of a frame has left, but the sends before a repeat.
    if (!written && step.frame) this.#sent(input.input === "send" ? "lapsed" : "unanswered");
    for (const news of step.news) this.#hear(news);
  }

  #write(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true;
    try {
      if (!this.#connection) return false;
      this.#connection.write(bytes);
      return true;
    } catch {
      // The connection tells that it is closed by itself.
      return false;
    }
  }

  #hear(news: SessionNews): void {
    switch (news.news) {
      case "opened":
        this.#opened({ opened: true });
        return;
      case "not-opened":
        this.#opened(this.#not(news.why, news.sawParity));
        return;
      case "lapsed":
      case "taken":
      case "refused":
      case "unanswered":
        this.#sent(news.news);
        return;
      case "body": {
        const stored = this.#listener?.reply(news.body, news.unasked) ?? false;
        this.#do({ input: "judged", stored });
        return;
      }
      case "spoilt":
        this.#listener?.spoilt(spoiltText(news.fault, news.bytes));
    }
  }

  #opened(opened: Opened): void {
    const told = this.#opening;
    this.#opening = undefined;
    told?.(opened);
  }

  #sent(sent: Sent): void {
    const told = this.#sending;
    this.#sending = undefined;
    told?.(sent);
  }
}

const SHOWN_CHARACTERS = 120;

const faultWords: Partial<Record<ConcertFaultCode, string>> = {
  parity: "bytes with a parity bit: wrong parity setting, see CONCERT_LINE",
  lrc: "a reply with a wrong check byte",
  "no-etx": "a reply with a control byte inside",
  truncated: "a reply that was cut",
  length: "a reply without an end",
};

/** Bytes that are no whole frame, in words, without a card number (docs/concert.md 2.7). */
function spoiltText(fault: ConcertFaultCode, bytes: Uint8Array): string {
  const what = faultWords[fault] ?? `a reply that cannot be read (${fault})`;
  if (fault === "parity" || bytes.length === 0) return what;
  return `${what}: "${shownText(textOf(bytes), SHOWN_CHARACTERS)}"`;
}
