import type { DatabaseSync } from "node:sqlite";
import type { Transaction } from "../../shared/transaction.ts";

/** A new transaction and its place in the queue. Inside the caller's transaction. */
export function insertItem(database: DatabaseSync, given: Transaction, nowMs: number): void {
  const { transactionId, orderId } = given;
  database
    .prepare("INSERT INTO transactions VALUES (?, ?, ?, ?)")
    .run(transactionId, orderId, nowMs, JSON.stringify(given));
  database
    .prepare(
      `INSERT INTO outbox (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms)
       VALUES (?1, ?2, ?2, ?2)`,
    )
    .run(transactionId, nowMs);
}
