import type { DatabaseSync } from "node:sqlite";
import { transaction } from "../../shared/store/sqlite.ts";
import type { Notified } from "./gateway-state.ts";

/** A verified document, with card numbers masked. */
interface VerifiedDocument extends Notified {
  /** SHA-256 of the verified bytes, hex: a document that is kept already is no news. */
  readonly fingerprint: string;
  readonly kind: "operation" | "fraud";
  readonly verdict: "accepted" | "mismatch";
  /** Our transaction; null when it is about none of ours. */
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

/** The gateway's notifications. On disk when a call returns. */
export class NotificationStore {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Keeps a document; true: it is new. A repeated one is only counted. A document that agreed with
   * no order of ours counts as new when it comes again and agrees.
   */
  add(document: VerifiedDocument, nowMs: number): boolean {
    return transaction(this.#database, () => {
      if (document.verdict === "accepted") {
        const text = "DELETE FROM notifications WHERE fingerprint = ? AND verdict = 'mismatch'";
        this.#database.prepare(text).run(document.fingerprint);
      }
      const row = this.#database
        .prepare(
          `INSERT INTO notifications (fingerprint, kind, verdict, transaction_id,
             transaction_public_id, operation, status, amount_minor, received_at_ms, parsed, raw)
           VALUES (:fingerprint, :kind, :verdict, :transactionId, :transactionPublicId,
             :operation, :status, :amountMinor, :nowMs, :parsed, :raw)
           ON CONFLICT (fingerprint) DO UPDATE SET copies = copies + 1 RETURNING copies`,
        )
        .get({ ...document, nowMs, parsed: JSON.stringify(document.parsed) });
      return row?.["copies"] === 1;
    });
  }

  /** The number of the newest document; 0: there is none. */
  newest(): number {
    const row = this.#database.prepare(`SELECT max(id) AS id FROM notifications`).get();
    return Number(row?.["id"] ?? 0);
  }

  /** Documents after the number `after` about money that was given back, with our transaction. */
  returnsAfter(after: number, limit: number): { id: number; transactionId: string }[] {
    return this.#database
      .prepare(
        `SELECT id, transaction_id AS transactionId
         FROM notifications INDEXED BY notifications_of_returns
         WHERE id > ? AND transaction_id IS NOT NULL AND verdict = 'accepted'
           AND kind = 'operation' AND status = 'ok'
           AND operation IN ('refund', 'cancellation', 'reject')
         ORDER BY id LIMIT ?`,
      )
      .all(after, limit) as { id: number; transactionId: string }[];
  }

  /** The accepted documents about these transactions of ours, oldest first. */
  acceptedOf(transactionIds: readonly string[]): StoredNotification[] {
    const statement = this.#database.prepare(
      `SELECT id, kind, transaction_public_id AS transactionPublicId, operation, status,
         amount_minor AS amountMinor, received_at_ms AS receivedAtMs, copies, parsed
       FROM notifications WHERE transaction_id = ? AND verdict = 'accepted' ORDER BY id`,
    );
    return transactionIds
      .flatMap((id) => statement.all(id))
      .map((row) => ({ ...row, parsed: JSON.parse(String(row["parsed"])) }) as StoredNotification);
  }
}
