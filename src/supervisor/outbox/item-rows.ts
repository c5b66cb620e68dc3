import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { prepared } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type ItemHistory, noHistory } from "./retry-policy.ts";
import { noUncertainSend, type UncertainSend } from "./uncertain-send-policy.ts";

/** An item claimed for one try or one lookup; nothing else claims it before that has ended. */
export interface ClaimedItem {
  /** Its position in the queue, which it keeps. */
  readonly sequence: number;
  readonly transactionId: string;
  readonly orderId: string;
  /** JSON of the transaction. */
  readonly content: string;
  /** The transaction as it was given, of an item that was stored with its claim. */
  readonly transaction?: Transaction;
  /** Number of this try, from 1. */
  readonly number: number;
  readonly startedAtMs: number;
  readonly history: ItemHistory;
  readonly uncertain: UncertainSend;
}

/** The columns that {@link itemOf} reads, of a row of the outbox. */
export const itemColumns = `sequence, transaction_id, tries, failures, no_result_since_ms,
  no_result_tries, look_next, sent_at_ms, resends, orders_possible, absent_since_ms, untold,
  (SELECT order_id FROM transactions AS own
    WHERE own.transaction_id = outbox.transaction_id) AS order_id,
  (SELECT content FROM transactions AS own
    WHERE own.transaction_id = outbox.transaction_id) AS content`;

export function itemOf(row: Record<string, SQLOutputValue>, startedAtMs: number): ClaimedItem {
  const transactionId = String(row["transaction_id"]);
  invariant(row["content"] !== null, `outbox item ${transactionId} has its transaction`);
  return {
    sequence: Number(row["sequence"]),
    transactionId,
    orderId: String(row["order_id"]),
    content: String(row["content"]),
    number: Number(row["tries"]),
    startedAtMs,
    history: {
      failures: Number(row["failures"]),
      noResultSinceMs: row["no_result_since_ms"] as number | null,
      noResultTries: Number(row["no_result_tries"]),
    },
    uncertain: {
      lookUpNext: row["look_next"] === 1,
      sentAtMs: row["sent_at_ms"] as number | null,
      resends: Number(row["resends"]),
      orders: Number(row["orders_possible"]),
      absentSinceMs: row["absent_since_ms"] as number | null,
      unanswered: Number(row["untold"]),
    },
  };
}

/** The part of an UPDATE for items that a lost database may have sent before `:now`. */
export const maybeSent = `ambiguous = 1, look_next = 1, sent_at_ms = :now,
  orders_possible = max(orders_possible, 1)`;

/** {@link maybeSent} of one item, `:id`. */
export const itemMaybeSent = `UPDATE outbox SET ${maybeSent} WHERE transaction_id = :id`;

/**
 * The condition for items of which the gateway may have more orders than it has named, and that no
 * operator has settled. A closed item is left out: the alarm of its reversal speaks of it.
 */
export const copiesOpen = `orders_possible > 1 AND state <> 'closed'
  AND NOT EXISTS (SELECT 1 FROM copies_settled AS settled
    WHERE settled.transaction_id = outbox.transaction_id)
  AND orders_possible > (SELECT count(*) FROM gateway_ids AS named
    WHERE named.transaction_id = outbox.transaction_id)`;

const addTransaction = "INSERT INTO transactions VALUES (?, ?, ?, ?)";
const addItem = `
  INSERT INTO outbox
    (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms, claimed_at_ms, tries, after_loss)
  VALUES (?1, ?2, ?2, ?2, iif(?3, ?2, NULL), ?3,
    iif(?4, 0, ifnull((SELECT max(id) FROM store_loss), 0)))`;

/**
 * Stores a new transaction with its position in the queue, inside the caller's commit.
 * `mayBeSent`: a lost database may have had it, and may have sent it. `isClaimed`: its first try
 * begins now.
 */
export function insertItem(
  database: DatabaseSync,
  transaction: Transaction,
  nowMs: number,
  { mayBeSent = false, isClaimed = false } = {},
): ClaimedItem {
  const { transactionId, orderId } = transaction;
  const content = JSON.stringify(transaction);
  prepared(database, addTransaction).run(transactionId, orderId, nowMs, content);
  const how = [isClaimed ? 1 : 0, mayBeSent ? 1 : 0];
  const added = prepared(database, addItem).run(transactionId, nowMs, ...how);
  if (mayBeSent) prepared(database, itemMaybeSent).run({ id: transactionId, now: nowMs });
  const sequence = Number(added.lastInsertRowid);
  const first = { number: 1, startedAtMs: nowMs, history: noHistory, uncertain: noUncertainSend };
  return { sequence, transactionId, orderId, content, transaction, ...first };
}

/** The item's state after a try or a lookup. */
export interface ItemUpdate {
  readonly state: DeliveryState;
  /** null: keeps its position. */
  readonly nextTryAtMs: number | null;
  readonly history: ItemHistory;
  readonly uncertain: UncertainSend;
  readonly redirectUrl: string | null;
  readonly reason: string | null;
}

/** By number: a queue runs this for each item, and names cost as much as the change. */
const endedClaim = `
  UPDATE outbox SET claimed_at_ms = NULL, state = ?1, failures = ?2,
    next_try_at_ms = ifnull(?3, next_try_at_ms),
    delayed_at_ms = iif(?3 IS NULL, delayed_at_ms, ?4),
    no_result_since_ms = ?5, no_result_tries = ?6, ambiguous = max(ambiguous, ?7),
    redirect_url = ifnull(?8, redirect_url), reason = ?9,
    settled_at_ms = iif(?1 = 'pending', NULL, ?4), look_next = ?10, sent_at_ms = ?11,
    resends = ?12, orders_possible = ?13, absent_since_ms = ?14, untold = ?15
  WHERE sequence = ?16 AND claimed_at_ms IS NOT NULL`;

/**
 * An item whose transaction the gateway has named counts as sent: sending the item again would make
 * a second order. A try that runs is left to end, and its end runs this statement too.
 */
export const namedIsSent = `
  UPDATE outbox SET state = 'sent', settled_at_ms = :now,
    reason = 'the gateway has named its transaction of it'
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state IN ('pending', 'parked')
    AND EXISTS (SELECT 1 FROM gateway_ids WHERE transaction_id = :id)`;

/**
 * Ends the claim of an item with the state that its try or lookup has led to, inside the caller's
 * commit. `ambiguous`: a try whose answer was lost.
 */
export function endClaim(
  database: DatabaseSync,
  { sequence, transactionId }: ClaimedItem,
  { state, nextTryAtMs, history, uncertain, redirectUrl, reason }: ItemUpdate,
  endedAtMs: number,
  ambiguous: boolean,
): void {
  const { changes } = prepared(database, endedClaim).run(
    state,
    history.failures,
    nextTryAtMs,
    endedAtMs,
    history.noResultSinceMs,
    history.noResultTries,
    ambiguous ? 1 : 0,
    redirectUrl,
    reason,
    uncertain.lookUpNext ? 1 : 0,
    uncertain.sentAtMs,
    uncertain.resends,
    uncertain.orders,
    uncertain.absentSinceMs,
    uncertain.unanswered,
    sequence,
  );
  invariant(changes === 1, `the item ${transactionId} was still claimed`);
  if (state === "sent") return;
  prepared(database, namedIsSent).run({ id: transactionId, now: endedAtMs });
}
