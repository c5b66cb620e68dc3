import type { Logger } from "../../shared/logger.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { PaymentEnd, Prompt, Terminal, TransactionReport } from "../terminal/terminal.ts";
import type { Attempt, AttemptState } from "./payment.ts";
import { type AttemptInput, advance, judgeReport } from "./payment-machine.ts";
import type { PaymentStore } from "./payment-store.ts";

/**
 * One payment on the terminal, from the write-ahead record to its end: feeds what the terminal says
 * to the payment machine and has every new state on disk before anything goes on.
 */
export class PaymentRun {
  readonly orderId: string;
  readonly amountMinor: number;
  readonly currencyAlpha: string;
  readonly #parts: RunParts;
  readonly #transactionId: string;
  #attempt: Attempt;
  #cancelTimer: Timer | undefined;

  constructor(attempt: Attempt, parts: RunParts) {
    this.#attempt = attempt;
    this.#parts = parts;
    this.#transactionId = attempt.transactionId;
    this.orderId = attempt.request.orderId;
    this.amountMinor = attempt.request.amountMinor;
    this.currencyAlpha = attempt.request.currency.alpha;
  }

  /**
   * Resolves with the attempt as it ended. Rejects only when its end could not be written: then the
   * journal still says "sent" and the next start recovers.
   */
  async finish(): Promise<Attempt> {
    const { terminal, clock, paymentTimeoutMs } = this.#parts;
    const { amountMinor, currency } = this.#attempt.request;
    this.#cancelTimer = clock.startTimer("payment time limit", paymentTimeoutMs, () => {
      this.#log("warn", { paymentTimeoutMs }, "time limit reached, asking the terminal to cancel");
      this.cancel().catch((error: unknown) =>
        this.#log("error", { err: error }, "the cancel at the time limit failed"),
      );
    });
    try {
      const end = await terminal.pay(
        {
          amountMinor,
          currencyNumeric: currency.numeric,
          currencyAlpha: currency.alpha,
          exponent: currency.exponent,
        },
        {
          report: (report) => this.#report(report),
          acknowledged: () => this.#acknowledged(),
          prompt: (prompt) => this.#prompt(prompt),
        },
      );
      return this.#end(end);
    } finally {
      this.#cancelTimer.clear();
    }
  }

  /** Asks the terminal once; what it answers decides nothing about the payment. */
  async cancel(): ReturnType<Terminal["cancel"]> {
    const answer = await this.#parts.terminal.cancel();
    this.#note("cancel", answer);
    return answer;
  }

  #report(report: TransactionReport): "accept" | "refuse" {
    const { amountMinor, currency } = this.#attempt.request;
    const order = { amountMinor, currencyNumeric: currency.numeric };
    const judgement = judgeReport(order, report);
    this.#advance({ input: "report", report, judgement }, "report", { judgement, report });
    if (judgement !== "disagrees") return "accept";
    this.#log(
      "error",
      { alarm: "report-mismatch", amountMinor: report.amountMinor },
      "the terminal approved something else than was asked; refused",
    );
    return "refuse";
  }

  #acknowledged(): void {
    try {
      this.#advance({ input: "acknowledged" }, "acknowledged", {});
    } catch (error) {
      // Only evidence is lost: recovery then asks for two matching reads instead of one.
      this.#log("error", { err: error }, "the journal did not take an acknowledgement");
    }
  }

  #note(kind: string, detail: Readonly<Record<string, unknown>>): void {
    try {
      this.#parts.store.addEvent(this.#transactionId, {
        atMs: this.#parts.clock.now(),
        kind,
        detail,
      });
    } catch (error) {
      this.#log("error", { err: error, kind }, "the journal did not take an event");
    }
  }

  #prompt(prompt: Prompt): void {
    this.#log("info", { prompt: prompt.code }, prompt.text);
  }

  #end(end: PaymentEnd): Attempt {
    const { end: kind, ...detail } = end;
    const ticket = "ticket" in end ? end.ticket : "";
    return this.#advance({ input: "end", end }, `end-${kind}`, detail, ticket);
  }

  #advance(
    input: AttemptInput,
    kind: string,
    detail: Readonly<Record<string, unknown>>,
    ticket?: string,
  ): Attempt {
    const { store, clock } = this.#parts;
    const state = advance(this.#attempt.state, input);
    const atMs = clock.now();
    this.#attempt = store.update(this.#transactionId, {
      state,
      event: { atMs, kind, detail },
      ...(ticket ? { ticket } : {}),
      ...(state.phase === "charged" ? { handOff: transactionOf(this.#attempt, state, atMs) } : {}),
    });
    return this.#attempt;
  }

  #log(level: "info" | "warn" | "error", detail: object, message: string): void {
    const ids = { transactionId: this.#transactionId, orderId: this.orderId };
    this.#parts.log[level]({ ...ids, ...detail }, message);
  }
}

export interface RunParts {
  readonly store: PaymentStore;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly paymentTimeoutMs: number;
}

/** What a charged attempt hands to the supervisor. */
export function transactionOf(
  { transactionId, request }: Attempt,
  { report, by }: Extract<AttemptState, { phase: "charged" }>,
  approvedAtMs: number,
): Transaction {
  return {
    transactionId,
    orderId: request.orderId,
    origin: by,
    amountMinor: request.amountMinor,
    currency: request.currency.alpha,
    exponent: request.currency.exponent,
    approvedAtMs,
    maskedPan: report.maskedPan,
    authorisationNumber: report.authorisationNumber,
    cardName: report.cardName,
    receiptNumber: report.receiptNumber,
    traceNumber: report.traceNumber,
    terminalId: report.terminalId,
    customerEmail: request.customerEmail,
    customData: request.customData,
    cart: [...request.cart],
  };
}
