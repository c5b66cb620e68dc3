import type { NexoMessage, Notice, PaymentResponse } from "../../../nexo/index.ts";
import { BrokenInvariant } from "../../../shared/invariant.ts";
import { sleep, type Timer } from "../../../shared/time.ts";
import {
  type Baseline,
  type CancelAnswer,
  type LastTransaction,
  type LinkState,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type RecallOrder,
  type Recollection,
  type ReversalOrder,
  type Terminal,
  type TerminalCapabilities,
  type TerminalEvent,
  type TerminalIdentity,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal.ts";
import {
  type Reading,
  readAborted,
  readBody,
  readRemembered,
  readRepeated,
  readResponse,
  readStatus,
  statusOf,
} from "./answer-policy.ts";
import { Exchange, type Reply } from "./exchange.ts";
import type { NexoContext } from "./nexo-options.ts";
import { openNotifyPort } from "./notify-port.ts";
import { cautionOf, paymentReport, ticketOf } from "./payment-report.ts";
import { progressOf } from "./progress.ts";
import { abortBody, diagnosisBody, paymentBody, recallBody, reversalBody } from "./requests.ts";

const unknownLast = {
  kind: "not-told",
  why: "its protocol answers by the id of a request only",
} as const;
/** The pause between two questions whether a busy terminal is free again. */
const ASK_AGAIN_MS = 500;
/** After these events the terminal is asked early; what it answers decides. */
const readiness = /^(?:OutOfOrder|BeginMaintenance|EndMaintenance|Shutdown|Initialised)$/;
/** The least pause before an early question: anybody may send an old event again. */
const EARLY_MS = 5_000;

interface Running {
  readonly serviceId: string;
  readonly command: RecallOrder["command"];
  readonly withdrawal: AbortController;
  readonly progress: ReturnType<typeof progressOf>;
  isSent: boolean;
}

/**
 * The driver of a terminal that answers each request on the request's own connection, and can be
 * asked later what it answered, by the id that we had written before (docs/nexo.md 6.1).
 */
export class NexoTerminal implements Terminal {
  readonly #context: NexoContext;
  readonly #exchange: Exchange;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  readonly #closed = new AbortController();
  #running: Running | undefined;
  #problem: string | null = "not connected yet";
  #status: TerminalStatus | null = null;
  #timer: Timer | undefined;
  #polledMs = 0;
  #stopListening: (() => void) | undefined;
  /** The request that runs, for others to wait: the terminal gets one at a time. */
  #wire: Promise<unknown> = Promise.resolve();

  constructor(context: NexoContext) {
    this.#context = context;
    this.#exchange = new Exchange(context);
  }

  get capabilities(): TerminalCapabilities {
    return {
      paymentLimitMs: this.#context.options.paymentLimitMs,
      lastTransaction: false,
      recalls: true,
      cannotRefuse: true,
      vending: false,
      partialIssue: false,
    };
  }

  get #identity(): TerminalIdentity {
    const { poiId, address } = this.#context.options;
    const { serialNumber } = address;
    return { serialNumber, deviceId: poiId, terminalId: "", version: "" };
  }

  get state(): TerminalState {
    return {
      link: this.#link,
      linkProblem: this.#problem,
      identity: this.#identity,
      status: this.#status,
      busy: this.#running !== undefined,
      demands: [],
    };
  }

  get #link(): LinkState {
    return this.#problem === null ? "connected" : "disconnected";
  }

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    this.#stopListening = openNotifyPort(this.#context, (notice) => this.#noticed(notice));
    void this.#poll();
  }

  async close(): Promise<void> {
    this.#closed.abort(new TerminalUnavailable("closed", "the connector stops"));
    this.#timer?.clear();
    this.#stopListening?.();
    this.#exchange.close();
    await this.#wire;
  }

  /** Nothing that the driver sends by itself overwrites what the terminal remembers. */
  keepEvidence(): void {}

  /** Asks the idle terminal again and again whether it answers. */
  async #poll(): Promise<void> {
    this.#timer = undefined;
    this.#polledMs = this.#context.clock.monotonicMs();
    if (!this.#running) await this.#diagnose(this.#closed.signal).catch(ifUnavailable);
    if (this.#closed.signal.aborted) return;
    const { clock, options } = this.#context;
    const pauseMs = this.#problem === null ? options.pollMs : options.reconnectMs;
    this.#timer = clock.startTimer("terminal poll", pauseMs, () => void this.#poll());
  }

  /** Takes what the terminal says by itself: a prompt, or a reason to ask it early. */
  #noticed(notice: Notice): void {
    if (notice.about === "payment") {
      if (this.#running?.command === "payment") this.#running.progress.take(notice);
    } else if (readiness.test(notice.event) && this.#timer) {
      if (this.#context.clock.monotonicMs() - this.#polledMs < EARLY_MS) return;
      this.#timer.clear();
      void this.#poll();
    }
  }

  async prepare(signal: AbortSignal): Promise<Baseline> {
    const { clock, options } = this.#context;
    const untilMs = clock.monotonicMs() + options.busyWaitMs;
    for (;;) {
      const { cr, detail } = await this.check(signal);
      if (cr === "2") throw new TerminalUnavailable("out-of-order", detail);
      if (cr === "0") break;
      if (this.#running || clock.monotonicMs() + ASK_AGAIN_MS > untilMs) {
        throw new TerminalUnavailable("busy", detail);
      }
      await sleep(clock, "busy terminal", ASK_AGAIN_MS, signal);
    }
    const { saleId: registerId } = options;
    return { identity: this.#identity, last: unknownLast, clockOffsetMs: null, registerId };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    if (this.#running) return statusOf("1", "a payment runs");
    return await this.#diagnose(signal);
  }

  lastTransaction(): Promise<LastTransaction> {
    return Promise.resolve(unknownLast);
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const body = paymentBody(order, this.#context.clock.now());
    return await this.#financial("payment", { ...order, observer }, body, (message) => {
      const answer = readBody(message, "PaymentResponse");
      return typeof answer === "string" ? lost(answer) : this.#paid(answer, order, observer);
    });
  }

  async reverse(order: ReversalOrder): Promise<PaymentEnd> {
    const body = reversalBody(order, this.#context.clock.now());
    return await this.#financial("reversal", order, body, (message) => {
      const answer = readBody(message, "ReversalResponse");
      if (typeof answer === "string") return lost(answer);
      const reading = readResponse(answer);
      // The terminal only passes the reversal on; what becomes of it, it does not know. After a
      // failure, too, the bank may have it: then a refund would give the money back twice.
      if (reading.reading === "not-begun") return notBegun(reading, order);
      if (reading.reading === "approved") return { ...lost(RECEIVED), code: "requested" };
      return lost(reading.text);
    });
  }

  /** Sends a financial command once; given the reason why none could be made, sends nothing. */
  async #financial(
    command: Running["command"],
    { reference: serviceId = "", observer }: PaymentOrder & { observer?: PaymentObserver },
    body: object | string,
    read: (message: NexoMessage) => PaymentEnd,
  ): Promise<PaymentEnd> {
    if (typeof body === "string") return { end: "not-sent", code: "request", text: body };
    if (this.#running) return { end: "not-sent", code: "busy", text: "another payment runs" };
    const { log, options } = this.#context;
    const running: Running = {
      serviceId,
      command,
      withdrawal: new AbortController(),
      progress: progressOf(this.#context, serviceId, observer),
      isSent: false,
    };
    this.#running = running;
    try {
      const reply = await this.#onWire(() =>
        this.#exchange.ask({
          category: command === "payment" ? "Payment" : "Reversal",
          body,
          serviceId,
          answerMs: options.paymentLimitMs,
          withdrawal: running.withdrawal.signal,
          onSending: () => {
            running.isSent = true;
          },
        }),
      );
      log.info({ serviceId, reply: reply.reply }, `the terminal's answer to a ${command}`);
      return running.progress.ended(this.#ended(reply, running, read));
    } finally {
      this.#running = undefined;
    }
  }

  #ended(reply: Reply, running: Running, read: (message: NexoMessage) => PaymentEnd): PaymentEnd {
    switch (reply.reply) {
      case "answer":
        return read(reply.message);
      case "refused":
        return { end: "refused", code: "errors", text: reply.problem };
      case "bare":
        return lost("the terminal answered without a message");
      case "unread":
        return lost(reply.problem);
      case "not-sent":
        if (running.withdrawal.signal.aborted) return { end: "withdrawn", text: CANCELLED };
        this.#linkIs(reply.problem);
        return { end: "not-sent", code: "line", text: reply.problem };
    }
  }

  #paid(answer: PaymentResponse, order: PaymentOrder, observer: PaymentObserver): PaymentEnd {
    const named = answer.SaleData?.SaleTransactionID?.TransactionID;
    if (named !== undefined && named !== order.reference) return lost("it names another sale");
    const reading = readResponse(answer);
    if (reading.reading === "not-begun") return notBegun(reading, order);
    const ticket = ticketOf(answer);
    const caution = reading.reading === "approved" ? cautionOf(answer) : undefined;
    if (caution !== undefined) {
      const { reference: serviceId } = order;
      this.#context.log.warn({ serviceId }, `the terminal approved a payment ${caution}`);
    }
    try {
      observer.report(paymentReport(answer, reading));
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      return { ...lost(`the result could not be stored: ${(error as Error).message}`), ticket };
    }
    return { end: "completed", ticket };
  }

  async cancel(): Promise<CancelAnswer> {
    const running = this.#running;
    if (running?.command !== "payment") return { answer: "nothing-running" };
    if (!running.isSent) {
      running.withdrawal.abort(new Error(CANCELLED));
      return { answer: "taken" };
    }
    return await this.abort({ command: "payment", reference: running.serviceId });
  }

  async abort({ reference, registerId }: RecallOrder): Promise<CancelAnswer> {
    const body = abortBody(reference, registerId ?? this.#context.options.saleId);
    const reply = await this.#exchange.ask({ category: "Abort", body });
    switch (reply.reply) {
      case "answer":
        return readAborted(reply.message);
      case "bare":
        return { answer: "taken" };
      case "refused":
        return { answer: "refused", code: "errors", text: reply.problem };
      case "not-sent":
      case "unread":
        return { answer: "no-answer", text: reply.problem };
    }
  }

  async recall(asked: RecallOrder, signal: AbortSignal): Promise<Recollection> {
    if (this.#running) throw new TerminalUnavailable("busy", "a payment runs");
    const saleId = asked.registerId ?? this.#context.options.saleId;
    const category = asked.command === "payment" ? "Payment" : "Reversal";
    const body = recallBody(asked, saleId);
    const message = await this.#answerTo("TransactionStatus", body, signal);
    if (typeof message === "string") return { kind: "not-told", why: message };
    const own = { category, saleId, serviceId: asked.reference } as const;
    const remembered = readRemembered(message, own);
    switch (remembered.remembered) {
      case "running":
      case "not-found":
        return { kind: remembered.remembered };
      case "no-answer":
        throw new TerminalUnavailable(remembered.isBusy ? "busy" : "no-answer", remembered.why);
      case "nothing-clear":
        return { kind: "not-told", why: remembered.why };
      case "answer": {
        const reading = readRepeated(remembered.body, asked);
        const ticket = ticketOf(remembered.body);
        const report = paymentReport(remembered.body, reading);
        return { kind: "answered", report, ...(ticket === "" ? {} : { ticket }) };
      }
    }
  }

  async #diagnose(signal: AbortSignal): Promise<TerminalStatus> {
    const message = await this.#answerTo("Diagnosis", diagnosisBody, signal);
    const body = typeof message === "string" ? message : readBody(message, "DiagnosisResponse");
    const status = typeof body === "string" ? statusOf("2", body) : readStatus(body);
    const isNews = status.cr !== this.#status?.cr || status.detail !== this.#status.detail;
    this.#status = status;
    if (isNews) this.#emit({ type: "status", status });
    return status;
  }

  /**
   * Asks what is no financial command. Returns the problem as a text if the terminal does not know
   * the form of the request. Throws {@link TerminalUnavailable} when no message comes back, or
   * `signal.reason`.
   */
  async #answerTo(category: string, body: object, signal: AbortSignal) {
    const reply = await this.#onWire(() => this.#exchange.ask({ category, body, signal }));
    this.#closed.signal.throwIfAborted();
    signal.throwIfAborted();
    if (reply.reply === "answer") {
      this.#linkIs(null);
      return reply.message;
    }
    if (reply.reply === "bare") {
      throw new TerminalUnavailable("no-answer", "the terminal answered without a message");
    }
    const { problem } = reply;
    if (reply.reply === "refused" && reply.isOfForm && category !== "Diagnosis") return problem;
    this.#linkIs(problem);
    const reason = { refused: "not-registered", "not-sent": "disconnected", unread: "no-answer" };
    throw new TerminalUnavailable(reason[reply.reply] as "no-answer", problem);
  }

  /** Sends one request after the other; only an abort does not wait. */
  #onWire<T>(send: () => Promise<T>): Promise<T> {
    const sent = this.#wire.then(send);
    this.#wire = sent.catch(() => undefined);
    return sent;
  }

  #linkIs(problem: string | null): void {
    const was = this.#link;
    this.#problem = problem;
    if (problem !== null) this.#status = null;
    const link = this.#link;
    if (link !== was) this.#emit({ type: "link", link, problem });
  }

  #emit(event: TerminalEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        const text = `could not handle the terminal's event ${event.type}`;
        this.#context.log.error({ err: error }, text);
      }
    }
  }
}

const CANCELLED = "cancelled before the terminal was asked to charge";
const RECEIVED = "the terminal has received the reversal; what became of it, it does not say";

/** Returns the end of a command that was not begun, unless the terminal is busy with it. */
function notBegun(
  { code, text, isBusy, busyWith }: Extract<Reading, { reading: "not-begun" }>,
  { reference }: PaymentOrder,
): PaymentEnd {
  if (busyWith === reference) return lost(`the terminal carries it out: ${text}`);
  const busy = isBusy ? ({ reason: "busy" } as const) : {};
  return { end: "refused", code, text, ...busy };
}

function lost(text: string): Extract<PaymentEnd, { end: "lost" }> {
  return { end: "lost", code: "no-answer", text, ticket: "" };
}

function ifUnavailable(error: unknown): void {
  if (!(error instanceof TerminalUnavailable)) throw error;
}
