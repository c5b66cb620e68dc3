import type { DatabaseSync } from "node:sqlite";
import { prepared } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { itemMaybeSent } from "./doubt-columns.ts";

const addTransaction = "INSERT INTO transactions VALUES (?, ?, ?, ?)";
const addItem = `
  INSERT INTO outbox
    (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms, claimed_at_ms, tries, after_loss)
  VALUES (?1, ?2, ?2, ?2, iif(?3, ?2, NULL), ?3,
    iif(?4, 0, ifnull((SELECT max(id) FROM store_loss), 0)))`;

export interface AddedHow {
  /** Another database may have had it, and may have sent it. */
  readonly isDoubtful?: boolean;
  /** Its first try begins now. */
  readonly isTaken?: boolean;
}

interface Inserted {
  /** Its place in the queue. */
  readonly sequence: number;
  /** JSON of the transaction, as written. */
  readonly content: string;
}

/** A new transaction and its place in the queue. Inside the caller's transaction. */
export function insertItem(
  database: DatabaseSync,
  given: Transaction,
  nowMs: number,
  { isDoubtful = false, isTaken = false }: AddedHow = {},
): Inserted {
  const { transactionId, orderId } = given;
  const content = JSON.stringify(given);
  prepared(database, addTransaction).run(transactionId, orderId, nowMs, content);
  const how = [isTaken ? 1 : 0, isDoubtful ? 1 : 0];
  const added = prepared(database, addItem).run(transactionId, nowMs, ...how);
  if (isDoubtful) prepared(database, itemMaybeSent).run({ id: transactionId, now: nowMs });
  return { sequence: Number(added.lastInsertRowid), content };
}
