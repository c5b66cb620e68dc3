import type { DatabaseSync } from "node:sqlite";
import type { Chore } from "../../shared/program/daily.ts";
import { prepared, transaction } from "../../shared/store/sqlite.ts";
import { type Clock, DAY_MS, sleep } from "../../shared/time.ts";

/** How many days a payment page's address is kept: anyone who has the address can pay the order. */
const PAYMENT_PAGE_DAYS = 7;
/** How many rows one commit erases; few, because the record of a try may wait for the commit. */
const BATCH = 200;
const BETWEEN_BATCHES_MS = 20;

/**
 * Erases what a settled transaction stores about people, goods and card. Ids, amount, currency,
 * approval and state stay for ever, because an order id stays used up. An item that an operator
 * dropped is kept whole, because it can be requeued.
 */
const trimTransactions = `
  UPDATE transactions SET content = json_set(content, '$.maskedPan', NULL,
    '$.authorisationNumber', NULL, '$.cardName', NULL, '$.receiptNumber', NULL,
    '$.traceNumber', NULL, '$.customerEmail', NULL, '$.customData', json('{}'),
    '$.cart', json('[]'), '$.trimmed', json('true'))
  WHERE transaction_id = ?`;

/** The WHERE condition of items with erasable data, exactly as in the index `outbox_erasable`. */
const isErasable = `state IN ('sent', 'closed')
  AND (redirect_url IS NOT NULL OR (trimmed = 0 AND dropped = 0))`;

const erasePages = `
  UPDATE outbox SET redirect_url = NULL WHERE sequence IN (
    SELECT sequence FROM outbox INDEXED BY outbox_erasable
    WHERE ${isErasable} AND (redirect_url IS NULL) = 0 AND settled_at_ms < ? LIMIT ?)`;

const eraseDocuments = `
  UPDATE notifications SET raw = '' WHERE id IN (
    SELECT id FROM notifications WHERE raw <> '' AND received_at_ms < ? LIMIT ?)`;

const trimItems = `
  UPDATE outbox SET trimmed = 1 WHERE sequence IN (
    SELECT sequence FROM outbox INDEXED BY outbox_erasable
    WHERE ${isErasable} AND (redirect_url IS NULL) IN (0, 1) AND settled_at_ms < ?
      AND trimmed = 0 AND dropped = 0 LIMIT ?)
  RETURNING transaction_id`;

/** Erases all tries of a transaction except the last one, which shows how the delivery ended. */
const eraseTries = `
  DELETE FROM attempts WHERE transaction_id = ?1
    AND number < (SELECT max(number) FROM attempts WHERE transaction_id = ?1)`;

const eraseEnds = "DELETE FROM outbox_ends WHERE transaction_id = ?";

/** Returns the daily chore that erases personal data older than `days` (JOURNAL_DAYS). */
export function retentionChore(database: DatabaseSync, days: number, clock: Clock) {
  const run = (sql: string, ...values: (string | number)[]): number =>
    Number(prepared(database, sql).run(...values).changes);
  const before = (ofDays: number): number => clock.now() - ofDays * DAY_MS;
  const erasers = [
    () => run(erasePages, before(PAYMENT_PAGE_DAYS), BATCH),
    () => run(eraseDocuments, before(days), BATCH),
    () => {
      const trimmed = prepared(database, trimItems).all(before(days), BATCH);
      for (const { transaction_id: id } of trimmed) {
        for (const sql of [trimTransactions, eraseTries, eraseEnds]) run(sql, String(id));
      }
      return trimmed.length;
    },
  ];
  return {
    name: "retention of the outbox",
    async run() {
      // With secure_delete SQLite overwrites erased bytes; newer daily copies replace older ones.
      database.exec("PRAGMA secure_delete = ON");
      for (const erase of erasers) {
        while (transaction(database, erase) > 0) {
          await sleep(clock, "retention of the outbox", BETWEEN_BATCHES_MS);
        }
      }
    },
  } satisfies Chore;
}
