import type { DatabaseSync } from "node:sqlite";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { prepared } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type ItemHistory, noHistory } from "./retry-policy.ts";
import { noUncertainSend, type UncertainSend } from "./uncertain-send-policy.ts";

/** An outbox item that is reserved for one try or lookup until the try or lookup has ended. */
export interface ClaimedItem {
  /** The item's position in the queue, which never changes. */
  readonly sequence: number;
  readonly transactionId: string;
  readonly orderId: string;
  /** The transaction as JSON. */
  readonly content: string;
  /** The transaction as an object, if the commit that stored the item also claimed it. */
  readonly transaction?: Transaction;
  /** The number of this try, from 1. */
  readonly number: number;
  readonly startedAtMs: number;
  readonly history: ItemHistory;
  readonly uncertain: UncertainSend;
  /** Whether the sale was reversed at the terminal, so that it must not be sent. */
  readonly isReversed: boolean;
}

export const itemColumns = `sequence, transaction_id AS transactionId, tries AS number,
  (SELECT order_id FROM transactions AS own
    WHERE own.transaction_id = outbox.transaction_id) AS orderId,
  (SELECT content FROM transactions AS own
    WHERE own.transaction_id = outbox.transaction_id) AS content,
  failures, no_result_since_ms AS noResultSinceMs, no_result_tries AS noResultTries,
  look_next AS nextIsLookup, sent_at_ms AS sentAtMs, resends, orders_possible AS orders,
  absent_since_ms AS absentSinceMs, untold AS unanswered, reversed`;

type Named = Pick<ClaimedItem, "sequence" | "transactionId" | "number" | "orderId" | "content">;
export type ItemRow = Named &
  ItemHistory &
  Omit<UncertainSend, "lookUpNext"> & { nextIsLookup: 0 | 1; reversed: 0 | 1 };

export function itemOf(row: ItemRow, startedAtMs: number): ClaimedItem {
  const { sequence, transactionId, number, orderId, content, ...state } = row;
  invariant(content !== null, `outbox item ${transactionId} has its transaction`);
  const { failures, noResultSinceMs, noResultTries, nextIsLookup, reversed, ...sends } = state;
  const history = { failures, noResultSinceMs, noResultTries };
  const uncertain = { ...sends, lookUpNext: nextIsLookup === 1 };
  const own = { sequence, transactionId, orderId, content, number, startedAtMs };
  return { ...own, history, uncertain, isReversed: reversed === 1 };
}

/** The SET clause for items that a lost database may have sent before `:now`. */
export const maybeSent = `ambiguous = 1, look_next = 1, sent_at_ms = :now,
  orders_possible = max(orders_possible, 1)`;

/**
 * The WHERE condition for items of which the gateway may have more orders than it has named, not
 * settled by an operator. Closed items are left out: their reversal raised an alarm.
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
 * Stores a new transaction with its position in the queue, inside the caller's commit. `mayBeSent`:
 * a lost database may have sent the transaction. `isClaimed`: the first try begins now.
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
  if (mayBeSent) {
    const sql = `UPDATE outbox SET ${maybeSent} WHERE transaction_id = :id`;
    prepared(database, sql).run({ id: transactionId, now: nowMs });
  }
  const sequence = Number(added.lastInsertRowid);
  const first = { number: 1, startedAtMs: nowMs, history: noHistory, uncertain: noUncertainSend };
  const own = { sequence, transactionId, orderId, content, transaction };
  return { ...own, ...first, isReversed: false };
}

/** The state that an outbox item has after a try or a lookup. */
export interface ItemUpdate {
  readonly state: DeliveryState;
  /** When the item is tried next; null: the item keeps its position in the queue. */
  readonly nextTryAtMs: number | null;
  readonly history: ItemHistory;
  readonly uncertain: UncertainSend;
  readonly redirectUrl: string | null;
  readonly reason: string | null;
}

/** The statement that ends a claim. Its parameters are numbered: binding them by name is slow. */
const endedClaim = `
  UPDATE outbox SET claimed_at_ms = NULL, state = ?1, failures = ?2,
    next_try_at_ms = ifnull(?3, next_try_at_ms),
    delayed_at_ms = iif(?3 IS NULL, delayed_at_ms, ?4),
    no_result_since_ms = ?5, no_result_tries = ?6, ambiguous = max(ambiguous, ?7),
    redirect_url = ifnull(?8, redirect_url), reason = ?9,
    settled_at_ms = iif(?1 = 'pending', NULL, ?4), look_next = ?10, sent_at_ms = ?11,
    resends = ?12, orders_possible = ?13, absent_since_ms = ?14, untold = ?15
  WHERE sequence = ?16 AND claimed_at_ms IS NOT NULL`;

const settled = `
  UPDATE outbox SET state = :state, dropped = :dropped, settled_at_ms = :now, reason = :reason
  WHERE transaction_id = :id AND claimed_at_ms IS NULL
    AND (state IN ('pending', 'parked') OR dropped = 1 AND :evenDropped)`;

/** How and why an item ends without a try to send it. */
interface Settlement {
  readonly state: Exclude<DeliveryState, "pending">;
  readonly reason: string;
  readonly dropped?: boolean;
  /** Whether an item that an operator has dropped is settled too. */
  readonly evenDropped?: boolean;
}

/** Settles a waiting item inside the caller's commit; false: a try runs, or the item has ended. */
export function settleItem(
  database: DatabaseSync,
  id: string,
  now: number,
  { state, reason, dropped = false, evenDropped = false }: Settlement,
): boolean {
  const flags = { dropped: dropped ? 1 : 0, evenDropped: evenDropped ? 1 : 0 };
  const values = { id, now, state, reason, ...flags };
  return prepared(database, settled).run(values).changes === 1;
}

/**
 * The statement that marks an item as sent if the gateway has named the item's transaction, because
 * another send would make a second order. {@link endClaim} repeats it for an item whose try ran.
 */
export const namedIsSent = `
  UPDATE outbox SET state = 'sent', settled_at_ms = :now,
    reason = 'the gateway has named its transaction of it'
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state IN ('pending', 'parked')
    AND EXISTS (SELECT 1 FROM gateway_ids WHERE transaction_id = :id)`;

/**
 * The statement that closes a waiting or dropped item whose sale was reversed at the terminal,
 * because a send would book a reversed sale. {@link endClaim} repeats it for an item that was tried
 * or looked up during the reversal.
 */
export const reversedIsClosed = `
  UPDATE outbox SET state = 'closed', dropped = 0, settled_at_ms = :now,
    reason = 'reversed at the terminal' ||
      iif(ambiguous = 0, '', ' after an answer was lost: the gateway may have the order')
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND reversed = 1
    AND (state IN ('pending', 'parked') OR dropped = 1)`;

/** Ends a claim inside the caller's commit. `ambiguous`: the answer of the try was lost. */
export function endClaim(
  database: DatabaseSync,
  { sequence, transactionId }: ClaimedItem,
  { state, nextTryAtMs, history, uncertain, redirectUrl, reason }: ItemUpdate,
  endedAtMs: number,
  ambiguous: boolean,
): void {
  const { failures, noResultSinceMs, noResultTries } = history;
  const { lookUpNext, sentAtMs, resends, orders, absentSinceMs, unanswered } = uncertain;
  const tries = [state, failures, nextTryAtMs, endedAtMs, noResultSinceMs, noResultTries];
  const end = [ambiguous ? 1 : 0, redirectUrl, reason];
  const lookups = [lookUpNext ? 1 : 0, sentAtMs, resends, orders, absentSinceMs, unanswered];
  const values = [...tries, ...end, ...lookups, sequence];
  const { changes } = prepared(database, endedClaim).run(...values);
  invariant(changes === 1, `the item ${transactionId} was still claimed`);
  if (state === "sent") return;
  for (const sql of [namedIsSent, reversedIsClosed]) {
    prepared(database, sql).run({ id: transactionId, now: endedAtMs });
  }
}
