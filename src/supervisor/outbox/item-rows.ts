import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { prepared } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Doubt } from "./doubt-policy.ts";
import type { ItemHistory } from "./retry-policy.ts";

/** The part of an UPDATE of the outbox that stores a doubt, with {@link doubtValues}. */
export const setDoubt = `look_next = :look, sent_at_ms = :sentAt, resends = :resends,
  orders_possible = :orders, absent_since_ms = :absentSince, untold = :untold`;

/** One that another database, lost since, may have sent at some time before `:now`. */
export const maybeSent = `ambiguous = 1, look_next = 1, sent_at_ms = :now,
  orders_possible = max(orders_possible, 1)`;

/** {@link maybeSent} of one item, `:id`. */
export const itemMaybeSent = `UPDATE outbox SET ${maybeSent} WHERE transaction_id = :id`;

export function doubtOf(row: Record<string, SQLOutputValue>): Doubt {
  return {
    look: row["look_next"] === 1,
    sentAtMs: row["sent_at_ms"] as number | null,
    resends: Number(row["resends"]),
    orders: Number(row["orders_possible"]),
    absentSinceMs: row["absent_since_ms"] as number | null,
    untold: Number(row["untold"]),
  };
}

export function doubtValues(doubt: Doubt): Record<string, number | null> {
  const { look, sentAtMs, resends, orders, absentSinceMs, untold } = doubt;
  const [sentAt, absentSince] = [sentAtMs, absentSinceMs];
  return { look: look ? 1 : 0, sentAt, resends, orders, absentSince, untold };
}

/**
 * The gateway may have more of an item's orders than it has named, and no operator has looked.
 * Nothing is known of one that was closed: then another alarm has told.
 */
export const copiesOpen = `orders_possible > 1 AND state <> 'closed'
  AND NOT EXISTS (SELECT 1 FROM copies_settled AS settled
    WHERE settled.transaction_id = outbox.transaction_id)
  AND orders_possible > (SELECT count(*) FROM gateway_ids AS named
    WHERE named.transaction_id = outbox.transaction_id)`;

/** Orders that the gateway may have although nobody knows, for `status`. */
export interface DoubtCounts {
  /** Sends so far whose answer was lost. */
  readonly sends: number;
  /** Items that wait for a lookup, or for a send after one. */
  readonly inDoubt: number;
  /** Orders that the gateway may have more than once. */
  readonly possibleCopies: number;
}

export function doubtCounts(database: DatabaseSync): DoubtCounts {
  const count = (sql: string): number => Number(database.prepare(sql).get()?.["n"]);
  return {
    inDoubt: count(`SELECT items AS n FROM items_in_doubt`),
    possibleCopies: count(`SELECT count(*) AS n FROM outbox WHERE ${copiesOpen}`),
    sends: count(`SELECT sends AS n FROM ambiguous_sends`),
  };
}

/** How many orders of a transaction the gateway may have; 0 when that is known. */
export function possibleOrders(database: DatabaseSync, transactionId: string): number {
  const sql = `SELECT orders_possible FROM outbox WHERE transaction_id = ? AND ${copiesOpen}`;
  return Number(database.prepare(sql).get(transactionId)?.["orders_possible"] ?? 0);
}

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

/** The item's state after a try. */
export interface ItemUpdate {
  readonly state: DeliveryState;
  /** null: keeps its place. */
  readonly nextTryAtMs: number | null;
  readonly history: ItemHistory;
  readonly doubt: Doubt;
  readonly redirectUrl: string | null;
  readonly reason: string | null;
}

/** By place and number: a queue runs this for each item, and names cost as much as the change. */
const endedTry = `
  UPDATE outbox SET claimed_at_ms = NULL, state = ?1, failures = ?2,
    next_try_at_ms = ifnull(?3, next_try_at_ms),
    delayed_at_ms = iif(?3 IS NULL, delayed_at_ms, ?4),
    no_result_since_ms = ?5, no_result_tries = ?6, ambiguous = max(ambiguous, ?7),
    redirect_url = ifnull(?8, redirect_url), reason = ?9,
    settled_at_ms = iif(?1 = 'pending', NULL, ?4), look_next = ?10, sent_at_ms = ?11,
    resends = ?12, orders_possible = ?13, absent_since_ms = ?14, untold = ?15
  WHERE sequence = ?16 AND claimed_at_ms IS NOT NULL`;

/**
 * Ends the claim of the item at that place, with the state that its try has led to; part of a
 * transaction. Returns how many claims have ended.
 */
export function endTry(
  database: DatabaseSync,
  sequence: number,
  { endedAtMs, ambiguous }: { readonly endedAtMs: number; readonly ambiguous: boolean },
  { state, nextTryAtMs, history, doubt, redirectUrl, reason }: ItemUpdate,
): number {
  const { changes } = prepared(database, endedTry).run(
    state,
    history.failures,
    nextTryAtMs,
    endedAtMs,
    history.noResultSinceMs,
    history.noResultTries,
    ambiguous ? 1 : 0,
    redirectUrl,
    reason,
    doubt.look ? 1 : 0,
    doubt.sentAtMs,
    doubt.resends,
    doubt.orders,
    doubt.absentSinceMs,
    doubt.untold,
    sequence,
  );
  return Number(changes);
}
