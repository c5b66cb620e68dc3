import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";

/** A charged transaction on its way to the supervisor. */
export interface HandOffRow {
  readonly transaction: Transaction;
  /** The supervisor has stored it. */
  readonly acknowledged: boolean;
  readonly delivery: DeliveryState;
}

/** News for the supervisor: a transaction was charged, or a charged transaction was reversed. */
export interface PendingHandOff {
  readonly what: "charged" | "reversed";
  readonly transaction: Transaction;
}

/**
 * Charged transactions on their way to the supervisor. A row begins in the commit that makes its
 * attempt charged (`update` of AttemptStore).
 */
export interface HandOffStore {
  handOff(transactionId: string): HandOffRow | undefined;
  /** The delivery state of an order in the archive; null when the order is not there. */
  archivedDelivery(transactionId: string): DeliveryState | null;
  /** Not yet acknowledged by the supervisor, oldest first, at most `limit`. */
  pendingHandOffs(limit: number): PendingHandOff[];
  /** For the status line. */
  countPendingHandOffs(): number;
  acknowledgeHandOff(transactionId: string): void;
  acknowledgeWithdrawal(transactionId: string): void;
  setDelivery(transactionId: string, delivery: DeliveryState, atMs: number): void;
  /** Handed over, but not at the gateway as far as is known; pending first, newest first. */
  undelivered(limit: number): string[];
}
