import type { Transaction } from "../../../shared/transaction.ts";
import { readJson } from "../attempt-columns.ts";
import type { AttemptRows } from "../attempt-rows.ts";
import { rows } from "../database/statements.ts";
import type { EventRows } from "../event-rows.ts";

/** A hand-off that the supervisor refuses while it takes others. */
export interface RefusedHandOff {
  /** Grows with each hand-off. */
  readonly position: number;
  readonly transaction: Transaction;
  readonly why: string;
  readonly refusedAtMs: number;
}

/** Rows that wait for an operator. A dropped row keeps why it was refused, and does not wait. */
const isWaiting = "(acknowledged = 0 OR withdrawn = 1) AND set_aside_ms IS NOT NULL";

const texts = {
  list: `SELECT id, body, refused, set_aside_ms FROM hand_off WHERE ${isWaiting} AND id > ?
    ORDER BY id LIMIT ?`,
  drop: `UPDATE hand_off SET
      refused = iif(acknowledged = 0, refused, NULL),
      delivery = iif(acknowledged = 0, 'closed', delivery),
      acknowledged = 1, withdrawn = iif(withdrawn = 1, 2, withdrawn), set_aside_ms = NULL
    WHERE transaction_id = ? AND ${isWaiting}
    RETURNING delivery, withdrawn, refused IS NOT NULL AS closed`,
  requeue: `UPDATE hand_off SET
      delivery = iif(acknowledged = 1 AND withdrawn <> 1, 'pending', delivery),
      acknowledged = iif(withdrawn = 1, acknowledged, 0),
      withdrawn = iif(withdrawn = 2, 1, withdrawn), set_aside_ms = NULL, refused = NULL
    WHERE transaction_id = ? AND refused IS NOT NULL`,
};

/** Hand-offs that the supervisor refuses, and an operator's decision about them. */
export class RefusedRows extends rows("refused", texts)<{
  events: EventRows;
  attempts: AttemptRows;
}> {
  /** After the position `after`, oldest first. */
  list(after: number, limit: number): RefusedHandOff[] {
    return this.sql.list.all(after, limit).map((row) => ({
      position: Number(row["id"]),
      transaction: readJson(row["body"]),
      why: String(row["refused"]),
      refusedAtMs: Number(row["set_aside_ms"]),
    }));
  }

  /**
   * Drops the hand-off. "reversal": the supervisor may have the sale, and not its reversal.
   * undefined: none is refused under this id.
   */
  drop(transactionId: string, note: string, atMs: number): "closed" | "reversal" | undefined {
    return this.parts.events.commit((emit) => {
      const [row] = this.sql.drop.all(transactionId);
      if (!row) return undefined;
      this.parts.attempts.addEvent(transactionId, {
        atMs,
        kind: "hand-over-dropped",
        detail: { note },
      });
      if (row["closed"] !== 1) return "reversal";
      const orderId = this.parts.attempts.read(transactionId)?.request.orderId ?? "";
      const news = { delivery: "closed", notificationGatewaySent: false } as const;
      emit("delivery", { orderId, transactionId, ...news }, atMs);
      return "closed";
    });
  }

  /** Makes a refused or dropped hand-off due at once. false: none has this id. */
  requeue(transactionId: string, atMs: number): boolean {
    return this.parts.events.commit(() => {
      if (this.sql.requeue.run(transactionId).changes === 0) return false;
      this.parts.attempts.addEvent(transactionId, { atMs, kind: "hand-over-requeued", detail: {} });
      return true;
    });
  }
}
