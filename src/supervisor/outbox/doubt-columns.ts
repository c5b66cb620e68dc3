import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Doubt } from "./doubt-policy.ts";

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
