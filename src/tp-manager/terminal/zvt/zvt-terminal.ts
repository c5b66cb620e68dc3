import {
  type Baseline,
  type CancelAnswer,
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
} from "../terminal.ts";
import { ZvtCodecError } from "./codec/index.ts";
import { authorisation } from "./commands/authorisation.ts";
import type { Command } from "./commands/command.ts";
import { RunningPayment } from "./running-payment.ts";
import { codeText, resultText } from "./tables/result-codes.ts";
import { type WaitLimits, ZvtConnection } from "./zvt-connection.ts";
import { checkedZvtOptions, type ZvtDependencies, type ZvtOptions } from "./zvt-options.ts";

/** DESIGN 3.1 rule 3: after this much silence a terminal is asked before a sale. */
const SILENCE_BEFORE_SALE_MS = 10_000;
/** A recovery waits this long for a terminal that is just being reconnected. */
const LINK_WAIT_MS = 30_000;
/** zvt.md 6.1: the register takes payment receipts. */
const PRINTS_PAYMENT_RECEIPTS = 0x02;

/** Makes the driver for a ZVT terminal. Throws when an option is wrong. */
export function createZvtTerminal(
  given: ZvtDependencies & { readonly options?: Partial<ZvtOptions> },
): Terminal {
  return new ZvtTerminal(checkedZvtOptions(given.options ?? {}), given);
}

/** The facade: what tp-manager wants from a terminal, in terms of ZVT commands. */
class ZvtTerminal implements Terminal {
  readonly protocol = "zvt";
  readonly #options: ZvtOptions;
  readonly #deps: ZvtDependencies;
  readonly #connection: ZvtConnection;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #payment: RunningPayment | undefined;
  #paymentLimitMs: number;

  constructor(options: ZvtOptions, dependencies: ZvtDependencies) {
    this.#options = options;
    this.#deps = dependencies;
    this.#paymentLimitMs = options.timers.t4Ms;
    this.#connection = new ZvtConnection(options, dependencies, (event) => this.#emit(event));
  }

  get capabilities(): TerminalCapabilities {
    return {
      paymentLimitMs: this.#paymentLimitMs,
      lastTransaction: true,
      vending: false,
      partialIssue: false,
    };
  }

  get state(): TerminalState {
    const { wireHeld, ...state } = this.#connection.state;
    return { ...state, busy: wireHeld || this.#connection.session?.isFree === false };
  }

  start(): void {
    this.#connection.start();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async prepare(signal: AbortSignal): Promise<Baseline> {
    const limits = this.#briefly(signal);
    await this.#idle(limits);
    const prepared = this.#connection.withWire(limits, async (run) => {
      const heardAtMs = this.#connection.session?.heardAtMs ?? Number.NEGATIVE_INFINITY;
      const silentMs = this.#deps.clock.monotonicMs() - heardAtMs;
      let { status } = this.#connection.state;
      if (silentMs > SILENCE_BEFORE_SALE_MS || status?.cr !== "0") {
        status = await this.#connection.refreshStatus(run);
      }
      if (status.cr === "1") throw new TerminalUnavailable("busy", status.detail);
      if (status.cr !== "0") throw new TerminalUnavailable("out-of-order", status.detail);
      signal.throwIfAborted();
      return await this.#connection.baseline(run);
    });
    return await unlessAborted(prepared, signal);
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const command = this.#authorisation(order);
    if (typeof command === "string") return notSent("invalid", command);
    if (this.#payment) return notSent("busy", "another payment is running");
    const payment = new RunningPayment(this.#options.language, this.#deps, observer);
    this.#payment = payment;
    try {
      const limits = { waitMs: this.#options.timers.t3Ms };
      const end = await this.#connection.withWire(limits, async (run) => {
        payment.onWire = true;
        const { session } = this.#connection;
        const ended = await run(command, payment);
        // zvt.md 7.2: the terminal may have taken itself more time than T4.
        this.#paymentLimitMs = Math.max(this.#options.timers.t4Ms, session?.t4Ms ?? 0);
        return ended;
      });
      return payment.ended(end);
    } catch (error) {
      // Only what happens before the command is on the wire can throw.
      if (error instanceof TerminalUnavailable) return notSent(error.reason, error.message);
      throw error;
    } finally {
      this.#payment = undefined;
      // Read again before the next sale, in the same form as a recovery would read it.
      this.#connection.forgetLast();
    }
  }

  async cancel(): Promise<CancelAnswer> {
    const { session } = this.#connection;
    const payment = this.#payment;
    if (!payment?.onWire || !session) return { answer: "nothing-running" };
    const answer = await session.abort();
    if (answer.answer === "taken") payment.cancelled = true;
    if (answer.answer !== "refused") return answer;
    const text = resultText(answer.code, this.#options.language);
    return { answer: "refused", code: codeText(answer.code), text };
  }

  async lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    const { timers } = this.#options;
    if (this.#payment) throw new TerminalUnavailable("busy", "a payment is running");
    await this.#connection.whenUp({ waitMs: LINK_WAIT_MS, signal });
    const told = this.#connection.withWire({ waitMs: timers.t4Ms, signal }, async (run) => {
      await this.#connection.assertIdle(run);
      signal.throwIfAborted();
      return await this.#connection.refreshLast(run);
    });
    return await unlessAborted(told, signal);
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    const limits = this.#briefly(signal);
    await this.#idle(limits);
    const asked = this.#connection.withWire(limits, (run) => this.#connection.refreshStatus(run));
    return await unlessAborted(asked, signal);
  }

  /** A payment that runs makes the caller turn away; a registration that runs is waited for. */
  async #idle(limits: WaitLimits): Promise<void> {
    if (this.#payment) throw new TerminalUnavailable("busy", "a payment is running");
    const { link } = this.#connection.state;
    await this.#connection.whenUp(link === "disconnected" ? { ...limits, waitMs: 0 } : limits);
  }

  #briefly(signal: AbortSignal): WaitLimits & { readonly signal: AbortSignal } {
    return { waitMs: 2 * this.#options.timers.t3Ms, signal };
  }

  #authorisation(order: PaymentOrder): Command | string {
    const { amountMinor, currencyNumeric } = order;
    if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0) {
      return "the amount must be a whole number of minor units above 0";
    }
    if (!/^\d{3}$/.test(currencyNumeric)) return "the currency must be three digits, like 978";
    try {
      const printerReady = (this.#options.configByte & PRINTS_PAYMENT_RECEIPTS) !== 0;
      return authorisation(order, { printerReady });
    } catch (error) {
      if (error instanceof ZvtCodecError) return error.message;
      throw error;
    }
  }

  #emit(event: TerminalEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        // What a listener does with news must not change what happens on the wire.
        this.#deps.log.error({ err: error }, `a listener failed: ${event.type}`);
      }
    }
  }
}

/** The command on the wire goes to its end all the same; only the caller stops waiting for it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function notSent(code: string, text: string): PaymentEnd {
  return { end: "not-sent", code, text };
}
