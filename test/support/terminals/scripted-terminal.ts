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
  type TerminalEvent,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
  type TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline, identity, report, timeOfDay } from "./reports.ts";

/** `paid`: payments before this one. */
export type PayScript = (
  order: PaymentOrder,
  observer: PaymentObserver,
  paid?: number,
) => Promise<PaymentEnd>;

/** The report of the payment after `paid` others: no terminal gives two sales one name. */
export function saleReport(paid: number, change: Partial<TransactionReport> = {}) {
  const first = report();
  const digits = (value: string | null, width: number): string =>
    String(Number(value) + paid).padStart(width, "0");
  return report({
    receiptNumber: digits(first.receiptNumber, 4),
    traceNumber: digits(first.traceNumber, 6),
    localTime: timeOfDay(paid),
    ...change,
  });
}

/** Approves what was asked, as a terminal without faults does. */
export const approves: PayScript = (order, observer, paid = 0) => {
  const answer = observer.report(saleReport(paid, { amountMinor: order.amountMinor }));
  if (answer !== "accept") return Promise.resolve(lost("the report was refused"));
  observer.ackArrived();
  return Promise.resolve({ end: "completed", ticket: "line 1|line 2" });
};

/** Reverses what was asked. */
export const reverses = (order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd> => {
  observer.report(reversalReport(order));
  observer.ackArrived();
  return Promise.resolve({ end: "completed", ticket: "reversal" });
};

/** Traces of reversals lie beyond those of sales. */
const REVERSALS = 5_000;

/** It names the trace of the sale that {@link saleReport} gave this receipt number. */
export function reversalReport({ amountMinor, receiptNumber }: ReversalOrder): TransactionReport {
  const first = report();
  const sold = Number(receiptNumber) - Number(first.receiptNumber);
  const traceOf = (others: number): string =>
    String(Number(first.traceNumber) + others).padStart(6, "0");
  return report({
    amountMinor,
    traceNumber: traceOf(sold + REVERSALS),
    originalTrace: traceOf(sold),
  });
}

export const lost = (text: string): PaymentEnd => ({ end: "lost", code: "", text, ticket: "" });

/** The terminal has ended the payment by itself. */
export const aborted = {
  end: "aborted",
  code: "6C",
  text: "aborted",
  reason: "cancelled",
  ticket: "",
} as const satisfies PaymentEnd;

const ready: TerminalStatus = { cr: "0", card: "0", call: "0", periph: "0", detail: "ready" };

/** A terminal driver that does what each test says, and counts what it was asked. */
export class ScriptedTerminal implements Terminal {
  readonly capabilities = {
    paymentLimitMs: 180_000,
    lastTransaction: true,
    vending: true,
    partialIssue: true,
  };
  state: TerminalState = {
    link: "connected",
    linkProblem: null,
    identity,
    status: ready,
    busy: false,
    demands: [],
  };

  script: PayScript = approves;
  baseline: Baseline = baseline;
  /** What a command stored is the terminal's last transaction from then on. */
  remembers = false;
  unavailable: TerminalUnavailable | undefined;
  last: LastTransaction = baseline.last;
  cancelAnswer: CancelAnswer = { answer: "taken" };
  onCancel: () => void = () => {};
  paid: PaymentOrder[] = [];
  /** Payments of a former process: their numbers are given. */
  soldBefore = 0;
  /** Of each payment, as a driver that wants to know it asks. */
  inSyncAnswers: Array<boolean | undefined> = [];
  reversal: (order: ReversalOrder, observer: PaymentObserver) => Promise<PaymentEnd> = reverses;
  reversed: ReversalOrder[] = [];
  decisions: GoodsDecision[] = [];
  onDecision: (decision: GoodsDecision) => void = () => {};
  telecollection: TelecollectionEnd = {
    end: "completed",
    applications: [{ name: "Mastercard", status: "0", count: 2, sumMinor: 1998 }],
    ticket: "END OF DAY",
  };
  /** How often the last transaction was asked for outside a payment. */
  probes = 0;
  checks = 0;
  evidenceKept = false;

  start(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  readonly #listeners = new Set<(event: TerminalEvent) => void>();

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A new state, reported as a driver reports it. */
  become(change: Partial<TerminalState>): void {
    this.state = { ...this.state, ...change };
    const { link, linkProblem: problem } = this.state;
    this.emit({ type: "link", link, problem });
  }

  emit(event: TerminalEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  keepEvidence(keep: boolean): void {
    this.evidenceKept = keep;
  }

  decideGoods(decision: GoodsDecision): void {
    this.decisions.push(decision);
    this.onDecision(decision);
  }

  reverse(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    this.reversed.push(order);
    return this.reversal(order, this.#remembering(observer));
  }

  #remembering(observer: PaymentObserver): PaymentObserver {
    if (!this.remembers) return observer;
    return {
      report: (reported) => {
        const answer = observer.report(reported);
        if (answer === "accept" && reported.good) this.stores(reported);
        return answer;
      },
      ackArrived: () => observer.ackArrived(),
      prompt: (prompt) => observer.prompt(prompt),
    };
  }

  /** The terminal's last transaction is this one. */
  stores(reported: TransactionReport): void {
    this.last = { kind: "transaction", report: reported };
    this.baseline = { ...this.baseline, last: this.last };
  }

  reset(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return this.unavailable ? Promise.reject(this.unavailable) : Promise.resolve();
  }

  telecollect(_signal: AbortSignal): Promise<TelecollectionEnd> {
    return Promise.resolve(this.telecollection);
  }

  prepare(signal: AbortSignal): Promise<Baseline> {
    signal.throwIfAborted();
    return this.unavailable ? Promise.reject(this.unavailable) : Promise.resolve(this.baseline);
  }

  pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    this.paid.push(order);
    this.inSyncAnswers.push(order.inSync?.());
    return this.script(order, this.#remembering(observer), this.soldBefore + this.paid.length - 1);
  }

  cancel(): Promise<CancelAnswer> {
    this.onCancel();
    return Promise.resolve(this.cancelAnswer);
  }

  lastTransaction(_signal: AbortSignal): Promise<LastTransaction> {
    this.probes += 1;
    return this.unavailable ? Promise.reject(this.unavailable) : Promise.resolve(this.last);
  }

  check(_signal: AbortSignal): Promise<TerminalStatus> {
    this.checks += 1;
    return this.unavailable ? Promise.reject(this.unavailable) : Promise.resolve(ready);
  }
}

export const disconnected = (): TerminalUnavailable =>
  new TerminalUnavailable("disconnected", "no link to the terminal");
