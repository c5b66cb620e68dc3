import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type {
  Baseline,
  TelecollectionEnd,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import type {
  Attempt,
  AttemptEvent,
  AttemptPhase,
  AttemptState,
  OpenReturn,
  PaymentRequest,
} from "./payment.ts";
import type { StrayFinding } from "./stray-policy.ts";

/** A charged transaction on its way to the supervisor. */
export interface HandOffRow {
  readonly transaction: Transaction;
  /** The supervisor has stored it. */
  readonly acknowledged: boolean;
  readonly delivery: DeliveryState;
}

/** What the supervisor has yet to learn: a charged transaction, or that it was reversed. */
export interface PendingHandOff {
  readonly what: "charged" | "reversed";
  readonly transaction: Transaction;
}

export interface ListPage {
  readonly sinceMs: number;
  readonly status: ListStatus | null;
  readonly limit: number;
  /** The {@link ListedAttempt.position} of the last one seen. */
  readonly before: number | null;
}

export const listStatuses = [
  "Success",
  "Approved",
  "Declined",
  "Cancelled",
  "Failed",
  "Reversed",
  "Unknown",
] as const;
export type ListStatus = (typeof listStatuses)[number];

export interface ListedAttempt {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  readonly position: number;
}

/** An end of day as it was asked for and as it ended; null while its end is not known. */
export interface TelecollectionRow {
  readonly id: number;
  readonly startedAtMs: number;
  readonly result: TelecollectionEnd | null;
}

/** A result that the terminal reported although nothing ran, masked. */
export interface StrayRow {
  /** null: the journal did not take it. */
  readonly id: number | null;
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly report: TransactionReport;
  /** The terminal that reported it. */
  readonly identity: TerminalIdentity;
}

export interface SettledStray extends StrayRow {
  /** "open": it is being asked about. "not-good": the terminal itself says that it failed. */
  readonly finding: StrayFinding | "open" | "not-good";
  readonly because: string;
  readonly endedAtMs: number | null;
}

/** Who wanted an end of day: somebody by `/tlc`, or the terminal itself. */
export type TelecollectionAsker = "operator" | "terminal";

/** What the gateway's notifications say about the money of one of our transactions. */
export interface NotedReturn {
  readonly transactionId: string;
  /** In all, by whomever it was asked for; 0: something, but nothing for certain. */
  readonly returnedMinor: number;
}

/**
 * What has to be remembered about attempts. Every method that changes something has it on disk
 * when it returns, and throws when it could not be written. Methods are synchronous on purpose:
 * between a decision and its record nothing else can run.
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
   * A new state with the event that led to it; in the same transaction `handOff` when the attempt
   * has become charged, or its withdrawal when it was reversed. `ticket` is kept when given.
   */
  update(
    transactionId: string,
    change: {
      /** What it must be now; anything else is a fault of this program. */
      readonly from: AttemptPhase;
      readonly state: AttemptState;
      readonly event: AttemptEvent;
      readonly ticket?: string;
      readonly handOff?: Transaction;
      readonly withdraw?: boolean;
    },
  ): Attempt;
  /** Attempts, newest first; `before` continues behind an earlier page. */
  list(page: ListPage): ListedAttempt[];
  /** What stays of the orders in the archive; it has positions of its own. */
  listArchived(page: ListPage): ListedAttempt[];
  addEvent(transactionId: string, event: AttemptEvent): void;

  /**
   * Reserves a return at the gateway: only for a charged attempt without another return under way,
   * and never of more than is left. false: it is not reserved. An attempt with one, or of which a
   * part was returned, can no longer become "reversing".
   */
  reserveReturn(transactionId: string, open: OpenReturn, chargedMinor: number): boolean;
  /**
   * The gateway's word about a reserved return: how much of the order has gone back in all, or null
   * when nothing happened.
   */
  endReturn(
    transactionId: string,
    open: OpenReturn,
    returnedMinor: number | null,
    event: AttemptEvent,
  ): void;
  /** Attempts with a reserved return whose end is not known, oldest first. */
  openReturns(): Attempt[];
  /** How far the gateway's notifications of returned money are known here; 0: none. */
  returnsSeen(): number;
  /** What was notified, up to `seen`. The same again changes nothing; sums never shrink. */
  noteReturns(returns: readonly NotedReturn[], seen: number, atMs: number): void;

  /** Attempts that a process cannot leave behind unasked, in the order they were begun. */
  unfinished(): Attempt[];
  /** The order a charged transaction with this very report belongs to, other than `except`. */
  orderOfReport(report: TransactionReport, except: string): string | undefined;

  /** What the terminal looked like before the next attempt that was begun after this one. */
  nextBaseline(transactionId: string): Baseline | undefined;

  handOff(transactionId: string): HandOffRow | undefined;
  /** What the gateway has of an order that is in the archive; null when it is not there. */
  archivedDelivery(transactionId: string): DeliveryState | null;
  /** Not yet acknowledged by the supervisor, oldest first, at most `limit`. */
  pendingHandOffs(limit: number): PendingHandOff[];
  acknowledgeHandOff(transactionId: string): void;
  acknowledgeWithdrawal(transactionId: string): void;
  setDelivery(transactionId: string, delivery: DeliveryState, atMs: number): void;
  /** Handed over, but not at the gateway as far as is known; pending first, newest first. */
  undelivered(limit: number): string[];

  /** An order with a generated id, charged or unknown, whose answer nobody has read. */
  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined;
  markAnswerDelivered(orderId: string): void;

  /** Before the command leaves. */
  beginTelecollection(atMs: number, askedBy: TelecollectionAsker): number;
  endTelecollection(id: number, atMs: number, result: TelecollectionEnd): void;
  /** When ends of day were begun that the terminal demanded, oldest first, epoch milliseconds. */
  demandedTelecollections(sinceMs: number): number[];
  /**
   * The newest end of day that may have been carried out since the attempt was begun; at or after
   * `atMs` when the journal does not know the order of the two.
   */
  telecollectionSince(atMs: number, transactionId?: string): TelecollectionRow | undefined;

  /**
   * A result that no order asked for, before anything is made of it. undefined: the newest one is
   * the same and is still asked about, or was found in the terminal.
   */
  keepStray(seen: Omit<StrayRow, "id">): number | undefined;
  /** Not yet asked about, oldest first. */
  openStrays(): StrayRow[];
  /** Something may have been sold after it was reported. */
  soldSinceStray(id: number): boolean;
  /** An end of day may have run after it was reported, one that had been begun before included. */
  closedSinceStray(id: number): boolean;
  endStray(id: number, atMs: number, finding: StrayFinding, because: string): void;
  /** Newest first. */
  strays(limit: number): SettledStray[];

  /** The terminal this installation works with; undefined before the first one. */
  acceptedTerminal(): TerminalIdentity | undefined;
  acceptTerminal(identity: TerminalIdentity, atMs: number): void;
}
