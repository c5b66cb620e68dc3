import { actionResult, readTagged, type Tagged, tagValue } from "../../../concert/index.ts";
import { type Clock, sleep, type Timer } from "../../../shared/time.ts";
import type { ByteConnection, ByteTransport } from "../transport/byte-transport.ts";
import type { Dialogue, DialogueListener, Opened } from "../unasked/dialogue.ts";

interface BareParts {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  /** A message that asks whether somebody is there. */
  readonly identification: Uint8Array;
  /** Bytes behind a message; none for most terminals. */
  readonly ending: Uint8Array;
}

/** A whole message may go on in a next piece (docs/concert.md 4.7). */
const SETTLE_MS = 300;
/** Likewise while something is missing by which a result would be read otherwise. */
const SETTLE_LONG_MS = 2_000;
/** A terminal that tells something as soon as it is connected does so within this time. */
const LISTEN_MS = 50;
/** How long a connection without a request is held. */
const HOLD_MS = 5_000;
const BUFFER_BYTES_MAX = 64 * 1_024;

/**
 * One connection for one action, messages without anything around them (docs/concert.md 4.7). The
 * connection of a payment stays open, because the result comes on it, until the question of the
 * recovery run or the next payment needs the terminal.
 */
export class BareLine implements Dialogue {
  readonly isShared = false;
  readonly #parts: BareParts;
  #listener: DialogueListener | undefined;
  #current: Exchange | undefined;
  #isClosed = false;

  constructor(parts: BareParts) {
    this.#parts = parts;
  }

  /** There is no standing line that could be broken. */
  get problem(): null {
    return null;
  }

  start(listener: DialogueListener): void {
    this.#listener = listener;
  }

  async open(signal: AbortSignal): Promise<Opened> {
    if (this.#isClosed) return { opened: false, why: "away", text: "the connector stops" };
    await this.#current?.close();
    const { transport, clock } = this.#parts;
    const exchange: Exchange = new Exchange(clock, {
      message: (bytes, isEarly) => this.#listener?.reply(bytes, isEarly),
      closed: (rest, text, isEarly) => {
        if (this.#current === exchange) this.#current = undefined;
        this.#tellRest(rest, isEarly);
        if (exchange.isUsed) this.#listener?.gone(text);
      },
    });
    try {
      await exchange.connect(transport, signal);
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

  /** A result of before, told while nobody read, is heard first. */
  async send(
    request: Uint8Array,
    mayLeave: () => boolean = () => true,
  ): Promise<"taken" | "unanswered" | "lapsed"> {
    const { clock, ending } = this.#parts;
    if (!this.#current) return "lapsed";
    await sleep(clock, "results of before", LISTEN_MS);
    const message = Buffer.concat([request, ending]);
    return this.#current?.write(message, mayLeave) ? "taken" : "lapsed";
  }

  /** An open connection of a payment is closed first: the terminal may take one at a time. */
  async ping(signal: AbortSignal): Promise<Opened> {
    await this.#current?.close();
    const { transport, clock, identification, ending } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<Opened>();
    const exchange = new Exchange(clock, {
      message: (bytes) => {
        const { tags } = readTagged(bytes);
        // A result that was due earlier is no answer to be thrown away.
        if (namesPayment(tags)) this.#listener?.reply(bytes, true);
        if (tagValue(tags, "AE") !== undefined) resolve({ opened: true });
      },
      closed: (rest, text) => {
        if (namesPayment(readTagged(rest).tags)) this.#tellRest(rest, true);
        resolve({ opened: false, why: "silent", text });
      },
    });
    const onAbort = (): void => {
      resolve({ opened: false, why: "silent", text: `${transport.address} does not answer` });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const limit = clock.startTimer("identification", HOLD_MS, onAbort);
    try {
      await exchange.connect(transport, signal);
      exchange.write(Buffer.concat([identification, ending]), () => true);
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

  /** Bytes that the end of a connection has cut. */
  #tellRest(rest: Uint8Array, isEarly: boolean): void {
    if (isRefusalWithoutReason(rest)) this.#listener?.spoilt("a refusal without its reason");
    else if (rest.length > 0) this.#listener?.reply(rest, isEarly);
  }
}

/** Not the answer to "who is there", which need not say the action. */
function namesPayment(tags: readonly Tagged[]): boolean {
  const action = tagValue(tags, "CD");
  return action === undefined ? tagValue(tags, "CB") !== undefined : action !== "I";
}

/** Whether nothing that may follow could change what a result means. */
function saysAll(tags: readonly Tagged[]): boolean {
  const state = actionResult(tags);
  if (tagValue(tags, "CD") === "I") return true;
  const needed = { performed: ["CB", "CE"], "not-performed": ["AF"], "taken-into-account": [] };
  return state === undefined || needed[state].every((tag) => tagValue(tags, tag) !== undefined);
}

/** Some reasons leave open whether money moved (docs/concert.md 4.4). */
function isRefusalWithoutReason(bytes: Uint8Array): boolean {
  const { tags, fault } = readTagged(bytes);
  return !fault && actionResult(tags) === "not-performed" && tagValue(tags, "AF") === undefined;
}

/** `isEarly`: it began before our request was written, so it is no answer to it. */
interface ExchangeListener {
  message(bytes: Uint8Array, isEarly: boolean): void;
  /** `rest`: bytes that are no whole message. */
  closed(rest: Uint8Array, text: string, isEarly: boolean): void;
}

/** One connection: its bytes as messages. */
class Exchange {
  readonly #clock: Clock;
  readonly #listener: ExchangeListener;
  #connection: ByteConnection | undefined;
  #buffer: Uint8Array = new Uint8Array(0);
  /** The buffer began to come before our request was written. */
  #isEarly = true;
  #settle: Timer | undefined;
  #hold: Timer | undefined;
  isUsed = false;

  constructor(clock: Clock, listener: ExchangeListener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  async connect(transport: ByteTransport, signal: AbortSignal): Promise<void> {
    const listener = {
      data: (bytes: Uint8Array) => this.#data(bytes),
      closed: (problem: Error | null) => this.#closed(problem),
    };
    this.#connection = await transport.open(listener, signal);
  }

  /** Closes a connection on which nothing is sent. */
  hold(forMs: number): void {
    this.#hold = this.#clock.startTimer("unused connection", forMs, () => void this.close());
  }

  /**
   * false: nothing has left, because the connection is closed, or because of what came before it:
   * `mayLeave` is asked when that has been told.
   */
  write(message: Uint8Array, mayLeave: () => boolean): boolean {
    this.#hold?.clear();
    this.#tellEarly();
    // An approval of before that is still coming is heard first, on the way to the next opening.
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

  /** A message that is whole now is not to be read together with the answer to our request. */
  #tellEarly(): void {
    const { tags, fault } = readTagged(this.#buffer);
    const isWhole = this.#buffer.length > 0 && !fault && (saysAll(tags) || this.#hasApproval);
    if (isWhole) this.#settle?.clear();
    if (isWhole) this.#tell();
    this.#isEarly = this.#buffer.length > 0;
  }

  get #hasApproval(): boolean {
    return actionResult(readTagged(this.#buffer).tags) === "performed";
  }

  #data(bytes: Uint8Array): void {
    this.#settle?.clear();
    this.#buffer = Buffer.concat([this.#buffer, bytes]).subarray(0, BUFFER_BYTES_MAX);
    this.#takeForerunner();
    const { tags, fault } = readTagged(this.#buffer);
    // A message that is cut waits for more, or for the end of the connection.
    if (this.#buffer.length === 0 || fault?.code === "incomplete") return;
    const settleMs = fault || saysAll(tags) ? SETTLE_MS : SETTLE_LONG_MS;
    this.#settle = this.#clock.startTimer("end of a message", settleMs, () => this.#tell());
  }

  /**
   * A message that only goes before a result may come in one piece with it, with line ends around
   * (docs/concert.md 4.4): "taken into account", or the answer to an earlier question.
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

  #tell(): void {
    const { tags, fault } = readTagged(this.#buffer);
    if (!fault && tagValue(tags, "AE") === undefined) return;
    this.#tellBuffer();
  }

  #tellBuffer(): void {
    const [message, isEarly] = [this.#buffer, this.#isEarly];
    this.#buffer = new Uint8Array(0);
    this.#isEarly = !this.isUsed;
    this.#listener.message(message, isEarly);
  }

  #closed(problem: Error | null): void {
    this.#hold?.clear();
    this.#settle?.clear();
    const { fault } = readTagged(this.#buffer);
    // The reason may still be on its way, unless the terminal itself has ended the connection.
    const isOurs = problem === null || problem.cause !== undefined;
    const isCut = isOurs && isRefusalWithoutReason(this.#buffer);
    if (this.#buffer.length > 0 && !fault && !isCut) this.#tellBuffer();
    const rest = this.#buffer;
    this.#buffer = new Uint8Array(0);
    const text = problem?.message ?? "the connection was closed";
    this.#listener.closed(rest, text, this.#isEarly);
  }
}

/** Without those at the beginning; those behind a value may belong to it. */
function withoutLineEnds(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0x0a && byte !== 0x0d);
  return first < 0 ? new Uint8Array(0) : bytes.subarray(first);
}
