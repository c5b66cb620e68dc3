import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock, Timer } from "../../../shared/time.ts";
import {
  type Baseline,
  emptyReport,
  type LastTransaction,
  type OneWayResult,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type Terminal,
  type TerminalCapabilities,
  type TerminalEvent,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
  type TransactionReport,
} from "../terminal.ts";
import type { Dialogue, Messages, Opened, ResultReading } from "./dialogue.ts";
import { notBegun, type Paying, sendRequest } from "./send-request.ts";
import { Silence } from "./silence.ts";
import { type UnstoredResult, UnstoredResults } from "./unstored-results.ts";

interface OneWayOptions {
  readonly messages: Messages;
  readonly dialogue: Dialogue;
  readonly clock: Clock;
  readonly log: Logger;
  /** A payment without a result is given up after this long; its result still counts. */
  readonly waitMs: number;
  /** So long after a request nothing is expected to run any more. */
  readonly quietMs: number;
  /** How long at least a result is listened for after `waitMs`, before the terminal is asked. */
  readonly silenceMs: number;
}

const nobody = { serialNumber: "", deviceId: "", terminalId: "", version: "" } as const;
const unknownLast = {
  kind: "not-told",
  why: "the protocol has no question about the last transaction",
} as const;
/** A terminal that misses our acknowledgement repeats its result within seconds. */
const REPEAT_MS = 30_000;
/** How long an opening is held for its request, at most. */
const OPENED_MS = 5_000;
/** Pieces of noise that are logged in each span of time. */
const NOISE_MAX = 20;
const NOISE_SPAN_MS = 60_000;

/**
 * A terminal that takes one request and reports one result, and knows no cancel, no question and no
 * name of its own (docs/rules/25-one-way.md). Protocols differ in their messages and in the way
 * these travel.
 */
export class OneWayTerminal implements Terminal {
  readonly #options: OneWayOptions;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #take: ((result: OneWayResult) => boolean) | undefined;
  #paying: Paying | undefined;
  /** Recovery is to find out what became of a payment, perhaps of an earlier process. */
  #isEvidenceKept = false;
  #isBusy = false;
  /** Settles when the newest question whether the terminal is there has ended. */
  #pinged: Promise<unknown> | undefined;
  /** When {@link prepare} has opened the line for a request that has not left yet. */
  #openedAtMs = -OPENED_MS;
  /** Of the newest request that left. */
  #newest: PaymentOrder | undefined;
  #status: TerminalStatus | null = null;
  /** The newest result that is on disk. */
  #stored: Uint8Array | undefined;
  /** When it was stored, until the terminal has the next request. */
  #storedAtMs: number | undefined;
  readonly #unstored: UnstoredResults;
  readonly #isTooNoisy: () => boolean;
  readonly #silence: Silence;

  constructor(options: OneWayOptions) {
    const { clock, log, quietMs } = options;
    this.#options = options;
    this.#isTooNoisy = noiseLimit(clock);
    this.#silence = new Silence(clock, quietMs);
    this.#unstored = new UnstoredResults(clock, log, (unstored) => this.#storesAgain(unstored));
  }

  get protocol(): string {
    return this.#options.messages.protocol;
  }

  get capabilities(): TerminalCapabilities {
    const { quietMs, waitMs, silenceMs, dialogue, messages } = this.#options;
    return {
      paymentLimitMs: Math.max(quietMs, waitMs + silenceMs),
      lastTransaction: false,
      vending: false,
      partialIssue: false,
      cannotRefuse: true,
      noIdentity: true,
      ...(dialogue.isShared ? { sharesLine: true } : {}),
      ...(messages.namesNothing ? { namesNoPayment: true } : {}),
    };
  }

  get state(): TerminalState {
    const { problem } = this.#options.dialogue;
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

  takeLateResults(take: (result: OneWayResult) => boolean): void {
    this.#take = take;
  }

  keepEvidence(keep: boolean): void {
    this.#isEvidenceKept = keep;
  }

  start(): void {
    this.#options.dialogue.start({
      reply: (reply, isEarly) => this.#reply(reply, isEarly),
      malformed: (text) => this.#malformed(text),
      link: (problem) => {
        const link = problem === null ? "connected" : "disconnected";
        this.#emit({ type: "link", link, problem });
      },
      gone: (text) => this.#paying?.ended.resolve(lost("line", text)),
    });
  }

  /** Ends the line, and stores the results that its end still brings. */
  async close(): Promise<void> {
    try {
      await this.#options.dialogue.close();
    } finally {
      this.#unstored.close();
    }
  }

  endWritten(): void {
    this.#unstored.storeAll();
  }

  /** The question whether the terminal is there opens the very session that carries the request. */
  async prepare(signal: AbortSignal): Promise<Baseline> {
    await this.#pinged;
    signal.throwIfAborted();
    this.#became(await this.#used(() => this.#options.dialogue.open(signal)));
    this.#openedAtMs = this.#options.clock.monotonicMs();
    return { identity: nobody, last: unknownLast, clockOffsetMs: null };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    if (this.#isSpeaking || this.#silence.mayRun || this.#isEvidenceKept) {
      return statusOf("1", "a payment runs or may run");
    }
    await this.#ping(signal);
    return statusOf("0", "the terminal answered");
  }

  /**
   * Listens until nothing can be running, then asks whether the terminal is there. A question while
   * a payment runs could be taken by the terminal instead of its request
   * (docs/rules/25-one-way.md).
   */
  async lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    const isHeard = await this.#silence.listenOut(signal, () => this.#paying !== undefined);
    if (this.#isSpeaking) throw new TerminalUnavailable("busy", "a payment runs");
    if (!isHeard) await this.#ping(signal);
    this.#silence.end();
    return unknownLast;
  }

  /** Something of ours is under way, or the line is open for it. */
  get #isSpeaking(): boolean {
    const isOpen = this.#options.clock.monotonicMs() - this.#openedAtMs < OPENED_MS;
    return this.#isBusy || isOpen || this.#paying !== undefined;
  }

  async #ping(signal: AbortSignal): Promise<void> {
    const pinged = this.#used(() => this.#options.dialogue.ping(signal));
    this.#pinged = pinged.catch(() => undefined);
    this.#became(await pinged);
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const { messages, dialogue, clock, log } = this.#options;
    let request: Uint8Array;
    try {
      request = messages.request(order);
    } catch (error) {
      dialogue.leave();
      return { end: "not-sent", code: "request", text: (error as Error).message };
    }
    const paying: Paying = {
      order,
      observer,
      ended: Promise.withResolvers<PaymentEnd>(),
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
      const sent = await sendRequest(request, paying, dialogue, clock);
      log.info({ sent }, "payment request");
      if (sent === "not-sent" || sent === "refused") {
        this.#silence.takeBack();
        return notBegun(sent, paying.fault || (dialogue.problem ?? ""));
      }
      paying.isSent = true;
      if (sent === "taken") this.#storedAtMs = undefined;
      limit = this.#limited(paying);
      const end = await paying.ended.promise;
      // Nothing more comes on the connection on which this result came.
      if (end.end === "completed") dialogue.leave();
      return end;
    } finally {
      limit?.clear();
      this.#paying = undefined;
    }
  }

  /** Gives the payment up after `waitMs`: the kiosk is answered, and a late result still counts. */
  #limited(paying: Paying): Timer {
    const { clock, waitMs, silenceMs } = this.#options;
    return clock.startTimer("payment result", waitMs, () => {
      this.#silence.prolong(silenceMs);
      const text = `the terminal reported no result in ${Math.round(waitMs / 1_000)} s`;
      const fault = [text, paying.fault].filter(Boolean).join("; ");
      paying.ended.resolve(lost("no-result", fault));
    });
  }

  #reply(reply: Uint8Array, isTooEarly: boolean): boolean {
    const isEarly = isTooEarly || this.#paying?.reopening !== undefined;
    if (this.#isRepeat(reply, isEarly)) return true;
    const isStored = this.#isJudged(reply, isEarly);
    if (isStored) this.#isOnDisk(reply);
    return isStored;
  }

  #isOnDisk(reply: Uint8Array): void {
    this.#stored = reply.slice();
    this.#storedAtMs = this.#options.clock.monotonicMs();
  }

  /**
   * Returns whether these are the very bytes that were stored a moment ago, because our
   * acknowledgement was lost: then they are no second result, also where they carry no reference
   * and another order is open.
   */
  #isRepeat(reply: Uint8Array, isEarly: boolean): boolean {
    const { clock, log } = this.#options;
    if (this.#storedAtMs === undefined || (this.#paying && !isEarly)) return false;
    const agoMs = clock.monotonicMs() - this.#storedAtMs;
    if (agoMs > REPEAT_MS || this.#isAgain(reply) !== true) return false;
    log.warn({}, "the terminal repeated its newest result");
    return true;
  }

  #isAgain(reply: Uint8Array): boolean | undefined {
    return this.#stored && Buffer.compare(reply, this.#stored) === 0;
  }

  /** Returns whether nothing of the reply is left to be stored. */
  #isJudged(reply: Uint8Array, isEarly: boolean): boolean {
    const { messages, log } = this.#options;
    const reading = messages.read(reply, isEarly ? null : (this.#paying?.order ?? null));
    switch (reading.reading) {
      case "other":
        log.warn({}, reading.why);
        return true;
      case "unreadable":
        this.#malformed(reading.why);
        return false;
      case "result":
        return this.#isResultStored(reply, reading, isEarly);
    }
  }

  #isResultStored(reply: Uint8Array, reading: ResultReading, isEarly: boolean): boolean {
    const paying = this.#paying;
    const result = { report: reading.report, isEarly, isAgain: this.#isAgain(reply) };
    let isOwn = false;
    try {
      isOwn = paying !== undefined && (paying.observer.concerns?.(result) ?? !isEarly);
    } catch (error) {
      // The terminal repeats the result, because it is not acknowledged.
      if (paying) paying.fault = `the result could not be judged: ${(error as Error).message}`;
      return false;
    }
    if (paying && !isOwn && !isEarly) paying.fault = "a result came that can be another payment's";
    const unstored = { reply: reply.slice(), reading, result, paying: undefined };
    if (!isOwn && isEarly && this.#overtakes(reading)) {
      this.#unstored.hold(unstored);
      return false;
    }
    const isStored = isOwn && paying ? this.#own(paying, reading) : this.#late(result, reading);
    if (isStored || this.#options.dialogue.isShared) return isStored;
    // Where nothing is acknowledged, the terminal repeats nothing.
    this.#unstored.keep({ ...unstored, paying: isOwn ? paying : undefined });
    return false;
  }

  /**
   * Returns whether an earlier approval came while nothing of the running payment has left. That
   * approval may be of an earlier attempt of the same order, so the payment ends first, as one that
   * was not sent.
   */
  #overtakes({ report }: ResultReading): boolean {
    const paying = this.#paying;
    if (!paying || paying.isSent || !report.good) return false;
    paying.isOvertaken = true;
    paying.fault = "the terminal reported an earlier approval";
    paying.reopening?.abort();
    return true;
  }

  #storesAgain({ reply, reading, result, paying }: UnstoredResult): boolean {
    const isOwn = paying !== undefined && paying === this.#paying;
    if (!isOwn && this.#overtakes(reading)) return false;
    // The payment may be over by now; the result is still of its attempt.
    const late = { ...result, cameFor: paying?.order.reference };
    if (!(isOwn ? this.#own(paying, reading) : this.#late(late, reading))) return false;
    this.#isOnDisk(reply);
    return true;
  }

  /** Stores a result of the running payment. Returns whether it is on disk. */
  #own(paying: Paying, { report, ticket, end }: ResultReading): boolean {
    const { order, observer, ended } = paying;
    try {
      // A member that does not come back is no difference.
      observer.report({
        ...report,
        amountMinor: report.amountMinor ?? order.amountMinor,
        currencyNumeric: report.currencyNumeric ?? order.currencyNumeric,
      });
    } catch (error) {
      paying.fault = `the result could not be stored: ${(error as Error).message}`;
      return false;
    }
    if (end === "wait") return true;
    this.#silence.end();
    const unclear = lost("unclear", report.resultText);
    ended.resolve(end === "known" ? { end: "completed", ticket } : { ...unclear, ticket });
    return true;
  }

  /** Stores a result that is not of the running payment. Returns whether it is on disk. */
  #late(result: OneWayResult, { report, end }: ResultReading): boolean {
    const isStored = this.#take?.(result) ?? false;
    if (isStored && end === "known" && this.#isOfNewest(report) && !this.#paying) {
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

  #malformed(text: string): void {
    const paying = this.#paying;
    const isNews = paying !== undefined && paying.fault !== text;
    if (isNews) paying.fault = text;
    if (this.#isTooNoisy()) return;
    this.#options.log.warn({}, `something came that is no result: ${text}`);
    this.#emit({ type: "protocol", text });
    if (!isNews || !paying.isSent) return;
    try {
      // Evidence that the terminal sent something.
      paying.observer.report({ ...emptyReport(), resultText: text });
    } catch (error) {
      this.#options.log.warn({ err: error }, "a malformed message could not be stored as evidence");
    }
  }

  async #used(ask: () => Promise<Opened>): Promise<Opened> {
    this.#isBusy = true;
    try {
      return await ask();
    } finally {
      this.#isBusy = false;
    }
  }

  /** Throws {@link TerminalUnavailable} when the terminal did not answer. */
  #became(opened: Opened): void {
    const detail = opened.opened ? "the terminal answered" : opened.text;
    this.#status = statusOf(opened.opened ? "0" : "9", detail);
    this.#emit({ type: "status", status: this.#status });
    if (opened.opened) return;
    const reason = { away: "disconnected", silent: "no-answer", busy: "busy" } as const;
    throw new TerminalUnavailable(reason[opened.why], opened.text);
  }

  #emit(event: TerminalEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function statusOf(cr: TerminalStatus["cr"], detail: string): TerminalStatus {
  return { cr, card: "0", call: "0", periph: "0", detail };
}

/** The end of a payment that the terminal may have charged, without a clear result. */
function lost(code: string, text: string): Extract<PaymentEnd, { end: "lost" }> {
  return { end: "lost", code, text, ticket: "" };
}

/** Makes a function that counts pieces of noise and returns whether one is too many for a log. */
function noiseLimit(clock: Clock): () => boolean {
  let [sinceMs, count] = [0, 0];
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - sinceMs > NOISE_SPAN_MS) [sinceMs, count] = [nowMs, 0];
    count += 1;
    return count > NOISE_MAX;
  };
}
