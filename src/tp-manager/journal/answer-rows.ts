import type { AnswerStore, UnreadCharges } from "../attempts/answer-store.ts";
import { mayBeSold, phaseIn } from "./attempt-columns.ts";
import type { Statement, Statements } from "./statements.ts";

/** Orders that an alarm names; the count says how many there are. */
const NAMED_MAX = 5;

const isChargedNow = phaseIn(({ charged }) => charged === "yes");
/** The kiosk does not know that the order is charged; one that was reversed since is none. */
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

/** The columns of the attempts that say what the kiosk has been told. */
export class AnswerRows implements AnswerStore {
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements) {
    this.#sql = statements.prepare("answers", texts);
  }

  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined {
    const row = this.#sql.undeliveredGenerated.get(amountMinor, currencyAlpha);
    return row && String(row["order_id"]);
  }

  markAnswerDelivered(orderId: string): void {
    this.#sql.markAnswerDelivered.run(orderId);
  }

  markChargeUnread(orderId: string, atMs: number): void {
    this.#sql.markChargeUnread.run(atMs, orderId);
  }

  markChargeRead(orderId: string): void {
    // Nearly always there is nothing to change, and a change begins with the lock of writers.
    if (this.#sql.isChargeUnread.get(orderId)) this.#sql.markChargeRead.run(orderId);
  }

  unreadCharges(): UnreadCharges | null {
    const row = this.#sql.countUnread.get();
    const count = Number(row?.["n"]);
    if (count === 0) return null;
    const orderIds = this.#sql.unread.all(NAMED_MAX).map((one) => String(one["order_id"]));
    return { count, sinceMs: Number(row?.["since"]), orderIds };
  }
}
