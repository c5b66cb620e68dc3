import { actionResult, readTagged, type Tagged, tagValue } from "../../../concert/index.ts";
import { type Clock, sleep, type Timer } from "../../../shared/time.ts";
import type { Dialogue, DialogueListener, Opened, Sent } from "../one-way/dialogue.ts";
import type { ByteConnection, ByteTransport } from "../transport/byte-transport.ts";

/** The silence that ends a whole message (docs/concert.md 4.7). */
const SETTLE_MS = 300;
/** The silence that ends a message although a tag of its result is still missing. */
const SETTLE_LONG_MS = 2_000;
/** How long a new connection is listened to for an earlier result before a request is sent. */
const LISTEN_MS = 50;
const HOLD_MS = 5_000;
const BUFFER_BYTES_MAX = 64 * 1_024;

/**
 * Opens one connection for each action and sends messages without frames on it (docs/concert.md
 * 4.7). The connection of a payment stays open for the result, until recovery or the next payment
 * needs the terminal.
 */
export class BareLine implements Dialogue {
  readonly isShared = false;
  /** Null: each action opens its own connection, so no lasting connection can break. */
  readonly problem = null;
  readonly #transport: ByteTransport;
  readonly #clock: Clock;
  readonly #identification: Uint8Array;
  readonly #ending: Uint8Array;
  #listener: DialogueListener | undefined;
  #current: Exchange | undefined;
  #isClosed = false;

  /** `identification` asks whether the terminal answers; `ending`: the bytes that end a message. */
  constructor(
    transport: ByteTransport,
    clock: Clock,
    identification: Uint8Array,
    ending: Uint8Array,
  ) {
    this.#transport = transport;
    this.#clock = clock;
    this.#identification = identification;
    this.#ending = ending;
  }

  start(listener: DialogueListener): void {
    this.#listener = listener;
  }

  async open(signal: AbortSignal): Promise<Opened> {
    if (this.#isClosed) return { opened: false, why: "away", text: "the connector stops" };
    await this.#current?.close();
    const exchange: Exchange = new Exchange(this.#clock, {
      message: (bytes, isEarly) => this.#listener?.reply(bytes, isEarly),
      closed: (rest, text, isEarly) => {
        if (this.#current === exchange) this.#current = undefined;
        this.#reportRest(rest, isEarly);
        if (exchange.isUsed) this.#listener?.gone(text);
      },
    });
    try {
      await exchange.connect(this.#transport, signal);
    } catch (error) {
      const text = signal.aborted ? "the terminal did not answer" : (error as Error).message;
      return { opened: false, why: "away", text };
    }
    this.#current = exchange;
    exchange.hold(HOLD_MS);
    return { opened: true };
  }

  leave(): void {
    void this.#current?.close();
  }

  /** Waits before sending: a terminal may deliver an earlier result once it is connected. */
  async send(request: Uint8Array, mayLeave: () => boolean = () => true): Promise<Sent> {
    if (!this.#current) return "lapsed";
    await sleep(this.#clock, "earlier results", LISTEN_MS);
    const message = Buffer.concat([request, this.#ending]);
    return this.#current?.write(message, mayLeave) ? "taken" : "lapsed";
  }

  /** Closes a payment's connection first, because a terminal may accept only one connection. */
  async ping(signal: AbortSignal): Promise<Opened> {
    await this.#current?.close();
    const transport = this.#transport;
    const { promise, resolve } = Promise.withResolvers<Opened>();
    const exchange = new Exchange(this.#clock, {
      message: (bytes) => {
        const { tags } = readTagged(bytes);
        // Instead of the answer to the identification, a payment's late result may come.
        if (namesPayment(tags)) this.#listener?.reply(bytes, true);
        if (tagValue(tags, "AE") !== undefined) resolve({ opened: true });
      },
      closed: (rest, text) => {
        if (namesPayment(readTagged(rest).tags)) this.#reportRest(rest, true);
        resolve({ opened: false, why: "silent", text });
      },
    });
    const onAbort = (): void => {
      resolve({ opened: false, why: "silent", text: `${transport.address} does not answer` });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const limit = this.#clock.startTimer("identification", HOLD_MS, onAbort);
    try {
      await exchange.connect(transport, signal);
      exchange.write(Buffer.concat([this.#identification, this.#ending]), () => true);
      return await promise;
    } catch (error) {
      return { opened: false, why: "away", text: (error as Error).message };
    } finally {
      limit.clear();
      signal.removeEventListener("abort", onAbort);
      await exchange.close();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current?.close();
  }

  /** Reports the bytes of a message that was cut by the end of its connection. */
  #reportRest(rest: Uint8Array, isEarly: boolean): void {
    if (isRefusalWithoutReason(rest)) this.#listener?.malformed("a refusal without its reason");
    else if (rest.length > 0) this.#listener?.reply(rest, isEarly);
  }
}

/** Returns whether a message is about a payment; an answer to an identification may lack tag CD. */
function namesPayment(tags: readonly Tagged[]): boolean {
  const action = tagValue(tags, "CD");
  return action === undefined ? tagValue(tags, "CB") !== undefined : action !== "I";
}

/** Returns whether no tag that could change the meaning of the result is still missing. */
function isFinal(tags: readonly Tagged[]): boolean {
  const state = actionResult(tags);
  if (tagValue(tags, "CD") === "I") return true;
  const needed = { performed: ["CB", "CE"], "not-performed": ["AF"], "taken-into-account": [] };
  return state === undefined || needed[state].every((tag) => tagValue(tags, tag) !== undefined);
}

/** Returns whether a refusal lacks its reason (tag AF), which could show that money moved. */
function isRefusalWithoutReason(bytes: Uint8Array): boolean {
  const { tags, fault } = readTagged(bytes);
  return !fault && actionResult(tags) === "not-performed" && tagValue(tags, "AF") === undefined;
}

/** An interface, because a dialogue and an identification listen in different ways. */
interface ExchangeListener {
  /** `isEarly`: the message began before our request was written, so it answers an earlier one. */
  message(bytes: Uint8Array, isEarly: boolean): void;
  /** Called when the connection has closed; `rest`: received bytes that form no whole message. */
  closed(rest: Uint8Array, text: string, isEarly: boolean): void;
}

class Exchange {
  readonly #clock: Clock;
  readonly #listener: ExchangeListener;
  #connection: ByteConnection | undefined;
  #buffer: Uint8Array = new Uint8Array(0);
  /** Whether the buffered message began before our request was written. */
  #isEarly = true;
  #settle: Timer | undefined;
  #hold: Timer | undefined;
  isUsed = false;

  constructor(clock: Clock, listener: ExchangeListener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  async connect(transport: ByteTransport, signal: AbortSignal): Promise<void> {
    this.#connection = await transport.open(this, signal);
  }

  /** Closes the connection after `forMs` milliseconds unless a message is sent before. */
  hold(forMs: number): void {
    this.#hold = this.#clock.startTimer("unused connection", forMs, () => void this.close());
  }

  /** Reports earlier messages, then writes `message` if `mayLeave`; returns whether it wrote it. */
  write(message: Uint8Array, mayLeave: () => boolean): boolean {
    this.#hold?.clear();
    this.#reportEarly();
    // No request is sent while an earlier approval arrives: it must first be received whole.
    if (!mayLeave() || this.#hasApproval) return false;
    try {
      this.#connection?.write(message);
      this.isUsed = this.#connection !== undefined;
      return this.isUsed;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    this.#hold?.clear();
    this.#settle?.clear();
    await this.#connection?.close();
  }

  /** Reports a whole message that came before our request, so it answers an earlier one. */
  #reportEarly(): void {
    const { tags, fault } = readTagged(this.#buffer);
    const isWhole = this.#buffer.length > 0 && !fault && (isFinal(tags) || this.#hasApproval);
    if (isWhole) this.#settle?.clear();
    if (isWhole) this.#settled();
    this.#isEarly = this.#buffer.length > 0;
  }

  get #hasApproval(): boolean {
    return actionResult(readTagged(this.#buffer).tags) === "performed";
  }

  data(bytes: Uint8Array): void {
    this.#settle?.clear();
    this.#buffer = Buffer.concat([this.#buffer, bytes]).subarray(0, BUFFER_BYTES_MAX);
    this.#takeForerunner();
    const { tags, fault } = readTagged(this.#buffer);
    // A cut message waits for the rest of its bytes, or for the end of the connection.
    if (this.#buffer.length === 0 || fault?.code === "incomplete") return;
    const settleMs = fault || isFinal(tags) ? SETTLE_MS : SETTLE_LONG_MS;
    this.#settle = this.#clock.startTimer("end of a message", settleMs, () => this.#settled());
  }

  /**
   * Reports a message that arrived together with a result and only precedes it: "taken into
   * account", or an answer to an earlier request; line ends may surround it (docs/concert.md 4.4).
   */
  #takeForerunner(): void {
    this.#buffer = withoutLineEnds(this.#buffer);
    const { fault } = readTagged(this.#buffer);
    if (!fault || fault.code === "incomplete" || fault.at === 0) return;
    const first = this.#buffer.subarray(0, fault.at);
    const { tags, fault: own } = readTagged(first);
    const isOver = actionResult(tags) !== "taken-into-account" && tagValue(tags, "CD") !== "I";
    if (own || tagValue(tags, "AE") === undefined || isOver) return;
    const rest = this.#buffer.subarray(fault.at);
    if (fault.code !== "duplicate-tag" && withoutLineEnds(rest).length === rest.length) return;
    this.#buffer = withoutLineEnds(rest);
    this.#listener.message(first, this.#isEarly);
  }

  #settled(): void {
    const { tags, fault } = readTagged(this.#buffer);
    if (fault || tagValue(tags, "AE") !== undefined) this.#reportBuffer();
  }

  #reportBuffer(): void {
    const [message, isEarly] = [this.#buffer, this.#isEarly];
    this.#buffer = new Uint8Array(0);
    this.#isEarly = !this.isUsed;
    this.#listener.message(message, isEarly);
  }

  closed(problem: Error | null): void {
    this.#hold?.clear();
    this.#settle?.clear();
    const { fault } = readTagged(this.#buffer);
    // A refusal without its reason is incomplete, unless the terminal itself closed the connection.
    const isOurs = problem === null || problem.cause !== undefined;
    const isCut = isOurs && isRefusalWithoutReason(this.#buffer);
    if (this.#buffer.length > 0 && !fault && !isCut) this.#reportBuffer();
    const rest = this.#buffer;
    this.#buffer = new Uint8Array(0);
    const text = problem?.message ?? "the connection was closed";
    this.#listener.closed(rest, text, this.#isEarly);
  }
}

/** Returns bytes without leading line ends; line ends at the end may belong to a value. */
function withoutLineEnds(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0x0a && byte !== 0x0d);
  return first < 0 ? new Uint8Array(0) : bytes.subarray(first);
}
