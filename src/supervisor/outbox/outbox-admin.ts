import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type {
  DeliveryState,
  OutboxItem,
  RequestOf,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import { transaction } from "../../shared/store/sqlite.ts";
import { copiesOpen } from "./item-rows.ts";

type Messages = typeof supervisorMessages;
/** Why an operator's request is not carried out; see the messages of the IPC contract. */
type Refusal = Exclude<ResponseOf<Messages, "outbox-requeue">["outcome"], "queued">;
/** The operator's note and name, as far as given. */
type Given = Omit<RequestOf<Messages, "outbox-requeue">, "transactionId">;

/** A page of the items in one state, by the index of that state: nearly all others are sent. */
const pageOf = (found: string): string =>
  `sequence IN (${found} AND sequence > :cursor ORDER BY sequence LIMIT :limit)`;
const claimed = (lookUpNext: 0 | 1): string =>
  `SELECT sequence FROM outbox WHERE state = 'pending' AND look_next = ${lookUpNext}
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

/** The operator's view of the outbox, and the operator's actions on it. */
export class OutboxAdmin {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Oldest first, after the item with the sequence `cursor`. */
  list(
    state: DeliveryState | undefined,
    cursor: number,
    limit: number,
  ): ResponseOf<Messages, "outbox-list"> {
    const rows = this.#database
      .prepare(
        `SELECT sequence, outbox.transaction_id AS transactionId, order_id AS orderId, state,
           ifnull(json_extract(content, '$.amountMinor'), 0) AS amountMinor,
           ifnull(json_extract(content, '$.currency'), '') AS currency,
           ifnull(json_extract(content, '$.exponent'), 0) AS exponent, queued_at_ms AS queuedAtMs,
           iif(state = 'pending', next_try_at_ms, NULL) AS nextTryAtMs,
           settled_at_ms AS settledAtMs, tries, outbox.ambiguous, reason,
           last.ended_at_ms AS endedAtMs, last.class, last.http_status AS httpStatus, last.code,
           last.description
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

  /** Counts the orders that the gateway may have although that is not known, for `status`. */
  uncertain(): NonNullable<ResponseOf<Messages, "status">["outbox"]["ambiguous"]> {
    const count = (sql: string): number => Number(this.#database.prepare(sql).get()?.["n"]);
    return {
      sends: count(`SELECT sends AS n FROM ambiguous_sends`),
      inDoubt: count(`SELECT items AS n FROM items_in_doubt`),
      possibleCopies: count(`SELECT count(*) AS n FROM outbox WHERE ${copiesOpen}`),
    };
  }

  /**
   * Makes a parked, pending or dropped item due now, but none that was reversed at the terminal.
   * One whose send is uncertain is looked up once more, and sent when the lookup gives no answer.
   */
  requeue(transactionId: string, nowMs: number, given: Given = {}): "queued" | Refusal {
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
      this.#note(transactionId, nowMs, "requeue", given);
      return "queued";
    });
  }

  /** Closes an item, with a reason that stays with it; nothing is deleted. */
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
    { note = "", by }: Given,
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

type Row = Record<string, SQLOutputValue>;

function itemOf({ endedAtMs, class: tryClass, httpStatus, code, description, ...row }: Row) {
  const lastTry = { endedAtMs, class: tryClass, httpStatus, code, description };
  const item = { ...row, ambiguous: row["ambiguous"] === 1 };
  return { ...item, lastTry: tryClass === null ? null : lastTry } as unknown as OutboxItem;
}
