import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Baseline, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import type { Attempt, AttemptEvent, AttemptState, PaymentRequest } from "./payment.ts";

/** A charged transaction on its way to the supervisor. */
export interface HandOffRow {
  readonly transaction: Transaction;
  /** The supervisor has stored it. */
  readonly acknowledged: boolean;
  readonly delivery: DeliveryState;
}

/**
 * What `payments/` needs to remember. Every method that changes something has it on disk when it
 * returns, and throws when it could not be written. Methods are synchronous on purpose: between a
 * decision and its record nothing else can run.
 */
export interface PaymentStore {
  /** The newest attempt of an order, or undefined when the order was never asked for. */
  latestAttempt(orderId: string): Attempt | undefined;
  /** Every attempt of an order, oldest first. */
  attempts(orderId: string): Attempt[];
  attempt(transactionId: string): Attempt | undefined;
  events(transactionId: string): AttemptEvent[];

  /** The write-ahead record: an attempt in phase "sent". */
  begin(attempt: {
    readonly transactionId: string;
    readonly request: PaymentRequest;
    readonly baseline: Baseline;
    readonly startedAtMs: number;
  }): Attempt;
  /** An attempt that ended before anything financial could leave. */
  recordFailure(attempt: {
    readonly transactionId: string;
    readonly request: PaymentRequest;
    readonly state: Extract<AttemptState, { phase: "not-charged" }>;
    readonly startedAtMs: number;
  }): Attempt;
  /**
   * A new state with the event that led to it; `handOff` in the same transaction when the attempt
   * has become charged. `ticket` is kept when given.
   */
  update(
    transactionId: string,
    change: {
      readonly state: AttemptState;
      readonly event: AttemptEvent;
      readonly ticket?: string;
      readonly handOff?: Transaction;
    },
  ): Attempt;
  addEvent(transactionId: string, event: AttemptEvent): void;

  /** Attempts that are sent or in doubt, oldest first. */
  unfinished(): Attempt[];
  /** The order a charged transaction with this very report belongs to, other than `except`. */
  orderOfReport(report: TransactionReport, except: string): string | undefined;

  handOff(transactionId: string): HandOffRow | undefined;
  /** Not yet acknowledged by the supervisor, oldest first, at most `limit`. */
  pendingHandOffs(limit: number): Transaction[];
  acknowledgeHandOff(transactionId: string): void;
  setDelivery(transactionId: string, delivery: DeliveryState): void;

  /** An order with a generated id, charged or unknown, whose answer nobody has read. */
  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined;
  markAnswerDelivered(orderId: string): void;

  /** The terminal this installation works with; undefined before the first one. */
  acceptedTerminal(): TerminalIdentity | undefined;
  acceptTerminal(identity: TerminalIdentity, atMs: number): void;
}
