import type { DeliveryState, HandedAgain } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";

/** A charged transaction on its way to the supervisor. */
export interface HandOffRow {
  readonly transaction: Transaction;
  /** The supervisor has stored it. */
  readonly acknowledged: boolean;
  /** The supervisor has refused it, and nobody waits for the next try. */
  readonly isSetAside: boolean;
  /** An operator has given the hand-over up: the supervisor never had it. */
  readonly dropped: boolean;
  readonly delivery: DeliveryState;
}

/** News for the supervisor: a transaction was charged, or a charged transaction was reversed. */
export interface PendingHandOff {
  readonly what: "charged" | "reversed";
  readonly transaction: Transaction;
}

/** A row begins in the commit that makes its attempt charged. */
export interface HandOffStore {
  handOff(transactionId: string): HandOffRow | undefined;
  /** The delivery state of an order in the archive; null when the order is not there. */
  archivedDelivery(transactionId: string): DeliveryState | null;
  /**
   * Not yet acknowledged by the supervisor, oldest first, at most `limit`; without those put aside
   * after `setAsideMs` and up to now, because a wall clock may have been set back since.
   */
  pendingHandOffs(limit: number, setAsideMs: number, nowMs: number): PendingHandOff[];
  /** For the status line. */
  countPendingHandOffs(): number;
  /** Of these, how many the supervisor refuses. */
  countSetAside(): number;
  /** Ended since without a sale while the gateway has them, and seen by nobody; oldest first. */
  standingAtGateway(sinceMs: number, limit: number): string[];
  /** The supervisor refuses this one, so the others go first. true: for the first time. */
  setAside(transactionId: string, why: string, atMs: number): boolean;
  /**
   * The supervisor has it, and the gateway so far as told. Written with the journal's next commit,
   * within a second (docs/design.md 1.3): the supervisor can say so again.
   */
  acknowledgeHandOff(transactionId: string, delivery: DeliveryState, atMs: number): void;
  /** As far as the journal knows not yet acknowledged and not put aside; the oldest first. */
  oldestUnacknowledged(limit: number): string[];
  acknowledgeWithdrawal(transactionId: string): void;
  setDelivery(transactionId: string, delivery: DeliveryState, atMs: number): void;
  /** Handed over, but not at the gateway as far as is known; pending first, newest first. */
  undelivered(limit: number): string[];
}

/** One that the supervisor refuses while it takes others. */
export interface RefusedHandOff {
  /** Grows with each hand-over. */
  readonly place: number;
  readonly transaction: Transaction;
  readonly why: string;
  readonly refusedAtMs: number;
}

/** An operator's word about hand-overs that the supervisor refuses. */
export interface RefusedStore {
  /** Behind the place `after`, oldest first. */
  list(after: number, limit: number): RefusedHandOff[];
  /**
   * Never handed over. "reversal": the supervisor may have the sale, and was not told that it does
   * not stand. undefined: none is refused under this id.
   */
  drop(transactionId: string, note: string, atMs: number): "closed" | "reversal" | undefined;
  /** Due at once; one that was dropped too. false: none is refused under this id. */
  requeue(transactionId: string, atMs: number): boolean;
}

/** A page of everything that was ever handed over, and the place behind it. */
export interface AgainPage {
  readonly items: readonly HandedAgain[];
  readonly archivedAfter: number;
  readonly handOffAfter: number;
  /** Nothing comes behind it. */
  readonly last: boolean;
}

/** Handing over again after the supervisor's database was lost (docs/rules/17-loss.md). */
export interface AgainStore {
  /** Begins, or begins anew. */
  begin(): void;
  readonly isUnderWay: boolean;
  /** The next page; undefined when nothing is under way. */
  page(limit: number): AgainPage | undefined;
  /** The supervisor has the page. */
  taken(page: AgainPage): void;
}
