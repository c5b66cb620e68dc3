import type { DatabaseSync } from "node:sqlite";
import type { Chore } from "../../shared/daily.ts";
import { transaction } from "../../shared/sqlite.ts";
import { type Clock, sleep } from "../../shared/time.ts";

const DAY_MS = 24 * 3_600_000;
/**
 * The page of a sent order can be paid: the address is of use only while somebody may ask for it.
 */
export const PAYMENT_PAGE_DAYS = 7;
/** Rows of one commit: a try that ends meanwhile waits for a few milliseconds. */
const BATCH = 200;
const BETWEEN_BATCHES_MS = 20;

/**
 * The members that a settled transaction keeps for ever: its ids, amount, currency, how and when it
 * was approved, and its state; that it was sent must be known as long as the order id is. The
 * members that describe people, goods and card go. An item that an operator dropped is kept whole,
 * because it can be requeued.
 */
const trimTransactions = `
  UPDATE transactions SET content = json_set(content, '$.maskedPan', NULL,
    '$.authorisationNumber', NULL, '$.cardName', NULL, '$.receiptNumber', NULL,
    '$.traceNumber', NULL, '$.customerEmail', NULL, '$.customData', json('{}'),
    '$.cart', json('[]'), '$.trimmed', json('true'))
  WHERE transaction_id = ?`;

/** In the words of its index, which begins with whether the page is erased. */
const isErasable = `state IN ('sent', 'closed')
  AND (redirect_url IS NOT NULL OR (trimmed = 0 AND dropped = 0))`;

/** Erases what is older than its time; returns how many rows changed, at most one batch of each. */
function trimOnce(database: DatabaseSync, nowMs: number, days: number): number {
  return transaction(database, () => {
    const pages = database
      .prepare(
        `UPDATE outbox SET redirect_url = NULL WHERE sequence IN (
           SELECT sequence FROM outbox INDEXED BY outbox_erasable
           WHERE ${isErasable} AND (redirect_url IS NULL) = 0 AND settled_at_ms < ? LIMIT ?)`,
      )
      .run(nowMs - PAYMENT_PAGE_DAYS * DAY_MS, BATCH).changes;
    const documents = database
      .prepare(
        `UPDATE notifications SET raw = '' WHERE id IN (
           SELECT id FROM notifications WHERE raw <> '' AND received_at_ms < ? LIMIT ?)`,
      )
      .run(nowMs - days * DAY_MS, BATCH).changes;
    return Number(pages) + Number(documents) + trimItems(database, nowMs - days * DAY_MS);
  });
}

function trimItems(database: DatabaseSync, beforeMs: number): number {
  const items = database
    .prepare(
      `UPDATE outbox SET trimmed = 1 WHERE sequence IN (
         SELECT sequence FROM outbox INDEXED BY outbox_erasable
         WHERE ${isErasable} AND (redirect_url IS NULL) IN (0, 1) AND settled_at_ms < ?
           AND trimmed = 0 AND dropped = 0 LIMIT ?)
       RETURNING transaction_id`,
    )
    .all(beforeMs, BATCH);
  for (const row of items) {
    const transactionId = String(row["transaction_id"]);
    database.prepare(trimTransactions).run(transactionId);
    // The last try tells how it ended.
    database
      .prepare(
        `DELETE FROM attempts WHERE transaction_id = ?1
           AND number < (SELECT max(number) FROM attempts WHERE transaction_id = ?1)`,
      )
      .run(transactionId);
  }
  return items.length;
}

/** Erases, once a day, what is kept no longer than {@link PAYMENT_PAGE_DAYS} or JOURNAL_DAYS. */
export function retentionChore(database: DatabaseSync, days: number, clock: Clock): Chore {
  return {
    name: "retention of the outbox",
    async run() {
      // Erased bytes are overwritten, in this database; copies of it go with their own time.
      database.exec("PRAGMA secure_delete = ON");
      while (trimOnce(database, clock.now(), days) > 0) {
        await sleep(clock, "retention of the outbox", BETWEEN_BATCHES_MS);
      }
    },
  };
}
