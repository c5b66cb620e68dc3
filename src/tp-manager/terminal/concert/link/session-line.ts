import { type ConcertFaultCode, damagedText } from "../../../../concert/index.ts";
import type { Clock, Timer } from "../../../../shared/time.ts";
import type { Dialogue, DialogueListener, Opened, Sent } from "../../one-way/dialogue.ts";
import type { ByteConnection, ByteTransport } from "../../transport/byte-transport.ts";
import { encodeFrame } from "./frame.ts";
import {
  advanceSession,
  idleSession,
  isSessionFree,
  type SessionInput,
  type SessionNews,
  type SessionState,
  sawParity,
  sessionTimes,
} from "./session-machine.ts";

type NotOpened = Extract<Opened, { opened: false }>;

/** The pause between attempts to connect: short, because a result may be waiting for us. */
const retryPause = { minMs: 500, maxMs: 5_000 };

/**
 * Runs the sessions of session-machine.ts on one connection, one request at a time. A lost
 * connection is opened again, because a result may come at any time (docs/concert.md 2.7).
 */
export class SessionLine implements Dialogue {
  readonly isShared = true;
  problem: string | null = "not started";
  readonly #transport: ByteTransport;
  readonly #clock: Clock;
  readonly #times: typeof sessionTimes;
  readonly #pause: typeof retryPause;
  readonly #closing = new AbortController();
  #listener: DialogueListener | undefined;
  #connection: ByteConnection | undefined;
  #state: SessionState = idleSession;
  #timer: Timer | undefined;
  #opening: PromiseWithResolvers<Opened> | undefined;
  #sending: PromiseWithResolvers<Sent> | undefined;
  #retry: Timer | undefined;
  #connecting: Promise<void> | undefined;
  #retryMs: number;

  constructor(transport: ByteTransport, clock: Clock, times = sessionTimes, pause = retryPause) {
    this.#transport = transport;
    this.#clock = clock;
    this.#times = times;
    this.#pause = pause;
    this.#retryMs = pause.minMs;
  }

  start(listener: DialogueListener): void {
    this.#listener = listener;
    void this.#connect();
  }

  /** Asks the terminal for a session, which is closed again if no request is sent soon. */
  async open(signal: AbortSignal): Promise<Opened> {
    if (this.#state.phase.is === "open") return { opened: true };
    // Connects first: a terminal may close its TCP connection after each payment.
    if (!this.#connection) {
      this.#retry?.clear();
      await this.#connect();
    }
    if (!this.#connection) return this.#notOpened("away");
    if (this.#opening || !isSessionFree(this.#state)) return this.#notOpened("busy");
    const opening = Promise.withResolvers<Opened>();
    this.#opening = opening;
    const onAbort = (): void => {
      if (this.#opening !== opening) return;
      const silent = this.#notOpened("silent", sawParity(this.#state));
      this.leave();
      this.#endOpening(silent);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else this.#do({ input: "ask" });
    return await opening.promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  leave(): void {
    this.#do({ input: "leave" });
  }

  /** Opens and closes a session, to learn whether the terminal answers (docs/concert.md 2.4). */
  async ping(signal: AbortSignal): Promise<Opened> {
    const opened = await this.open(signal);
    if (opened.opened) this.leave();
    return opened;
  }

  #notOpened(why: NotOpened["why"], hasParity = false): NotOpened {
    const silent = hasParity
      ? "bytes come with a parity bit: wrong parity setting, see CONCERT_LINE"
      : "the terminal does not answer: is it on, and is its cash register link enabled?";
    const busy = "the terminal does not listen now: it is busy, in a menu or printing";
    const reason = { away: this.problem ?? "the line is closed", silent, busy }[why];
    const text = why === "away" ? reason : `${this.#transport.address} is open, but ${reason}`;
    return { opened: false, why, text };
  }

  send(body: Uint8Array): Promise<Sent> {
    const sending = Promise.withResolvers<Sent>();
    this.#sending = sending;
    this.#do({ input: "send", frame: encodeFrame(body) });
    return sending.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the connector stops"));
    this.#retry?.clear();
    this.#timer?.clear();
    await this.#connection?.close();
  }

  #connect(): Promise<void> {
    this.#connecting ??= this.#tryToConnect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #tryToConnect(): Promise<void> {
    const { signal } = this.#closing;
    const listener = {
      data: (bytes: Uint8Array) => {
        for (const byte of bytes) this.#do({ input: "byte", byte });
      },
      closed: (problem: Error | null) => this.#lost(problem?.message ?? "closed"),
    };
    try {
      this.#connection = await this.#transport.open(listener, signal);
      this.#retryMs = this.#pause.minMs;
      this.#changeLink(null);
    } catch (error) {
      if (!signal.aborted) this.#lost((error as Error).message);
    }
  }

  #lost(problem: string): void {
    this.#connection = undefined;
    this.#do({ input: "lost" });
    this.#endSending("unanswered");
    if (!this.#closing.signal.aborted) this.#changeLink(problem);
    this.#endOpening(this.#notOpened("away"));
    if (this.#closing.signal.aborted) return;
    this.#retry = this.#clock.startTimer("reconnect", this.#retryMs, () => void this.#connect());
    this.#retryMs = Math.min(2 * this.#retryMs, this.#pause.maxMs);
  }

  #changeLink(problem: string | null): void {
    this.problem = problem;
    this.#listener?.link(problem);
  }

  #do(input: SessionInput): void {
    const { state, timer, write, frame, news } = advanceSession(this.#state, input);
    this.#state = state;
    if (timer !== undefined) {
      this.#timer?.clear();
      const fire = (): void => this.#do({ input: "timer" });
      this.#timer =
        timer === null ? undefined : this.#clock.startTimer("session", this.#times[timer], fire);
    }
    const written = this.#write(frame ?? Uint8Array.from(write));
    // If a first send fails, no byte has left; if a repeat fails, an earlier copy has left.
    if (!written && frame) this.#endSending(input.input === "send" ? "lapsed" : "unanswered");
    for (const one of news) this.#hear(one);
  }

  #write(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true;
    try {
      this.#connection?.write(bytes);
      return this.#connection !== undefined;
    } catch {
      // Nothing is reported here: the transport calls `closed` when the connection ends.
      return false;
    }
  }

  #hear(news: SessionNews): void {
    switch (news.news) {
      case "opened":
        this.#endOpening({ opened: true });
        return;
      case "not-opened":
        this.#endOpening(this.#notOpened(news.why, news.sawParity));
        return;
      case "lapsed":
      case "taken":
      case "refused":
      case "unanswered":
        this.#endSending(news.news);
        return;
      case "body": {
        const stored = this.#listener?.reply(news.body, news.isEarly) ?? false;
        this.#do({ input: "judged", stored });
        return;
      }
      case "malformed":
        this.#listener?.malformed(faultText(news.fault, news.bytes));
    }
  }

  #endOpening(opened: Opened): void {
    this.#opening?.resolve(opened);
    this.#opening = undefined;
  }

  #endSending(sent: Sent): void {
    this.#sending?.resolve(sent);
    this.#sending = undefined;
  }
}

const LOGGED_CHARACTERS = 120;

const faultTexts: Partial<Record<ConcertFaultCode, string>> = {
  parity: "bytes with a parity bit: wrong parity setting, see CONCERT_LINE",
  lrc: "a reply with a wrong check byte",
  "no-etx": "a reply with a control byte inside",
  truncated: "a reply that was cut",
  length: "a reply without an end",
};

function faultText(fault: ConcertFaultCode, bytes: Uint8Array): string {
  const what = faultTexts[fault] ?? `a reply that cannot be read (${fault})`;
  if (fault === "parity" || bytes.length === 0) return what;
  return `${what}: "${damagedText(bytes, LOGGED_CHARACTERS)}"`;
}
