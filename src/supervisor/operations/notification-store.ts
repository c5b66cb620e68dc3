import { Tables } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Notified } from "./gateway-state.ts";

/** A verified notification or fraud event, with card numbers masked. */
interface VerifiedDocument extends Notified {
  /** The SHA-256 of the verified bytes, in hex, by which a repeated document is recognised. */
  readonly fingerprint: string;
  readonly kind: "operation" | "fraud";
  readonly verdict: "accepted" | "mismatch";
  /** Our transaction; null: the document is about no transaction of ours. */
  readonly transactionId: string | null;
  readonly transactionPublicId: string | null;
  readonly parsed: Readonly<Record<string, unknown>>;
  readonly raw: string;
}

type Kept = "kind" | "transactionPublicId" | "parsed" | keyof Notified;
export interface StoredNotification extends Pick<VerifiedDocument, Kept> {
  readonly id: number;
  readonly receivedAtMs: number;
  readonly copies: number;
}

export class NotificationStore extends Tables {
  /** Stores a document and returns whether it is new; a repeated document is only counted. */
  add(document: VerifiedDocument, nowMs: number): boolean {
    return this.together(() => {
      if (document.verdict === "accepted") {
        const text = "DELETE FROM notifications WHERE fingerprint = ? AND verdict = 'mismatch'";
        this.run(text, document.fingerprint);
      }
      const row = this.get<{ copies: number }>(
        `INSERT INTO notifications (fingerprint, kind, verdict, transaction_id,
           transaction_public_id, operation, status, amount_minor, received_at_ms, parsed, raw)
         VALUES (:fingerprint, :kind, :verdict, :transactionId, :transactionPublicId,
           :operation, :status, :amountMinor, :nowMs, :parsed, :raw)
         ON CONFLICT (fingerprint) DO UPDATE SET copies = copies + 1 RETURNING copies`,
        { ...document, nowMs, parsed: JSON.stringify(document.parsed) },
      );
      return row?.copies === 1;
    });
  }

  /** Returns the id of the newest document; 0: there is no document. */
  newest(): number {
    return this.get<{ id: number }>("SELECT ifnull(max(id), 0) AS id FROM notifications")?.id ?? 0;
  }

  /** Returns the documents after the id `after` that report money paid back. */
  returnsAfter(after: number, limit: number): { id: number; transactionId: string }[] {
    const sql = `SELECT id, transaction_id AS transactionId
      FROM notifications INDEXED BY notifications_of_returns
      WHERE id > ? AND transaction_id IS NOT NULL AND verdict = 'accepted'
        AND kind = 'operation' AND status = 'ok'
        AND operation IN ('refund', 'cancellation', 'reject')
      ORDER BY id LIMIT ?`;
    return this.all(sql, after, limit);
  }

  acceptedOf(transactions: readonly Pick<Transaction, "transactionId">[]): StoredNotification[] {
    const sql = `SELECT id, kind, transaction_public_id AS transactionPublicId, operation, status,
        amount_minor AS amountMinor, received_at_ms AS receivedAtMs, copies, parsed
      FROM notifications WHERE transaction_id = ? AND verdict = 'accepted' ORDER BY id`;
    return transactions
      .flatMap((of) => this.all<StoredNotification & { parsed: string }>(sql, of.transactionId))
      .map((row) => ({ ...row, parsed: JSON.parse(row.parsed) }));
  }
}
