import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { invariant } from "../../shared/invariant.ts";
import type { GatewayOperation, OpenAtGateway, SendingStep } from "../../shared/ipc/contract.ts";
import { transaction } from "../../shared/store/sqlite.ts";
import { type Transaction, transactionSchema } from "../../shared/transaction.ts";
import type { Verdict } from "../gateway/faults.ts";
import type { OperationRequest, OperationState } from "../gateway/operation-request.ts";
import type { StoredNotification } from "../notifications/notification-store.ts";
import { copiesOpen, namedIsSent } from "../outbox/item-rows.ts";
import { sendingSteps } from "../outbox/sending-steps.ts";

type Row = Record<string, SQLOutputValue>;

/** The caller's own key of an operation, and all that was asked for with it. */
interface OperationKey {
  readonly idempotencyKey: string;
  readonly asked: string;
}

interface KeyedOperation {
  readonly operation: GatewayOperation;
  readonly asked: string;
  readonly currency: string;
}

/** The class of an operation that this database has lost. */
export const LOST = "lost";

export type SettledBy = "answer" | "notification" | "lookup" | "operator";

/** The gateway's ids of our orders and the operations asked of it. On disk when a call returns. */
export class OperationStore {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** The charged transactions of an order; more than one only by a fault elsewhere. */
  transactionsOf(orderId: string): Transaction[] {
    return this.#all(`SELECT content FROM transactions WHERE order_id = ?`, orderId).flatMap(
      (row) => transactionOf(row) ?? [],
    );
  }

  /** Our transaction of that order, amount and currency; undefined when none or several agree. */
  agreeing(
    orderId: string,
    amountMinor: number | null | undefined,
    currency: string | null,
    transactionId: string | null | undefined,
  ): Transaction | undefined {
    const agreeing = this.transactionsOf(orderId).filter(
      (one) =>
        one.currency === currency &&
        one.amountMinor === amountMinor &&
        (transactionId ?? one.transactionId) === one.transactionId,
    );
    return agreeing.length === 1 ? agreeing[0] : undefined;
  }

  transaction(transactionId: string): Transaction | undefined {
    const row = this.#get(
      `SELECT content FROM transactions WHERE transaction_id = ?`,
      transactionId,
    );
    return row && transactionOf(row);
  }

  /** Our transaction behind an id of the gateway. */
  ownerOf(transactionPublicId: string): Transaction | undefined {
    const row = this.#get(
      `SELECT content FROM gateway_ids JOIN transactions USING (transaction_id)
       WHERE transaction_public_id = ?`,
      transactionPublicId,
    );
    return row && transactionOf(row);
  }

  /** The gateway's ids of an order, in the order in which they became known. */
  publicIdsOf(orderId: string): string[] {
    return this.#all(
      `SELECT transaction_public_id FROM gateway_ids JOIN transactions USING (transaction_id)
       WHERE order_id = ? ORDER BY learnt_at_ms, transaction_public_id`,
      orderId,
    ).map((row) => String(row["transaction_public_id"]));
  }

  /** The transactions that the gateway is known to have made of one of ours. */
  copiesOf(transactionId: string): string[] {
    const sql = `SELECT transaction_public_id FROM gateway_ids WHERE transaction_id = ?`;
    return this.#all(sql, transactionId).map((row) => String(row["transaction_public_id"]));
  }

  /**
   * How many it may have made: one for each try whose answer was lost or good. Infinity as long as
   * it may be sent again. Of a long history not every try is kept, but always more than anybody
   * will ever name.
   */
  copiesPossible(transactionId: string): number {
    const settled = `SELECT 1 FROM copies_settled WHERE transaction_id = ?`;
    if (this.#get(settled, transactionId)) return this.copiesOf(transactionId).length;
    const row = this.#get(
      `SELECT state, max(ambiguous, (SELECT count(*) FROM attempts AS every
           WHERE every.transaction_id = outbox.transaction_id AND every.ambiguous = 1)) AS lost,
         (SELECT count(*) FROM attempts AS every
           WHERE every.transaction_id = outbox.transaction_id AND every.class = 'sent') AS taken
       FROM outbox WHERE transaction_id = ?`,
      transactionId,
    );
    if (row?.["state"] === "pending" || row?.["state"] === "parked")
      return Number.POSITIVE_INFINITY;
    return Number(row?.["lost"] ?? 0) + Number(row?.["taken"] ?? 0);
  }

  /** The order's way to the gateway. */
  sendingOf(orderId: string): SendingStep[] {
    return sendingSteps(this.#database, orderId);
  }

  /** How many orders of a transaction the gateway may have; 0 when that is known. */
  possibleOrders(transactionId: string): number {
    const sql = `SELECT orders_possible AS n FROM outbox
      WHERE transaction_id = ? AND ${copiesOpen}`;
    return Number(this.#get(sql, transactionId)?.["n"] ?? 0);
  }

  /** An operator found that the gateway has no others than those that are known. */
  settleCopies(transactionId: string, note: string, nowMs: number): void {
    this.#run(
      `INSERT INTO copies_settled VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
      transactionId,
      nowMs,
      note,
    );
  }

  /** true when the id is new. The gateway then has the order, so the item is not sent again. */
  learnId(
    transactionPublicId: string,
    transactionId: string,
    from: "notification" | "lookup",
    nowMs: number,
  ): boolean {
    return transaction(this.#database, () => {
      const added = this.#run(
        `INSERT INTO gateway_ids VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        transactionPublicId,
        transactionId,
        from,
        nowMs,
      );
      this.#database.prepare(namedIsSent).run({ id: transactionId, now: nowMs });
      return added === 1;
    });
  }

  /** The write-ahead record. false: an earlier operation of the transaction is still open. */
  begin(request: OperationRequest, nowMs: number, key?: OperationKey): boolean {
    return this.#insert(request, "sending", nowMs, key);
  }

  /** One that this database has lost is open from now on, where no other one is. */
  addLost(request: OperationRequest, askedAtMs: number, nowMs: number): void {
    transaction(this.#database, () => {
      if (!this.#insert(request, "unknown", askedAtMs)) return;
      this.#run(
        `UPDATE gateway_operations SET class = ?, ended_at_ms = ?,
           description = 'supervisor.db was lost while its answer was awaited'
         WHERE operation_id = ?`,
        LOST,
        nowMs,
        request.operationId,
      );
    });
  }

  #insert(
    request: OperationRequest,
    state: "sending" | "unknown",
    askedAtMs: number,
    key?: OperationKey,
  ): boolean {
    if (this.openOf(request.transactionPublicId)) return false;
    this.#run(
      `INSERT INTO gateway_operations (operation_id, kind, transaction_public_id, amount_minor,
         currency, exponent, state, asked_at_ms, idempotency_key, asked, after_notification)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT ifnull(max(id), 0) FROM notifications))`,
      request.operationId,
      request.kind,
      request.transactionPublicId,
      request.amountMinor,
      request.currency,
      request.exponent,
      state,
      askedAtMs,
      key?.idempotencyKey ?? null,
      key?.asked ?? null,
    );
    return true;
  }

  /** The newest operation with a caller's key: an older one was not sent. */
  ofKey(idempotencyKey: string): KeyedOperation | undefined {
    const row = this.#get(
      `SELECT * FROM gateway_operations WHERE idempotency_key = ? ORDER BY rowid DESC LIMIT 1`,
      idempotencyKey,
    );
    if (!row) return undefined;
    const { asked, currency } = row;
    return { operation: operationOf(row), asked: String(asked), currency: String(currency) };
  }

  /** Refunds of this amount that were done or may have been, newest first. */
  refundsOf(transactionPublicId: string, amountMinor: number | null): GatewayOperation[] {
    return this.#all(
      `SELECT * FROM gateway_operations
       WHERE transaction_public_id = ? AND kind = 'refund' AND amount_minor = ?
         AND state NOT IN ('refused', 'not-sent')
       ORDER BY rowid DESC`,
      transactionPublicId,
      amountMinor,
    ).map(operationOf);
  }

  /** The end of the one exchange. */
  finish(operationId: string, state: OperationState, verdict: Verdict, nowMs: number): void {
    const { class: tryClass, httpStatus, code, description } = verdict;
    const changes = this.#run(
      `UPDATE gateway_operations SET state = ?, class = ?, http_status = ?, code = ?,
         description = ?, ended_at_ms = ?, settled_by = ?
       WHERE operation_id = ? AND state = 'sending'`,
      state,
      tryClass,
      httpStatus,
      code,
      description,
      nowMs,
      state === "unknown" ? null : "answer",
      operationId,
    );
    invariant(changes === 1, `the operation ${operationId} was being sent`);
  }

  /** An unknown operation is known now. */
  settle(operationId: string, state: "done" | "refused", by: SettledBy, words: string): void {
    const changes = this.#run(
      `UPDATE gateway_operations SET state = ?, settled_by = ?,
         description = trim(description || '; ' || ?, '; ')
       WHERE operation_id = ? AND state = 'unknown'`,
      state,
      by,
      words,
      operationId,
    );
    invariant(changes === 1, `the operation ${operationId} was unknown`);
  }

  /**
   * Operations that a dead process left behind: whether they were carried out is not known. In the
   * words of the index of what is open.
   */
  endInterrupted(nowMs: number): string[] {
    return this.#all(
      `UPDATE gateway_operations SET state = 'unknown', class = 'interrupted', ended_at_ms = ?,
         description = 'the program ended while it waited for the answer'
       WHERE state IN ('sending', 'unknown') AND state = 'sending' RETURNING operation_id`,
      nowMs,
    ).map((row) => String(row["operation_id"]));
  }

  operation(operationId: string): GatewayOperation | undefined {
    const sql = `SELECT * FROM gateway_operations WHERE operation_id = ?`;
    const row = this.#get(sql, operationId);
    return row && operationOf(row);
  }

  /** Whether a notification came before an operation was asked for; a clock can be set. */
  isBefore({ id, receivedAtMs }: StoredNotification, operation: GatewayOperation): boolean {
    const sql = `SELECT after_notification AS last FROM gateway_operations WHERE operation_id = ?`;
    const last = this.#get(sql, operation.operationId)?.["last"];
    return typeof last === "number" ? id <= last : receivedAtMs < operation.askedAtMs;
  }

  /** How many have an unknown end, and since when the oldest has. */
  unknown(): { readonly unknown: number; readonly unknownSinceMs: number | null } {
    const row = this.#get(
      `SELECT count(*) AS n, min(ended_at_ms) AS since FROM gateway_operations
       WHERE state = 'unknown'`,
    );
    return { unknown: Number(row?.["n"]), unknownSinceMs: (row?.["since"] as number) ?? null };
  }

  /** All that a person has to find out at the gateway, of each kind at most `limit`. */
  open(limit: number): OpenAtGateway {
    return openAtGateway(this.#database, limit);
  }

  /** The one operation of a transaction that is being sent or unknown. */
  openOf(transactionPublicId: string): GatewayOperation | undefined {
    const row = this.#get(
      `SELECT * FROM gateway_operations
       WHERE transaction_public_id = ? AND state IN ('sending', 'unknown')`,
      transactionPublicId,
    );
    return row && operationOf(row);
  }

  /** Transactions whose operation is unknown. */
  unknownOnes(): string[] {
    const sql = `SELECT transaction_public_id AS id FROM gateway_operations
      WHERE state IN ('sending', 'unknown')`;
    return this.#all(sql).map((row) => String(row["id"]));
  }

  /** Every operation of these transactions, oldest first. */
  operationsOf(transactionPublicIds: readonly string[]): GatewayOperation[] {
    return transactionPublicIds
      .flatMap((id) =>
        this.#all(`SELECT * FROM gateway_operations WHERE transaction_public_id = ?`, id),
      )
      .map(operationOf)
      .sort((a, b) => a.askedAtMs - b.askedAtMs);
  }

  /** From now on an operation with this id is not carried out, should its message come late. */
  forbid(operationId: string, nowMs: number): void {
    this.#run(
      `INSERT INTO gateway_operations_forbidden VALUES (?, ?) ON CONFLICT DO NOTHING`,
      operationId,
      nowMs,
    );
  }

  isForbidden(operationId: string): boolean {
    const sql = `SELECT 1 FROM gateway_operations_forbidden WHERE operation_id = ?`;
    return this.#get(sql, operationId) !== undefined;
  }

  #get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#database.prepare(sql).get(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#database.prepare(sql).all(...values);
  }

  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#database.prepare(sql).run(...values).changes);
  }
}

/** An operation as its row in `gateway_operations` has it. */
function operationOf(row: Record<string, SQLOutputValue>): GatewayOperation {
  return {
    operationId: String(row["operation_id"]),
    kind: row["kind"] as GatewayOperation["kind"],
    transactionPublicId: String(row["transaction_public_id"]),
    amountMinor: row["amount_minor"] as number | null,
    state: row["state"] as OperationState,
    code: row["code"] as number | null,
    description: String(row["description"]),
    class: row["class"] as string | null,
    askedAtMs: Number(row["asked_at_ms"]),
    endedAtMs: row["ended_at_ms"] as number | null,
  };
}

/**
 * Reads all that a person has to find out at the gateway, of each kind at most `limit`: the
 * operations whose answer was lost, and the orders that may be there more than once
 * (docs/rules/07-returns.md). Both are read by the indexes of what is open.
 */
function openAtGateway(database: DatabaseSync, limit: number): OpenAtGateway {
  const operations = database
    .prepare(
      `SELECT operation.*, order_id FROM gateway_operations AS operation
       LEFT JOIN gateway_ids USING (transaction_public_id)
       LEFT JOIN transactions USING (transaction_id)
       WHERE state = 'unknown' ORDER BY ended_at_ms LIMIT ?`,
    )
    .all(limit + 1);
  const copies = database
    .prepare(
      `SELECT order_id, transaction_id, orders_possible, state IN ('pending', 'parked') AS waits,
         json_extract(content, '$.amountMinor') AS amount_minor,
         json_extract(content, '$.currency') AS currency,
         json_extract(content, '$.exponent') AS exponent,
         (SELECT json_group_array(transaction_public_id) FROM gateway_ids AS named
           WHERE named.transaction_id = outbox.transaction_id) AS ids
       FROM outbox CROSS JOIN transactions USING (transaction_id)
       WHERE ${copiesOpen} ORDER BY sequence LIMIT ?`,
    )
    .all(limit + 1);
  return {
    operations: operations.slice(0, limit).map((row) => ({
      ...operationOf(row),
      orderId: row["order_id"] as string | null,
      currency: String(row["currency"]),
      exponent: Number(row["exponent"]),
    })),
    copies: copies.slice(0, limit).map((row) => ({
      orderId: String(row["order_id"]),
      transactionId: String(row["transaction_id"]),
      amountMinor: Number(row["amount_minor"]),
      currency: String(row["currency"]),
      exponent: Number(row["exponent"]),
      possibleOrders: Number(row["orders_possible"]),
      transactionPublicIds: JSON.parse(String(row["ids"])) as string[],
      mayBeSent: row["waits"] === 1,
    })),
    more: operations.length > limit || copies.length > limit,
  };
}

/** undefined: written by another program. Throws when the row is damaged. */
function transactionOf(row: Row): Transaction | undefined {
  return transactionSchema.safeParse(JSON.parse(String(row["content"]))).data;
}
