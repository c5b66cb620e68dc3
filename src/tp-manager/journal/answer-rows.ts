import { mayBeSold, phaseIn } from "./attempt-columns.ts";
import { rows } from "./database/statements.ts";

/** Charges that the kiosk does not know of. */
interface UnreadCharges {
  readonly count: number;
  /** Since when the oldest of them waits, epoch milliseconds. */
  readonly sinceMs: number;
  /** The oldest of them. */
  readonly orderIds: readonly string[];
}

/** An alarm names so many orders at most, and counts all. */
const NAMED_MAX = 5;

const isChargedNow = phaseIn(({ charged }) => charged === "yes");
/** The order is charged now, and the kiosk does not know it. */
export const isUnread = `unread_since_ms IS NOT NULL AND ${isChargedNow}`;

const texts = {
  undeliveredGenerated: `SELECT order_id FROM attempt WHERE generated_id = 1
      AND answer_delivered = 0 AND ${mayBeSold} AND amount_minor = ? AND currency = ?
    LIMIT 1`,
  markAnswerDelivered:
    "UPDATE attempt SET answer_delivered = 1 WHERE order_id = ? AND answer_delivered = 0",
  markChargeUnread: `UPDATE attempt SET unread_since_ms = ? WHERE order_id = ?
      AND unread_since_ms IS NULL AND ${isChargedNow}`,
  isChargeUnread: `SELECT 1 FROM attempt
    WHERE order_id = ? AND unread_since_ms IS NOT NULL LIMIT 1`,
  markChargeRead: `UPDATE attempt SET unread_since_ms = NULL
    WHERE order_id = ? AND unread_since_ms IS NOT NULL`,
  countUnread: `SELECT count(*) AS n, min(unread_since_ms) AS since FROM attempt
    WHERE ${isUnread}`,
  unread: `SELECT order_id FROM attempt WHERE ${isUnread} ORDER BY unread_since_ms LIMIT ?`,
};

/** The kiosk's knowledge of answers, in columns of the attempts. */
export class AnswerRows extends rows("answers", texts) {
  /** An order with a generated id, charged or unknown, whose answer the kiosk has not read. */
  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined {
    const row = this.sql.undeliveredGenerated.get(amountMinor, currencyAlpha);
    return row && String(row["order_id"]);
  }

  markAnswerDelivered(orderId: string): void {
    this.sql.markAnswerDelivered.run(orderId);
  }

  /** Notes that no answer with the charge has arrived (docs/rules/11-unread.md). */
  markChargeUnread(orderId: string, atMs: number): void {
    this.sql.markChargeUnread.run(atMs, orderId);
  }

  /** Notes that an answer with the charge has arrived whole. */
  markChargeRead(orderId: string): void {
    // Nearly always there is nothing to change, and a change begins with the lock of writers.
    if (this.sql.isChargeUnread.get(orderId)) this.sql.markChargeRead.run(orderId);
  }

  /** The charges that the kiosk does not know; null: it knows every charge. */
  unreadCharges(): UnreadCharges | null {
    const row = this.sql.countUnread.get();
    const count = Number(row?.["n"]);
    if (count === 0) return null;
    const orderIds = this.sql.unread.all(NAMED_MAX).map((one) => String(one["order_id"]));
    return { count, sinceMs: Number(row?.["since"]), orderIds };
  }
}
