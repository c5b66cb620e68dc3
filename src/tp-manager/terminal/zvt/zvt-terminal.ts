import { BrokenInvariant } from "../../../shared/invariant.ts";
import { sleep, unlessAborted } from "../../../shared/time.ts";
import { type Message, ZvtCodecError } from "../../../zvt/index.ts";
import { coded, codeOf, NOT_REGISTERED, resultText } from "../../../zvt/tables/result-codes.ts";
import {
  type Baseline,
  type CancelAnswer,
  type GoodsDecision,
  type LastTransaction,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type ReversalOrder,
  type TelecollectionEnd,
  type Terminal,
  type TerminalCapabilities,
  type TerminalEvent,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal.ts";
import {
  answerSeconds,
  authorisation,
  type Command,
  namingLastReceipt,
  reversal,
} from "./commands/commands.ts";
import { PaymentExchange, withdrawn } from "./payment-exchange.ts";
import type { RunCommand, Session } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { telecollection } from "./telecollection.ts";
import { terminalStatus } from "./terminal-statuses.ts";
import { ZvtConnection } from "./zvt-connection.ts";
import { defaultZvtOptions, type ZvtContext, type ZvtOptions } from "./zvt-options.ts";

/** The silence after which a sale begins with a status enquiry (docs/rules/03-repeats.md). */
const SILENCE_BEFORE_SALE_MS = 10_000;
/** How long a probe waits until the terminal is connected again. */
const LINK_WAIT_MS = 30_000;
/** The pause between two enquiries whether a refused command has ended. */
const ASK_AGAIN_MS = 1_000;
/** Bit of the configuration byte: the register prints payment receipts (docs/zvt.md 6.1). */
const PRINTS_PAYMENT_RECEIPTS = 0x02;

/** Carries out the calls of the driver interface with ZVT commands. */
export class ZvtTerminal implements Terminal {
  readonly #zvt: ZvtContext;
  readonly #connection: ZvtConnection;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #payment: PaymentExchange | undefined;
  #paymentLimitMs: number;
  #preparedAtMs = Number.NEGATIVE_INFINITY;
  #prepared: { readonly session: Session | undefined; readonly last: LastTransaction } | undefined;
  /** The last {@link check}. `beforeMs`: when the terminal, if ready, had answered before. */
  #checked:
    | { readonly session: Session; readonly atMs: number; readonly beforeMs: number }
    | undefined;
  /** Whether a command was lost, and the terminal not yet probed (docs/rules/05-evidence.md). */
  #evidenceDue = false;
  /** Whether recovery still probes the terminal about a command, also of an earlier process. */
  #evidenceKept = false;
  #refusedUnderLock = false;

  constructor(
    options: Partial<ZvtOptions>,
    services: Pick<ZvtContext, "transport" | "clock" | "log">,
  ) {
    const emit = (event: TerminalEvent): void => this.#emit(event);
    this.#zvt = { ...services, options: { ...defaultZvtOptions, ...options }, emit };
    this.#paymentLimitMs = this.#zvt.options.timers.t4Ms;
    this.#connection = new ZvtConnection(this.#zvt, () => this.#isLeftAlone || this.#isLockedOut);
  }

  get capabilities(): TerminalCapabilities {
    return {
      paymentLimitMs: this.#paymentLimitMs,
      lastTransaction: true,
      vending: this.#connection.asks.vending,
      partialIssue: this.#zvt.options.partialIssue,
      printsCount: this.#zvt.options.printsCount,
    };
  }

  get #isSettled(): boolean {
    return !this.#payment && !this.#evidenceDue && !this.#evidenceKept;
  }

  get #isLeftAlone(): boolean {
    const sinceMs = this.#zvt.clock.monotonicMs() - this.#preparedAtMs;
    return this.#isSettled && sinceMs > SILENCE_BEFORE_SALE_MS;
  }

  /**
   * Whether the terminal, being locked, refused a probe. Maintenance that unlocks the terminal may
   * then run although recovery has no answer yet (docs/rules/15-not-yet.md).
   */
  get #isLockedOut(): boolean {
    return !this.#payment && this.#refusedUnderLock && this.#connection.state.status?.cr === "2";
  }

  get state(): TerminalState {
    return this.#connection.state;
  }

  start(): void {
    this.#connection.start();
  }

  async close(): Promise<void> {
    if (this.#zvt.options.logOffOnClose && this.#isSettled) await this.#connection.logOff();
    await this.#connection.close();
  }

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async prepare(signal: AbortSignal): Promise<Baseline> {
    return await this.#onIdleWire(signal, async (run) => {
      const silentMs = this.#zvt.clock.monotonicMs() - this.#heardAtMs;
      let { status } = this.#connection.state;
      if (silentMs > SILENCE_BEFORE_SALE_MS || status?.cr !== "0") {
        status = await this.#connection.asks.askStatus(run);
      }
      if (status.cr === "1") throw new TerminalUnavailable("busy", status.detail);
      if (status.cr !== "0") throw new TerminalUnavailable("out-of-order", status.detail);
      signal.throwIfAborted();
      this.#preparedAtMs = this.#zvt.clock.monotonicMs();
      const baseline = await this.#connection.asks.baseline(run);
      this.#prepared = { session: this.#connection.session, last: baseline.last };
      return baseline;
    });
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const { configByte, timers } = this.#zvt.options;
    const printerReady = (configByte & PRINTS_PAYMENT_RECEIPTS) !== 0;
    const options = { printerReady, answerSeconds: answerSeconds(timers) };
    const command = commandFor(order, () => authorisation(order, options));
    return await this.#financial(command, observer, order.inSync);
  }

  async reverse(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const command = /^\d{1,4}$/.test(order.receiptNumber)
      ? commandFor(order, () => reversal(order, this.#zvt.options.password))
      : "the receipt number must be one to four digits";
    return await this.#financial(command, observer);
  }

  /** Runs a financial command once; given the reason why none could be made, sends nothing. */
  async #financial(
    command: Command | string,
    observer: PaymentObserver,
    inSync: PaymentOrder["inSync"] = () => false,
  ): Promise<PaymentEnd> {
    if (typeof command === "string") return notSent("invalid", command);
    if (this.#payment) return notSent("busy", "another payment is running");
    const payment = new PaymentExchange(this.#zvt, observer);
    this.#payment = payment;
    try {
      const limits = { waitMs: this.#zvt.options.timers.t3Ms, signal: payment.withdrawal.signal };
      const end = await this.#connection.withWire(limits, async (run) => {
        const { session } = this.#connection;
        const ended = await run(this.#withLastReceipt(command, inSync), payment);
        payment.phase = "over";
        // The terminal may have named a longer limit than our setting T4 (docs/zvt.md 7.2).
        this.#paymentLimitMs = Math.max(this.#zvt.options.timers.t4Ms, session?.t4Ms ?? 0);
        if (ended.end === "completed" && payment.partUnconfirmed) await this.#confirm(payment, run);
        return ended.end === "refused" ? await this.#believed(ended, run) : ended;
      });
      const paymentEnd = payment.ended(end);
      if (paymentEnd.end === "lost") this.#evidenceDue = true;
      return paymentEnd;
    } catch (error) {
      // An error is thrown only before the command is sent, so nothing was charged.
      if (payment.withdrawal.signal.aborted) return withdrawn;
      if (error instanceof TerminalUnavailable) return notSent(error.reason, error.message);
      throw error;
    } finally {
      this.#payment = undefined;
      this.#preparedAtMs = Number.NEGATIVE_INFINITY;
      this.#prepared = undefined;
    }
  }

  /**
   * Returns the refusal if the terminal shows that no payment runs, else "lost". A refusal (84 xx)
   * names no command: it may answer an earlier one, or come after an update (docs/zvt.md 12.6),
   * while the terminal carries out our command.
   */
  async #believed(
    end: Extract<ExchangeEnd, { end: "refused" }>,
    run: RunCommand,
  ): Promise<ExchangeEnd> {
    if (await this.#isOver(end.message, run)) return end;
    return {
      end: "lost",
      problem: "the terminal refused the command, and did not show that it runs none",
    };
  }

  /**
   * Returns whether a refused command has ended; asks a busy terminal again for a while. A terminal
   * carries out one command after the other (docs/zvt.md 5.2): if it answers a later enquiry on
   * the same unbroken link with a status, and sent no 04 0F before, the refused command is over and
   * charged nothing. Never rejects.
   */
  async #isOver(refusal: Message, run: RunCommand): Promise<boolean> {
    const { clock, options } = this.#zvt;
    const untilMs = clock.monotonicMs() + options.refusalCheckMs;
    for (;;) {
      const end = await run(this.#connection.asks.statusEnquiry);
      if (end.end === "lost" || end.end === "not-sent") return false;
      // A completion without status byte ends a payment: the terminal carried out our command.
      if (end.end === "completed" && end.message.parts.terminalStatus === undefined) return false;
      if (showsIdle(refusal, end)) return true;
      if (clock.monotonicMs() + ASK_AGAIN_MS > untilMs) return false;
      await sleep(clock, "zvt refused command", ASK_AGAIN_MS);
    }
  }

  /** Adds the last receipt number, if it was read on this link (docs/rules/13-receipt.md). */
  #withLastReceipt(command: Command, inSync: () => boolean): Command {
    const prepared = this.#prepared;
    if (!this.#zvt.options.sendLastReceipt || !prepared) return command;
    if (prepared.session !== this.#connection.session || !inSync()) return command;
    return namingLastReceipt(command, prepared.last);
  }

  /** Reads the amount charged for a part of the goods; if that fails, recovery reads it later. */
  async #confirm(payment: PaymentExchange, run: RunCommand): Promise<void> {
    try {
      payment.stored(await this.#connection.asks.lastTransaction(run));
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#zvt.log.error({ err: error }, "could not read how much the terminal charged");
    }
  }

  keepEvidence(keep: boolean): void {
    this.#evidenceKept = keep;
    if (keep) this.#connection.beginCautiously();
  }

  decideGoods(decision: GoodsDecision): void {
    const payment = this.#payment;
    if (!payment?.held) throw new Error("no sale on the terminal waits for goods");
    payment.decision = decision;
    // Without a session nothing can be sent, and the payment ends as lost.
    this.#connection.session?.decideGoods(decision);
  }

  async cancel(): Promise<CancelAnswer> {
    const { session } = this.#connection;
    const payment = this.#payment;
    if (!payment || payment.phase === "over") return { answer: "nothing-running" };
    if (payment.phase === "waiting") {
      payment.withdrawal.abort();
      return { answer: "taken" };
    }
    if (!session) return { answer: "no-answer", text: "the link to the terminal was lost" };
    if (session.awaitsGoods) {
      // Nothing may be sent while the terminal waits for the answer to its 04 0F (docs/zvt.md 5.2).
      const text = "the sale waits for the decision about its goods";
      return { answer: "refused", code: "", text };
    }
    const answer = await session.abort();
    if (answer.answer === "taken") payment.cancelled = true;
    if (answer.answer !== "refused") return answer;
    return { answer: "refused", ...coded(answer.code, this.#zvt.options.language) };
  }

  async lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    const { timers } = this.#zvt.options;
    if (this.#payment) throw new TerminalUnavailable("busy", "a payment is running");
    await this.#connection.whenUp({ waitMs: LINK_WAIT_MS, signal });
    const asked = this.#connection.withWire({ waitMs: timers.t4Ms, signal }, async (run) => {
      await this.#connection.asks.assertIdle(run);
      signal.throwIfAborted();
      const last = await this.#connection.asks.lastTransaction(run);
      const { status } = this.#connection.state;
      if (last.kind === "not-told" && last.refused && status && status.cr !== "0") {
        // A locked terminal refuses every question, which proves nothing (docs/zvt.md 5.3).
        this.#refusedUnderLock = true;
        throw new TerminalUnavailable("out-of-order", `${status.detail}; ${last.why}`);
      }
      this.#refusedUnderLock = false;
      this.#evidenceDue = false;
      return last;
    });
    return await unlessAborted(asked, signal);
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    return await this.#onIdleWire(signal, async (run) => {
      const { session, state } = this.#connection;
      const beforeMs = state.status?.cr === "0" ? this.#heardAtMs : Number.NEGATIVE_INFINITY;
      try {
        return await this.#connection.asks.askStatus(run);
      } finally {
        if (session) this.#checked = { session, atMs: session.heardAtMs, beforeMs };
      }
    });
  }

  /** When the terminal last answered, except to {@link check} (docs/rules/03-repeats.md). */
  get #heardAtMs(): number {
    const { session } = this.#connection;
    if (!session) return Number.NEGATIVE_INFINITY;
    const checked = this.#checked?.session === session ? this.#checked : undefined;
    return checked?.atMs === session.heardAtMs ? checked.beforeMs : session.heardAtMs;
  }

  async reset(signal: AbortSignal): Promise<void> {
    const end = await this.#onIdleWire(signal, (run) => this.#connection.restart(run));
    if (end.end === "not-sent") throw new TerminalUnavailable("no-answer", end.problem);
    if (end.end === "refused" || end.end === "aborted") {
      const why = resultText(codeOf(end.message), this.#zvt.options.language);
      throw new TerminalUnavailable("out-of-order", `the terminal refuses to restart: ${why}`);
    }
    try {
      await this.#connection.whenUp({ waitMs: Number.POSITIVE_INFINITY, signal });
    } catch (error) {
      if (error instanceof TerminalUnavailable) throw error;
      throw new TerminalUnavailable("no-answer", "the terminal is not back yet", { cause: error });
    }
  }

  async telecollect(signal: AbortSignal): Promise<TelecollectionEnd> {
    try {
      return await this.#onIdleWire(signal, async (run) => {
        const end = await telecollection(run, this.#zvt);
        if (this.state.demands.includes("end-of-day")) await this.#relearn(run);
        return end;
      });
    } catch (error) {
      if (signal.aborted) return { end: "lost", code: "no-end", text: textOf(signal.reason) };
      if (!(error instanceof TerminalUnavailable)) throw error;
      return { end: "refused", code: error.reason, text: error.message };
    } finally {
      this.#preparedAtMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** Registers again, because only that ends a demand for an end of day (docs/zvt.md 6.1). */
  async #relearn(run: RunCommand): Promise<void> {
    try {
      await this.#connection.asks.relearn(run);
    } catch (error) {
      this.#zvt.log.info({ reason: textOf(error) }, "the terminal is silent after its end of day");
    }
  }

  /** Runs commands once terminal and wire are free. Throws {@link TerminalUnavailable}. */
  async #onIdleWire<T>(signal: AbortSignal, work: (run: RunCommand) => Promise<T>): Promise<T> {
    if (this.#payment) throw new TerminalUnavailable("busy", "a payment is running");
    const limits = { waitMs: 2 * this.#zvt.options.timers.t3Ms, signal };
    const { link } = this.#connection.state;
    await this.#connection.whenUp(link === "disconnected" ? { ...limits, waitMs: 0 } : limits);
    return await unlessAborted(this.#connection.withWire(limits, work), signal);
  }

  #emit(event: TerminalEvent): void {
    // A report that was refused as unmatched may be of the payment that runs.
    const isLate = event.type === "unmatched-report" && this.#payment?.phase !== "waiting";
    if (isLate) this.#payment?.unjudged();
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        // A failing listener must not change the dialogue with the terminal.
        this.#zvt.log.error({ err: error }, `could not handle the terminal's event ${event.type}`);
      }
    }
  }
}

function showsIdle(refusal: Message, end: ExchangeEnd): boolean {
  if (end.end === "completed") return terminalStatus(end.message).cr !== "1";
  // A terminal that lost its registration refuses command and enquiry for that reason.
  const isForgotten = codeOf(refusal) === NOT_REGISTERED;
  return end.end === "refused" && isForgotten && codeOf(end.message) === NOT_REGISTERED;
}

function textOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

function notSent(code: string, text: string): PaymentEnd {
  return { end: "not-sent", code, text };
}

function commandFor(order: PaymentOrder, make: () => Command): Command | string {
  const { amountMinor, currencyNumeric } = order;
  if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0) {
    return "the amount must be a whole number of minor units above 0";
  }
  if (!/^\d{3}$/.test(currencyNumeric)) return "the currency must be three digits, like 978";
  try {
    return make();
  } catch (error) {
    if (error instanceof ZvtCodecError) return error.message;
    throw error;
  }
}
