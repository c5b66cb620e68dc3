import type { SQLOutputValue } from "node:sqlite";
import type {
  DeliveryState,
  OutboxItem,
  SupervisorAnswer,
  SupervisorRequest,
} from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import { Tables } from "../../shared/store/sqlite.ts";
import { copiesOpen, settleItem } from "./item-rows.ts";

type Refusal = Exclude<SupervisorAnswer<"outbox-requeue">["outcome"], "queued">;
type Given = Omit<SupervisorRequest<"outbox-requeue">, "transactionId">;

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
export class OutboxAdmin extends Tables {
  /** Returns items, oldest first, after the item with the sequence `cursor`. */
  list(
    state: DeliveryState | undefined,
    cursor: number,
    limit: number,
  ): SupervisorAnswer<"outbox-list"> {
    const sql = `
      SELECT sequence, outbox.transaction_id AS transactionId, order_id AS orderId, state,
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
      ORDER BY sequence LIMIT :limit`;
    const rows = this.all<Row>(sql, { cursor, limit: limit + 1 });
    return { items: rows.slice(0, limit).map(itemOf), more: rows.length > limit };
  }

  /** Counts the lost answers, and the orders that the gateway may have, or may have twice. */
  uncertain(): NonNullable<SupervisorAnswer<"status">["outbox"]["ambiguous"]> {
    const sql = `SELECT (SELECT sends FROM ambiguous_sends) AS sends,
        (SELECT items FROM items_in_doubt) AS inDoubt,
        (SELECT count(*) FROM outbox WHERE ${copiesOpen}) AS possibleCopies`;
    return this.get(sql) ?? { sends: 0, inDoubt: 0, possibleCopies: 0 };
  }

  /**
   * Makes a parked, pending or dropped item due now, except after a reversal at the terminal. An
   * item with an uncertain send is looked up once more, and sent if the lookup gives no answer.
   */
  requeue(transactionId: string, nowMs: number, given: Given = {}): "queued" | Refusal {
    const sql = `
      UPDATE outbox SET state = 'pending', dropped = 0, next_try_at_ms = :now,
        delayed_at_ms = :now, failures = 0, no_result_since_ms = NULL, no_result_tries = 0,
        sent_at_ms = iif(sent_at_ms IS NULL, NULL, 0), reason = NULL, settled_at_ms = NULL
      WHERE transaction_id = :id AND claimed_at_ms IS NULL AND reversed = 0
        AND (state IN ('pending', 'parked') OR dropped = 1)`;
    return this.together(() => {
      const isDue = this.run(sql, { id: transactionId, now: nowMs }) > 0;
      if (!isDue) return this.#refusal(transactionId);
      this.#note(transactionId, nowMs, "requeue", given);
      return "queued";
    });
  }

  /** Closes an item and stores the operator's reason. */
  drop(transactionId: string, given: string, nowMs: number, by?: string): "dropped" | Refusal {
    const note = maskPansInText(given);
    const reason = `dropped by an operator: ${note}`;
    const end = { state: "closed", reason, dropped: true, evenDropped: true } as const;
    return this.together(() => {
      const isClosed = settleItem(this.database, transactionId, nowMs, end);
      if (!isClosed) return this.#refusal(transactionId);
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
    const sql = `INSERT INTO operator_actions (transaction_id, at_ms, action, note, by_whom)
      VALUES (?, ?, ?, ?, ?)`;
    this.run(sql, transactionId, nowMs, action, ...masked);
  }

  #refusal(transactionId: string): Refusal {
    const sql = `SELECT state, claimed_at_ms FROM outbox WHERE transaction_id = ?`;
    const row = this.get<Row>(sql, transactionId);
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
