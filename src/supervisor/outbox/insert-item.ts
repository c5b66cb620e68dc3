import type { DatabaseSync } from "node:sqlite";
import { prepared } from "../../shared/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";

const addTransaction = "INSERT INTO transactions VALUES (?, ?, ?, ?)";
const addItem = `
  INSERT INTO outbox
    (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms, claimed_at_ms, tries)
  VALUES (?1, ?2, ?2, ?2, iif(?3, ?2, NULL), ?3)`;

interface Inserted {
  /** Its place in the queue. */
  readonly sequence: number;
  /** JSON of the transaction, as written. */
  readonly content: string;
}

/**
 * A new transaction and its place in the queue. Inside the caller's transaction. `isTaken`: its
 * first try begins now.
 */
export function insertItem(
  database: DatabaseSync,
  given: Transaction,
  nowMs: number,
  isTaken = false,
): Inserted {
  const { transactionId, orderId } = given;
  const content = JSON.stringify(given);
  prepared(database, addTransaction).run(transactionId, orderId, nowMs, content);
  const added = prepared(database, addItem).run(transactionId, nowMs, isTaken ? 1 : 0);
  return { sequence: Number(added.lastInsertRowid), content };
}
