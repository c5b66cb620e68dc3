import type { Clock, Timer } from "../../../shared/time.ts";
import {
  type Baseline,
  type LastTransaction,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type Terminal,
  type TerminalCapabilities,
  type TerminalEvent,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
  type ToldResult,
  type TransactionReport,
} from "../terminal.ts";
import { Babble } from "./babble.ts";
import type { Dialogue, Messages, Opened, Reading } from "./dialogue.ts";
import { lost, notBegun } from "./payment-ends.ts";
import { type Paying, sendRequest } from "./send-request.ts";
import { Silence } from "./silence.ts";
import { unreadableReport } from "./unreadable-report.ts";
import { type UnstoredResult, UnstoredResults } from "./unstored-results.ts";

interface Log {
  info(details: object, text: string): void;
  warn(details: object, text: string): void;
  error(details: object, text: string): void;
}

type ResultReading = Extract<Reading, { reading: "result" }>;

interface Unstored extends UnstoredResult {
  readonly reading: ResultReading;
  readonly told: ToldResult;
  /** Whose payment it came in, and is taken for while that runs. */
  readonly paying: Paying | undefined;
}

export interface UnaskedParts {
  readonly messages: Messages;
  readonly dialogue: Dialogue;
  readonly clock: Clock;
  readonly log: Log;
  /** A payment without a result is given up after this long; its result still counts. */
  readonly waitMs: number;
  /** From the request on: then nothing is expected to run any more. */
  readonly quietMs: number;
  /** Listened to behind `waitMs` at least, before anybody is asked. */
  readonly silenceMs: number;
}

const nobody = { serialNumber: "", deviceId: "", terminalId: "", version: "" } as const;
const cannotTell = "the protocol has no question about the last transaction";
/** A terminal that misses our acknowledgement tells its result again within seconds. */
const REPEAT_MS = 30_000;
/** How long an opening is held for its request, at most. */
const OPENED_MS = 5_000;
const nothingElse = { card: "0", call: "0", periph: "0" } as const;

/**
 * A terminal that takes one request and tells one result, and knows neither a cancel nor a question
 * nor a name of its own (docs/rules/25-one-way.md). Protocols differ in their messages and in the
 * way these travel.
 */
export class UnaskedTerminal implements Terminal {
  readonly #parts: UnaskedParts;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #take: ((told: ToldResult) => boolean) | undefined;
  #paying: Paying | undefined;
  /** Recovery is to find out what became of a payment, perhaps of an earlier process. */
  #isDoubted = false;
  #isBusy = false;
  /** The newest question "are you there?": it is over before a payment speaks. */
  #asked: Promise<void> | undefined;
  /** When {@link prepare} has opened the way for a request that has not left yet. */
  #openedAtMs = -OPENED_MS;
  /** Of the newest request that left. */
  #newest: PaymentOrder | undefined;
  #status: TerminalStatus | null = null;
  /** The newest result that is on disk. */
  #stored: Uint8Array | undefined;
  /** When it was stored, until the terminal has the next request. */
  #storedAtMs: number | undefined;
  readonly #unstored: UnstoredResults<Unstored>;
  readonly #babble: Babble;
  readonly #silence: Silence;

  constructor(parts: UnaskedParts) {
    this.#parts = parts;
    this.#babble = new Babble(parts.clock);
    this.#silence = new Silence(parts.clock, parts.quietMs);
    this.#unstored = new UnstoredResults(parts, (unstored) => this.#storesAgain(unstored));
  }

  get protocol(): string {
    return this.#parts.messages.protocol;
  }

  get capabilities(): TerminalCapabilities {
    return {
      paymentLimitMs: Math.max(this.#parts.quietMs, this.#parts.waitMs + this.#parts.silenceMs),
      lastTransaction: false,
      vending: false,
      partialIssue: false,
      cannotRefuse: true,
      noIdentity: true,
      ...(this.#parts.dialogue.isShared ? { sharesLine: true } : {}),
      ...(this.#parts.messages.namesNothing ? { namesNoPayment: true } : {}),
    };
  }

  get state(): TerminalState {
    const { problem } = this.#parts.dialogue;
    return {
      link: problem === null ? "connected" : "disconnected",
      linkProblem: problem,
      identity: nobody,
      status: this.#status,
      busy: this.#isBusy || this.#paying !== undefined,
      demands: [],
    };
  }

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  takeLateResults(take: (told: ToldResult) => boolean): void {
    this.#take = take;
  }

  keepEvidence(keep: boolean): void {
    this.#isDoubted = keep;
  }

  start(): void {
    this.#parts.dialogue.start({
      reply: (reply, unasked) => this.#reply(reply, unasked),
      spoilt: (text) => this.#spoilt(text),
      link: (problem) => {
        this.#emit({
          type: "link",
          link: problem === null ? "connected" : "disconnected",
          problem,
        });
      },
      gone: (text) => this.#gone(text),
    });
  }

  /** A result that the end of the line still tells is stored too. */
  async close(): Promise<void> {
    try {
      await this.#parts.dialogue.close();
    } finally {
      this.#unstored.close();
    }
  }

  endWritten(): void {
    this.#unstored.again();
  }

  /** The question "are you there?" is the opening of the very session that carries the request. */
  async prepare(signal: AbortSignal): Promise<Baseline> {
    await this.#asked;
    signal.throwIfAborted();
    this.#became(await this.#used(() => this.#parts.dialogue.open(signal)));
    this.#openedAtMs = this.#parts.clock.monotonicMs();
    const last = { kind: "not-told", why: cannotTell } as const;
    return { identity: nobody, last, clockOffsetMs: null };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    if (this.#isSpeaking || this.#silence.mayRun || this.#isDoubted) {
      return { cr: "1", ...nothingElse, detail: "a payment runs or may run" };
    }
    await this.#ping(signal);
    return { cr: "0", ...nothingElse, detail: "the terminal answered" };
  }

  /**
   * Listens until nothing can be running, then asks whether somebody is there: never beside a
   * payment, which a question that holds up no sale can meet (docs/rules/25-one-way.md).
   */
  async lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    const isHeard = await this.#silence.listenOut(signal, () => this.#paying !== undefined);
    if (this.#isSpeaking) throw new TerminalUnavailable("busy", "a payment runs");
    if (!isHeard) await this.#ping(signal);
    this.#silence.end();
    return { kind: "not-told", why: cannotTell };
  }

  /** Something of ours is under way, or its way is open. */
  get #isSpeaking(): boolean {
    const isOpen = this.#parts.clock.monotonicMs() - this.#openedAtMs < OPENED_MS;
    return this.#isBusy || isOpen || this.#paying !== undefined;
  }

  async #ping(signal: AbortSignal): Promise<void> {
    const asked = this.#used(() => this.#parts.dialogue.ping(signal));
    this.#asked = asked.then(
      () => undefined,
      () => undefined,
    );
    this.#became(await asked);
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const { messages, dialogue, clock, log, waitMs, silenceMs } = this.#parts;
    let request: Uint8Array;
    try {
      request = messages.request(order);
    } catch (error) {
      dialogue.leave();
      return { end: "not-sent", code: "request", text: (error as Error).message };
    }
    const ended = Promise.withResolvers<PaymentEnd>();
    const paying: Paying = {
      order,
      observer,
      ended,
      fault: "",
      isSent: false,
      reopening: undefined,
      isOvertaken: false,
    };
    this.#paying = paying;
    this.#openedAtMs = -OPENED_MS;
    this.#silence.begin();
    this.#newest = order;
    let limit: Timer | undefined;
    try {
      const sent = await sendRequest(request, paying, this.#parts);
      log.info({ sent }, "payment request");
      if (sent === "not-sent" || sent === "refused") {
        this.#silence.takeBack();
        return notBegun(sent, paying.fault || (dialogue.problem ?? ""));
      }
      paying.isSent = true;
      if (sent === "taken") this.#storedAtMs = undefined;
      limit = clock.startTimer("payment result", waitMs, () => {
        // The kiosk is answered 504 now; a result still counts on the line that would have told it.
        this.#silence.prolong(silenceMs);
        const text = `the terminal told no result in ${Math.round(waitMs / 1_000)} s`;
        ended.resolve(lost("no-result", [text, paying.fault].filter(Boolean).join("; ")));
      });
      const end = await ended.promise;
      // Nothing more comes on the way that this result came.
      if (end.end === "completed") dialogue.leave();
      return end;
    } finally {
      limit?.clear();
      this.#paying = undefined;
    }
  }

  #reply(reply: Uint8Array, tooEarly: boolean): boolean {
    const unasked = tooEarly || this.#paying?.reopening !== undefined;
    if (this.#isRepeat(reply, unasked)) return true;
    const isStored = this.#judged(reply, unasked);
    if (isStored) this.#isOnDisk(reply);
    return isStored;
  }

  #isOnDisk(reply: Uint8Array): void {
    this.#stored = reply.slice();
    this.#storedAtMs = this.#parts.clock.monotonicMs();
  }

  /**
   * The very bytes that were stored a moment ago, because our acknowledgement was lost: they are no
   * second result, also where they carry no reference and another order is open.
   */
  #isRepeat(reply: Uint8Array, unasked: boolean): boolean {
    const { clock, log } = this.#parts;
    if (this.#storedAtMs === undefined || (this.#paying && !unasked)) return false;
    const agoMs = clock.monotonicMs() - this.#storedAtMs;
    if (agoMs > REPEAT_MS || this.#isAgain(reply) !== true) return false;
    log.warn({}, "the terminal told its newest result again");
    return true;
  }

  #isAgain(reply: Uint8Array): boolean | undefined {
    return this.#stored && Buffer.compare(reply, this.#stored) === 0;
  }

  #judged(reply: Uint8Array, unasked: boolean): boolean {
    const paying = this.#paying;
    const reading = this.#parts.messages.read(reply, unasked ? null : (paying?.order ?? null));
    switch (reading.reading) {
      case "other":
        this.#parts.log.warn({}, reading.why);
        return true;
      case "unreadable":
        this.#spoilt(reading.why);
        return false;
      case "result":
        return this.#result(reply, reading, unasked);
    }
  }

  #result(reply: Uint8Array, reading: ResultReading, unasked: boolean): boolean {
    const paying = this.#paying;
    const { report } = reading;
    const told = { report, isEarly: unasked, isAgain: this.#isAgain(reply) };
    let isOwn = false;
    try {
      isOwn = paying !== undefined && (paying.observer.concerns?.(told) ?? !unasked);
    } catch (error) {
      if (paying) paying.fault = `the result could not be judged: ${(error as Error).message}`;
      return false; // it is told again
    }
    if (paying && !isOwn && !unasked) paying.fault = "a result came that can be another payment's";
    const unstored = { reply: reply.slice(), reading, told, paying: undefined };
    if (!isOwn && unasked && this.#overtakes(reading)) {
      this.#unstored.hold(unstored);
      return false;
    }
    const isStored = isOwn && paying ? this.#own(paying, reading) : this.#late(told, reading);
    if (isStored || this.#parts.dialogue.isShared) return isStored;
    // Where nothing is acknowledged, nothing is told again.
    this.#unstored.keep({ ...unstored, paying: isOwn ? paying : undefined });
    return false;
  }

  /**
   * An approval of before, while nothing of the payment of now has left: it may be of an earlier
   * attempt of that very order, so the payment ends first, as one that was not sent.
   */
  #overtakes({ report }: ResultReading): boolean {
    const paying = this.#paying;
    if (!paying || paying.isSent || !report.good) return false;
    paying.isOvertaken = true;
    paying.fault = "the terminal told an approval of before";
    paying.reopening?.abort();
    return true;
  }

  #storesAgain({ reply, reading, told, paying }: Unstored): boolean {
    const isOwn = paying !== undefined && paying === this.#paying;
    if (!isOwn && this.#overtakes(reading)) return false;
    // The payment is over by now, and its result still is of its attempt.
    const late = { ...told, cameFor: paying?.order.reference };
    if (!(isOwn ? this.#own(paying, reading) : this.#late(late, reading))) return false;
    this.#isOnDisk(reply);
    return true;
  }

  #own(paying: Paying, { report, ticket, end }: ResultReading): boolean {
    const { order, observer, ended } = paying;
    // A member that does not come back is no difference.
    const told = {
      ...report,
      amountMinor: report.amountMinor ?? order.amountMinor,
      currencyNumeric: report.currencyNumeric ?? order.currencyNumeric,
    };
    try {
      observer.report(told);
    } catch (error) {
      paying.fault = `the result could not be stored: ${(error as Error).message}`;
      return false;
    }
    if (end === "wait") return true;
    this.#silence.end();
    const isTold = end === "told";
    ended.resolve({
      ...(isTold ? { end: "completed" } : lost("unclear", report.resultText)),
      ticket,
    });
    return true;
  }

  #late(told: ToldResult, { report, end }: ResultReading): boolean {
    const isStored = this.#take?.(told) ?? false;
    if (isStored && end === "told" && this.#isOfNewest(report) && !this.#paying) {
      this.#silence.end();
      this.#silence.hear();
    }
    return isStored;
  }

  /** The result of an earlier payment says nothing of the newest one. */
  #isOfNewest({ reference, amountMinor }: TransactionReport): boolean {
    if (reference != null) return reference === this.#newest?.reference;
    return amountMinor === null || amountMinor === (this.#newest?.amountMinor ?? amountMinor);
  }

  #spoilt(text: string): void {
    const paying = this.#paying;
    const isNews = paying !== undefined && paying.fault !== text;
    if (isNews) paying.fault = text;
    if (this.#babble.isMore()) return;
    this.#parts.log.warn({}, `something came that is no result: ${text}`);
    this.#emit({ type: "protocol", text });
    if (!isNews || !paying.isSent) return;
    try {
      // Evidence that the terminal said something.
      paying.observer.report(unreadableReport(text));
    } catch (error) {
      this.#parts.log.warn({ err: error }, "what came could not be stored");
    }
  }

  #gone(text: string): void {
    this.#paying?.ended.resolve(lost("line", text));
  }

  async #used(ask: () => Promise<Opened>): Promise<Opened> {
    this.#isBusy = true;
    try {
      return await ask();
    } finally {
      this.#isBusy = false;
    }
  }

  /** Throws {@link TerminalUnavailable} when nobody answered. */
  #became(opened: Opened): void {
    const cr = opened.opened ? "0" : "9";
    const detail = opened.opened ? "the terminal answered" : opened.text;
    this.#status = { cr, ...nothingElse, detail };
    this.#emit({ type: "status", status: this.#status });
    if (opened.opened) return;
    const reason = { away: "disconnected", silent: "no-answer", busy: "busy" } as const;
    throw new TerminalUnavailable(reason[opened.why], opened.text);
  }

  #emit(event: TerminalEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
