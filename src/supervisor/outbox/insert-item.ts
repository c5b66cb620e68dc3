import type { DatabaseSync } from "node:sqlite";
import { prepared } from "../../shared/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";

const addTransaction = "INSERT INTO transactions VALUES (?, ?, ?, ?)";
const addItem = `
  INSERT INTO outbox (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms)
  VALUES (?1, ?2, ?2, ?2)`;

/**
 * A new transaction and its place in the queue. Inside the caller's transaction. Returns the
 * content that was written.
 */
export function insertItem(database: DatabaseSync, given: Transaction, nowMs: number): string {
  const { transactionId, orderId } = given;
  const content = JSON.stringify(given);
  prepared(database, addTransaction).run(transactionId, orderId, nowMs, content);
  prepared(database, addItem).run(transactionId, nowMs);
  return content;
}
