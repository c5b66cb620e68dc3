import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { DeliveryState, OutboxItem } from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import { transaction } from "../../shared/store/sqlite.ts";
import { type DoubtCounts, doubtCounts } from "./item-rows.ts";

/** Why an operator's wish is not carried out; see the messages of the IPC contract. */
type Refusal = "unknown" | "running" | "sent" | "closed";

/** A person's, as far as it was told. */
interface Word {
  readonly note?: string | undefined;
  readonly by?: string | undefined;
}

interface Page {
  readonly items: OutboxItem[];
  readonly more: boolean;
}

/** A page of the items in one state, by the index of that state: nearly all others are sent. */
const pageOf = (found: string): string =>
  `sequence IN (${found} AND sequence > :cursor ORDER BY sequence LIMIT :limit)`;
const claimed = (look: 0 | 1): string =>
  `SELECT sequence FROM outbox WHERE state = 'pending' AND look_next = ${look}
     AND claimed_at_ms > 0`;

const itemsIn: Readonly<Record<DeliveryState | "any", string>> = {
  any: "sequence > :cursor",
  sent: "sequence > :cursor AND state = 'sent'",
  pending: `(${pageOf(
    `SELECT sequence FROM outbox INDEXED BY outbox_waiting
     WHERE state = 'pending' AND claimed_at_ms IS NULL`,
  )} OR sequence > :cursor AND sequence IN (${claimed(0)} UNION ALL ${claimed(1)}))`,
  parked: pageOf(`SELECT sequence FROM outbox INDEXED BY outbox_parked WHERE state = 'parked'`),
  closed: pageOf(`SELECT sequence FROM outbox INDEXED BY outbox_closed WHERE state = 'closed'`),
};

/** The operator's view of the outbox, and the operator's acts on it. */
export class OutboxAdmin {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Oldest first, after the item with the sequence `cursor`. */
  list(state: DeliveryState | undefined, cursor: number, limit: number): Page {
    const rows = this.#database
      .prepare(
        `SELECT outbox.*, transactions.order_id,
           json_extract(content, '$.amountMinor') AS amount_minor,
           json_extract(content, '$.currency') AS currency,
           json_extract(content, '$.exponent') AS exponent,
           last.ended_at_ms, last.class, last.http_status, last.code, last.description
         FROM outbox JOIN transactions USING (transaction_id)
         LEFT JOIN attempts AS last ON last.transaction_id = outbox.transaction_id
           AND last.number = (SELECT max(number) FROM attempts AS every
             WHERE every.transaction_id = outbox.transaction_id)
         WHERE ${itemsIn[state ?? "any"]}
         ORDER BY sequence LIMIT :limit`,
      )
      .all({ cursor, limit: limit + 1 });
    return { items: rows.slice(0, limit).map(itemOf), more: rows.length > limit };
  }

  /** The open questions about the gateway's orders. */
  doubts(): DoubtCounts {
    return doubtCounts(this.#database);
  }

  /**
   * Parked, pending and dropped items become due now. One reversed at the terminal never does. One
   * in doubt is looked up once more, and is sent when the lookup does not tell.
   */
  requeue(transactionId: string, nowMs: number, word: Word = {}): "queued" | Refusal {
    return transaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(
          `UPDATE outbox SET state = 'pending', dropped = 0, next_try_at_ms = :now,
             delayed_at_ms = :now, failures = 0, no_result_since_ms = NULL, no_result_tries = 0,
             sent_at_ms = iif(sent_at_ms IS NULL, NULL, 0), reason = NULL, settled_at_ms = NULL
           WHERE transaction_id = :id AND claimed_at_ms IS NULL
             AND (state IN ('pending', 'parked') OR dropped = 1)`,
        )
        .run({ id: transactionId, now: nowMs });
      if (changes === 0) return this.#refusal(transactionId);
      this.#note(transactionId, nowMs, "requeue", word);
      return "queued";
    });
  }

  /** The item is closed for a reason that stays with it; nothing is deleted. */
  drop(transactionId: string, given: string, nowMs: number, by?: string): "dropped" | Refusal {
    const note = maskPansInText(given);
    return transaction(this.#database, () => {
      const { changes } = this.#database
        .prepare(
          `UPDATE outbox SET state = 'closed', dropped = 1, reason = :reason, settled_at_ms = :now
           WHERE transaction_id = :id AND claimed_at_ms IS NULL
             AND (state IN ('pending', 'parked') OR dropped = 1)`,
        )
        .run({ id: transactionId, now: nowMs, reason: `dropped by an operator: ${note}` });
      if (changes === 0) return this.#refusal(transactionId);
      this.#note(transactionId, nowMs, "drop", { note, by });
      return "dropped";
    });
  }

  #note(
    transactionId: string,
    nowMs: number,
    action: "requeue" | "drop",
    { note = "", by }: Word,
  ): void {
    const masked = [note, by].map((text) => (text === undefined ? null : maskPansInText(text)));
    this.#database
      .prepare(
        `INSERT INTO operator_actions (transaction_id, at_ms, action, note, by_whom)
         VALUES (?, ?, ?, ?, ?)`,
      )
      .run(transactionId, nowMs, action, ...masked);
  }

  #refusal(transactionId: string): Refusal {
    const row = this.#database
      .prepare(`SELECT state, claimed_at_ms FROM outbox WHERE transaction_id = ?`)
      .get(transactionId);
    if (!row) return "unknown";
    if (row["claimed_at_ms"] !== null) return "running";
    return row["state"] === "sent" ? "sent" : "closed";
  }
}

function itemOf(row: Record<string, SQLOutputValue>): OutboxItem {
  const state = row["state"] as DeliveryState;
  const pending = state === "pending";
  return {
    sequence: Number(row["sequence"]),
    transactionId: String(row["transaction_id"]),
    orderId: String(row["order_id"]),
    state,
    amountMinor: Number(row["amount_minor"]),
    currency: String(row["currency"]),
    exponent: Number(row["exponent"]),
    queuedAtMs: Number(row["queued_at_ms"]),
    nextTryAtMs: pending ? Number(row["next_try_at_ms"]) : null,
    settledAtMs: row["settled_at_ms"] as number | null,
    tries: Number(row["tries"]),
    ambiguous: row["ambiguous"] === 1,
    reason: row["reason"] as string | null,
    lastTry:
      row["class"] === null
        ? null
        : {
            endedAtMs: Number(row["ended_at_ms"]),
            class: String(row["class"]),
            httpStatus: row["http_status"] as number | null,
            code: row["code"] as number | null,
            description: String(row["description"]),
          },
  };
}
