import { BrokenInvariant } from "../../../shared/invariant.ts";
import type { AlarmLog } from "../../../shared/process/logger.ts";
import type { Clock, Timer } from "../../../shared/time.ts";
import {
  type Baseline,
  emptyReport,
  type LastTransaction,
  noIdentity,
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
import { notBegun, Paying, sendRequest } from "./send-request.ts";
import { Silence } from "./silence.ts";
import { type UnstoredResult, UnstoredResults } from "./unstored-results.ts";

interface OneWayOptions {
  readonly messages: Messages;
  readonly dialogue: Dialogue;
  readonly clock: Clock;
  readonly log: AlarmLog;
  /** The time after which a payment without a result counts as lost; a late result still counts. */
  readonly waitMs: number;
  /** The time after a request was sent in which the terminal may still run the payment. */
  readonly quietMs: number;
  /** The shortest wait for a late result after `waitMs`, before a probe may send anything. */
  readonly silenceMs: number;
}

const unknownLast = { kind: "not-told", why: "its protocol has no such question" } as const;
/** How long an equal result counts as a repeat, sent because our first ACK was lost. */
const REPEAT_MS = 30_000;
/** How long an opened connection may wait for its payment request. */
const OPENED_MS = 5_000;
/** The largest number of malformed messages that are logged in {@link NOISE_SPAN_MS}. */
const NOISE_MAX = 20;
const NOISE_SPAN_MS = 60_000;

/**
 * The driver of a terminal that takes one request, reports one result, and knows no cancel, no
 * query and no name of its own (docs/rules/25-one-way.md). A protocol adds its {@link Messages} and
 * the {@link Dialogue} on which they travel.
 */
export class OneWayTerminal implements Terminal {
  readonly #options: OneWayOptions;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #take: ((result: OneWayResult) => boolean) | undefined;
  #paying: Paying | undefined;
  /** Whether the outcome of a payment is still sought; {@link check} then sends nothing. */
  #isEvidenceKept = false;
  #isBusy = false;
  #pinged: Promise<unknown> | undefined;
  /** When {@link prepare} opened the connection for a request that is not sent yet. */
  #openedAtMs = -OPENED_MS;
  #newest: PaymentOrder | undefined;
  #status: TerminalStatus | null = null;
  #stored: Uint8Array | undefined;
  /** When {@link #stored} was stored; undefined once the terminal has the next request. */
  #storedAtMs: number | undefined;
  readonly #unstored: UnstoredResults;
  readonly #isTooNoisy: () => boolean;
  readonly #silence: Silence;

  constructor(options: OneWayOptions) {
    const { clock, log, quietMs } = options;
    this.#options = options;
    this.#isTooNoisy = noiseLimit(clock);
    this.#silence = new Silence(clock, quietMs);
    const store = (it: UnstoredResult) => this.#orLogged(it.reading, () => this.#storesAgain(it));
    this.#unstored = new UnstoredResults(clock, log, store);
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
      identity: noIdentity,
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

  /** Closes the connection, and stores the results that still arrive meanwhile. */
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

  /** Opens the connection for the payment request, to learn whether the terminal answers. */
  async prepare(signal: AbortSignal): Promise<Baseline> {
    await this.#pinged;
    signal.throwIfAborted();
    this.#unstored.storeAll();
    this.#became(await this.#used(() => this.#options.dialogue.open(signal)));
    this.#openedAtMs = this.#options.clock.monotonicMs();
    return { identity: noIdentity, last: unknownLast, clockOffsetMs: null };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    if (this.#isSpeaking || this.#silence.mayRun || this.#isEvidenceKept) {
      return statusOf("1", "a payment runs or may run");
    }
    await this.#ping(signal);
    return statusOf("0", "the terminal answered");
  }

  /**
   * Waits until no payment can be running, then asks whether the terminal answers. Before that a
   * terminal could take the question for a new payment request (docs/rules/25-one-way.md).
   */
  async lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    const isHeard = await this.#silence.listenOut(signal, () => this.#paying !== undefined);
    if (this.#isSpeaking) throw new TerminalUnavailable("busy", "a payment runs");
    if (!isHeard) await this.#ping(signal);
    this.#silence.end();
    return unknownLast;
  }

  /** Whether a request or query of ours runs, or an opened connection waits for its request. */
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
    const paying = new Paying(order, observer);
    this.#paying = paying;
    this.#openedAtMs = -OPENED_MS;
    this.#silence.begin();
    this.#newest = order;
    // An approval that cannot be stored even now may be of this order: then nothing is sent.
    this.#unstored.storeAll();
    let limit: Timer | undefined;
    try {
      const sent = await sendRequest(request, paying, dialogue, clock);
      log.info({ sent }, "the driver has tried to send the payment request to the terminal");
      if (sent === "not-sent" || sent === "refused") {
        this.#silence.takeBack();
        return notBegun(sent, paying.fault || (dialogue.problem ?? ""));
      }
      paying.isSent = true;
      if (sent === "taken") this.#storedAtMs = undefined;
      limit = this.#limited(paying);
      const end = await paying.ended.promise;
      // After a result the terminal sends no further message on this connection.
      if (end.end === "completed") dialogue.leave();
      return end;
    } finally {
      limit?.clear();
      this.#paying = undefined;
    }
  }

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
    const isStored = this.#judge(reply, isEarly);
    if (isStored) this.#noteStored(reply);
    return isStored;
  }

  #noteStored(reply: Uint8Array): void {
    this.#stored = reply.slice();
    this.#storedAtMs = this.#options.clock.monotonicMs();
  }

  /**
   * Returns whether a reply repeats the last stored reply, because the terminal missed our ACK. A
   * repeat is no second result, even if it names no order and another order is open.
   */
  #isRepeat(reply: Uint8Array, isEarly: boolean): boolean {
    const { clock, log } = this.#options;
    if (this.#storedAtMs === undefined || (this.#paying && !isEarly)) return false;
    const agoMs = clock.monotonicMs() - this.#storedAtMs;
    if (agoMs > REPEAT_MS || this.#isAgain(reply) !== true) return false;
    log.warn({}, "the terminal repeated the result that it reported last");
    return true;
  }

  #isAgain(reply: Uint8Array): boolean | undefined {
    return this.#stored && Buffer.compare(reply, this.#stored) === 0;
  }

  /** Stores the result in a reply. Returns whether it is on disk, or no result needs storing. */
  #judge(reply: Uint8Array, isEarly: boolean): boolean {
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
        return this.#orLogged(reading, () => this.#store(reply, reading, isEarly));
    }
  }

  /** Stores a result. Logs it if that throws, because the process then ends without the result. */
  #orLogged({ report }: ResultReading, store: () => boolean): boolean {
    try {
      return store();
    } catch (error) {
      const { reference, good, amountMinor, authorisationNumber, maskedPan } = report;
      const detail = { reference, good, amountMinor, authorisationNumber, maskedPan };
      this.#options.log.error(detail, "a fault of this program keeps a result from the disk");
      throw error;
    }
  }

  #store(reply: Uint8Array, reading: ResultReading, isEarly: boolean): boolean {
    const paying = this.#paying;
    const result = { report: reading.report, isEarly, isAgain: this.#isAgain(reply) };
    const isOwn = this.#isOwn(paying, result);
    const unstored = { reply: reply.slice(), reading, result, paying, isOwn };
    if (!isOwn && isEarly && this.#overtakes(reading)) {
      this.#unstored.hold({ ...unstored, isOwn: false });
      return false;
    }
    const isJudged = isOwn !== undefined;
    const isStored =
      isJudged && (isOwn && paying ? this.#own(paying, reading) : this.#late(result, reading));
    if (isStored || this.#options.dialogue.isShared) return isStored;
    // On a connection for one payment nothing gets an ACK, so the reply is not repeated.
    this.#unstored.keep(unstored);
    return false;
  }

  /** Whether a result is of the payment `paying`; undefined: the journal cannot be read. */
  #isOwn(paying: Paying | undefined, result: OneWayResult): boolean | undefined {
    if (!paying) return false;
    const { isEarly } = result;
    try {
      const isOwn = paying.observer.concerns?.(result) ?? !isEarly;
      if (!isOwn && !isEarly) paying.fault = "a result came that can be another payment's";
      return isOwn;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      paying.fault = `the result could not be judged: ${(error as Error).message}`;
      return undefined;
    }
  }

  /**
   * Returns whether an approval came before the request of the running payment was sent. It may
   * belong to an earlier attempt of the same order, so the running payment first ends as not sent.
   */
  #overtakes({ report }: ResultReading): boolean {
    const paying = this.#paying;
    if (!paying || paying.isSent || !report.good) return false;
    paying.isOvertaken = true;
    paying.fault = "the terminal reported an earlier approval";
    paying.reopening?.abort();
    return true;
  }

  #storesAgain({ reply, reading, result, paying, ...stored }: UnstoredResult): boolean {
    const { isOwn = this.#isOwn(paying, result) } = stored;
    const running = isOwn && paying === this.#paying ? paying : undefined;
    if (!running && this.#overtakes(reading)) return false;
    if (isOwn === undefined) return false;
    // A result that is stored after the end of its payment still belongs to that attempt.
    const late = { ...result, cameFor: isOwn ? paying?.order.reference : undefined };
    if (!(running ? this.#own(running, reading) : this.#late(late, reading))) return false;
    this.#noteStored(reply);
    return true;
  }

  /** Stores a result of the running payment; returns whether it is on disk now. */
  #own(paying: Paying, { report, ticket, end }: ResultReading): boolean {
    const { order, observer, ended } = paying;
    try {
      // Where the terminal leaves out amount or currency, those of the order are reported.
      observer.report({
        ...report,
        amountMinor: report.amountMinor ?? order.amountMinor,
        currencyNumeric: report.currencyNumeric ?? order.currencyNumeric,
      });
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      paying.fault = `the result could not be stored: ${(error as Error).message}`;
      return false;
    }
    if (end === "wait") return true;
    this.#silence.end();
    const unclear = lost("unclear", report.resultText);
    ended.resolve(end === "known" ? { end: "completed", ticket } : { ...unclear, ticket });
    return true;
  }

  /** Stores a result of an earlier payment; returns whether it is on disk now. */
  #late(result: OneWayResult, { report, end }: ResultReading): boolean {
    const isStored = this.#take?.(result) ?? false;
    if (isStored && end === "known" && this.#isOfNewest(report) && !this.#paying) {
      this.#silence.end();
      this.#silence.hear();
    }
    return isStored;
  }

  #isOfNewest({ reference, amountMinor }: TransactionReport): boolean {
    if (reference != null) return reference === this.#newest?.reference;
    return amountMinor === null || amountMinor === (this.#newest?.amountMinor ?? amountMinor);
  }

  #malformed(text: string): void {
    const paying = this.#paying;
    const isNews = paying !== undefined && paying.fault !== text;
    if (isNews) paying.fault = text;
    if (this.#isTooNoisy()) return;
    this.#options.log.warn({}, `the terminal sent a message that is no valid result: ${text}`);
    this.#emit({ type: "protocol", text });
    if (!isNews || !paying.isSent) return;
    try {
      // The journal gets an empty report, as evidence that the terminal sent something.
      paying.observer.report({ ...emptyReport, resultText: text });
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#options.log.warn({ err: error }, "could not store a malformed message of the terminal");
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

  /** Emits the new status. Throws {@link TerminalUnavailable} when the terminal did not answer. */
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

/** Returns the outcome of a payment that the terminal may have charged, without a clear result. */
function lost(code: string, text: string): Extract<PaymentEnd, { end: "lost" }> {
  return { end: "lost", code, text, ticket: "" };
}

function noiseLimit(clock: Clock): () => boolean {
  let [sinceMs, count] = [0, 0];
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - sinceMs > NOISE_SPAN_MS) [sinceMs, count] = [nowMs, 0];
    count += 1;
    return count > NOISE_MAX;
  };
}
