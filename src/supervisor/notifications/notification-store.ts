import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { transaction } from "../../shared/store/sqlite.ts";
import type { Notified } from "../operations/gateway-state.ts";

/** A document that was verified, ready to be kept. Texts are masked already. */
interface VerifiedDocument {
  /** SHA-256 of the verified bytes, hex: a document that is kept already is no news. */
  readonly fingerprint: string;
  readonly kind: "operation" | "fraud";
  readonly verdict: "accepted" | "mismatch";
  /** Our transaction; null when it is about none of ours. */
  readonly transactionId: string | null;
  readonly transactionPublicId: string | null;
  readonly operation: string;
  readonly status: string;
  readonly amountMinor: number | null;
  readonly parsed: Readonly<Record<string, unknown>>;
  readonly raw: string;
}

export interface StoredNotification extends Notified {
  readonly id: number;
  readonly kind: "operation" | "fraud";
  readonly transactionPublicId: string | null;
  readonly receivedAtMs: number;
  readonly copies: number;
  readonly parsed: Readonly<Record<string, unknown>>;
}

/** The gateway's notifications. On disk when a call returns. */
export class NotificationStore {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * true when the document is new; a repeated one is only counted. One that agreed with no order of
   * ours before is new as soon as it does.
   */
  add(document: VerifiedDocument, nowMs: number): boolean {
    return transaction(this.#database, () => {
      if (document.verdict === "accepted") {
        const text = "DELETE FROM notifications WHERE fingerprint = ? AND verdict = 'mismatch'";
        this.#database.prepare(text).run(document.fingerprint);
      }
      return this.#add(document, nowMs);
    });
  }

  #add(document: VerifiedDocument, nowMs: number): boolean {
    const row = this.#database
      .prepare(
        `INSERT INTO notifications (fingerprint, kind, verdict, transaction_id,
           transaction_public_id, operation, status, amount_minor, received_at_ms, parsed, raw)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (fingerprint) DO UPDATE SET copies = copies + 1 RETURNING copies`,
      )
      .get(
        document.fingerprint,
        document.kind,
        document.verdict,
        document.transactionId,
        document.transactionPublicId,
        document.operation,
        document.status,
        document.amountMinor,
        nowMs,
        JSON.stringify(document.parsed),
        document.raw,
      );
    return row?.["copies"] === 1;
  }

  /** The number of the newest document; 0: none. */
  newest(): number {
    const row = this.#database.prepare(`SELECT max(id) AS id FROM notifications`).get();
    return Number(row?.["id"] ?? 0);
  }

  /** Documents after the number `after` that tell of money given back, with our transaction. */
  returnsAfter(after: number, limit: number): Array<{ id: number; transactionId: string }> {
    return this.#database
      .prepare(
        `SELECT id, transaction_id FROM notifications INDEXED BY notifications_of_returns
         WHERE id > ? AND transaction_id IS NOT NULL AND verdict = 'accepted'
           AND kind = 'operation' AND status = 'ok'
           AND operation IN ('refund', 'cancellation', 'reject')
         ORDER BY id LIMIT ?`,
      )
      .all(after, limit)
      .map((row) => ({
        id: Number(row["id"]),
        transactionId: String(row["transaction_id"]),
      }));
  }

  /** The accepted documents about these transactions of ours, oldest first. */
  acceptedOf(transactionIds: readonly string[]): StoredNotification[] {
    const statement = this.#database.prepare(
      `SELECT * FROM notifications WHERE transaction_id = ? AND verdict = 'accepted' ORDER BY id`,
    );
    return transactionIds.flatMap((id) => statement.all(id)).map(read);
  }
}

function read(row: Record<string, SQLOutputValue>): StoredNotification {
  return {
    id: Number(row["id"]),
    kind: row["kind"] as StoredNotification["kind"],
    transactionPublicId: row["transaction_public_id"] as string | null,
    operation: String(row["operation"]),
    status: String(row["status"]),
    amountMinor: row["amount_minor"] as number | null,
    receivedAtMs: Number(row["received_at_ms"]),
    copies: Number(row["copies"]),
    parsed: JSON.parse(String(row["parsed"])) as Record<string, unknown>,
  };
}
