import { invariant } from "../../shared/invariant.ts";
import type {
  GatewayOperation,
  OpenAtGateway,
  SendingStep,
  SupervisorRequest,
} from "../../shared/ipc/contract.ts";
import { Tables } from "../../shared/store/sqlite.ts";
import { type Transaction, transactionSchema } from "../../shared/transaction.ts";
import type { Verdict } from "../gateway/faults.ts";
import type { OperationRequest, OperationState } from "../gateway/operation-request.ts";
import { copiesOpen, namedIsSent } from "../outbox/item-rows.ts";
import { sendingSteps } from "../outbox/sending-steps.ts";
import { NotificationStore, type StoredNotification } from "./notification-store.ts";

type OperationKey = NonNullable<SupervisorRequest<"gateway-operation">["key"]>;

const noKey = { idempotencyKey: null, asked: null };

const columns = `operation_id AS operationId, kind, transaction_public_id AS transactionPublicId,
  amount_minor AS amountMinor, state, code, description, class, asked_at_ms AS askedAtMs,
  ended_at_ms AS endedAtMs`;

/** The `class` of an operation that was under way when this database was lost. */
export const LOST = "lost";

export type SettledBy = "answer" | "notification" | "lookup" | "operator";

/** The gateway's ids of our orders, and the operations that were requested of the gateway. */
export class OperationStore extends Tables {
  readonly notifications = new NotificationStore(this.database);

  /** Returns the charged transactions of an order: one, or more after a fault of tp-manager. */
  transactionsOf(orderId: string): Transaction[] {
    const sql = "SELECT content FROM transactions WHERE order_id = ?";
    return this.all<Content>(sql, orderId).flatMap((row) => transactionOf(row) ?? []);
  }

  /** Returns our one transaction that agrees with a gateway's order; undefined: none or several. */
  agreeing({ orderId, amountMinor, currency, transactionId }: NamedOrder): Transaction | undefined {
    const [agreeing, another] = this.transactionsOf(orderId ?? "").filter(
      (one) =>
        one.currency === currency &&
        one.amountMinor === amountMinor &&
        (transactionId ?? one.transactionId) === one.transactionId,
    );
    return another ? undefined : agreeing;
  }

  transaction(transactionId: string): Transaction | undefined {
    const sql = "SELECT content FROM transactions WHERE transaction_id = ?";
    return transactionOf(this.get(sql, transactionId));
  }

  /** Returns our transaction to which the gateway gave this id. */
  ownerOf(transactionPublicId: string): Transaction | undefined {
    const sql = `SELECT content FROM gateway_ids JOIN transactions USING (transaction_id)
      WHERE transaction_public_id = ?`;
    return transactionOf(this.get(sql, transactionPublicId));
  }

  /** Returns the gateway's ids of an order, in the order in which they became known. */
  publicIdsOf(orderId: string): string[] {
    const sql = `SELECT transaction_public_id AS id
      FROM gateway_ids JOIN transactions USING (transaction_id)
      WHERE order_id = ? ORDER BY learnt_at_ms, transaction_public_id`;
    return this.#ids(sql, orderId);
  }

  /** Returns the ids of the transactions that the gateway has made of one transaction of ours. */
  copiesOf(transactionId: string): string[] {
    const sql = "SELECT transaction_public_id AS id FROM gateway_ids WHERE transaction_id = ?";
    return this.#ids(sql, transactionId);
  }

  /**
   * Returns how many transactions the gateway may have for ours; Infinity: it may yet be sent. The
   * sends that lookups have proved absent do not count (docs/design.md 8.5).
   */
  copiesPossible(transactionId: string): number {
    const settled = `SELECT 1 FROM copies_settled WHERE transaction_id = ?`;
    if (this.get(settled, transactionId)) return this.copiesOf(transactionId).length;
    const sql = `SELECT state, orders_possible AS n FROM outbox WHERE transaction_id = ?`;
    const { state, n = 0 } = this.get<{ state: string; n: number }>(sql, transactionId) ?? {};
    return state === "pending" || state === "parked" ? Number.POSITIVE_INFINITY : n;
  }

  sendingOf(orderId: string): SendingStep[] {
    return sendingSteps(this.database, orderId);
  }

  /** Returns how many orders the gateway may have for a transaction; 0: the number is certain. */
  possibleOrders(transactionId: string): number {
    const sql = `SELECT orders_possible AS n FROM outbox
      WHERE transaction_id = ? AND ${copiesOpen}`;
    return this.get<{ n: number }>(sql, transactionId)?.n ?? 0;
  }

  /** Stores that an operator found only the known transactions at the gateway. */
  settleCopies(transactionId: string, note: string, nowMs: number): void {
    const sql = "INSERT INTO copies_settled VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    this.run(sql, transactionId, nowMs, note);
  }

  /** Stores the gateway's id of our transaction, which is then not sent again; true: a new id. */
  learnId(
    transactionPublicId: string,
    transactionId: string,
    from: "notification" | "lookup",
    nowMs: number,
  ): boolean {
    return this.together(() => {
      const sql = "INSERT INTO gateway_ids VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
      const added = this.run(sql, transactionPublicId, transactionId, from, nowMs);
      this.run(namedIsSent, { id: transactionId, now: nowMs });
      return added === 1;
    });
  }

  /** Stores an operation before it is sent; false: the transaction has another open operation. */
  begin(request: OperationRequest, nowMs: number, key?: OperationKey): boolean {
    return this.#insert(request, "sending", nowMs, key);
  }

  /** Stores as unknown an operation whose record was lost, unless another operation is open. */
  addLost(request: OperationRequest, askedAtMs: number, nowMs: number): void {
    this.together(() => {
      if (!this.#insert(request, "unknown", askedAtMs)) return;
      const sql = `UPDATE gateway_operations SET class = ?, ended_at_ms = ?,
          description = 'supervisor.db was lost while its answer was awaited'
        WHERE operation_id = ?`;
      this.run(sql, LOST, nowMs, request.operationId);
    });
  }

  #insert(
    { operationId, kind, transactionPublicId, amountMinor, currency, exponent }: OperationRequest,
    state: "sending" | "unknown",
    askedAtMs: number,
    { idempotencyKey, asked }: OperationKey | Record<keyof OperationKey, null> = noKey,
  ): boolean {
    if (this.openOf(transactionPublicId)) return false;
    const sql = `
      INSERT INTO gateway_operations (operation_id, kind, transaction_public_id, amount_minor,
        currency, exponent, state, asked_at_ms, idempotency_key, asked, after_notification)
      VALUES (:operationId, :kind, :transactionPublicId, :amountMinor, :currency, :exponent, :state,
        :askedAtMs, :idempotencyKey, :asked, (SELECT ifnull(max(id), 0) FROM notifications))`;
    const request = { operationId, kind, transactionPublicId, amountMinor, currency, exponent };
    this.run(sql, { ...request, state, askedAtMs, idempotencyKey, asked });
    return true;
  }

  /** Returns the newest operation with a caller's key; older operations with it were not sent. */
  ofKey(idempotencyKey: string) {
    const sql = `SELECT ${columns}, asked, currency FROM gateway_operations
      WHERE idempotency_key = ? ORDER BY rowid DESC LIMIT 1`;
    type Row = GatewayOperation & { asked: string; currency: string };
    const row = this.get<Row>(sql, idempotencyKey);
    if (!row) return undefined;
    const { asked, currency, ...operation } = row;
    return { operation, asked, currency };
  }

  /** Returns the refunds of this amount that were or may have been done, newest first. */
  refundsOf(transactionPublicId: string, amountMinor: number | null): GatewayOperation[] {
    const sql = `SELECT ${columns} FROM gateway_operations
      WHERE transaction_public_id = ? AND kind = 'refund' AND amount_minor = ?
        AND state NOT IN ('refused', 'not-sent')
      ORDER BY rowid DESC`;
    return this.all(sql, transactionPublicId, amountMinor);
  }

  finish(operationId: string, state: OperationState, verdict: Verdict, nowMs: number): void {
    const { class: tryClass, httpStatus, code, description } = verdict;
    const by = state === "unknown" ? null : "answer";
    const sql = `UPDATE gateway_operations SET state = ?, class = ?, http_status = ?, code = ?,
        description = ?, ended_at_ms = ?, settled_by = ?
      WHERE operation_id = ? AND state = 'sending'`;
    const answer = [tryClass, httpStatus, code, description];
    const changes = this.run(sql, state, ...answer, nowMs, by, operationId);
    invariant(changes === 1, `the operation ${operationId} was being sent`);
  }

  settle(operationId: string, state: "done" | "refused", by: SettledBy, why: string): void {
    const sql = `UPDATE gateway_operations SET state = ?, settled_by = ?,
        description = trim(description || '; ' || ?, '; ')
      WHERE operation_id = ? AND state = 'unknown'`;
    const changes = this.run(sql, state, by, why, operationId);
    invariant(changes === 1, `the operation ${operationId} was unknown`);
  }

  /**
   * Marks operations whose sending ended without a record as unknown, and returns their ids.
   * `only`: this operation; missing: all that a dead process was sending.
   */
  endInterrupted(nowMs: number, only: string | null = null): string[] {
    // The first condition repeats the index of open operations, so that SQLite uses that index.
    const sql = `UPDATE gateway_operations SET state = 'unknown', class = 'interrupted',
        ended_at_ms = :now, description = iif(:only IS NULL,
          'the program ended while it waited for the answer', 'the answer could not be written')
      WHERE state IN ('sending', 'unknown') AND state = 'sending'
        AND operation_id = ifnull(:only, operation_id) RETURNING operation_id AS id`;
    return this.all<{ id: string }>(sql, { now: nowMs, only }).map(({ id }) => id);
  }

  operation(operationId: string): GatewayOperation | undefined {
    const sql = `SELECT ${columns} FROM gateway_operations WHERE operation_id = ?`;
    return this.get(sql, operationId);
  }

  /** Whether a notification came before an operation was requested, by its id or else the clock. */
  isBefore({ id, receivedAtMs }: StoredNotification, operation: GatewayOperation): boolean {
    const sql = `SELECT after_notification AS last FROM gateway_operations WHERE operation_id = ?`;
    const last = this.get<{ last: number | null }>(sql, operation.operationId)?.last;
    return typeof last === "number" ? id <= last : receivedAtMs < operation.askedAtMs;
  }

  unknown(): { readonly unknown: number; readonly unknownSinceMs: number | null } {
    const sql = `SELECT count(*) AS unknown, min(ended_at_ms) AS unknownSinceMs
      FROM gateway_operations WHERE state = 'unknown'`;
    return this.get(sql) ?? { unknown: 0, unknownSinceMs: null };
  }

  /** Returns what an operator has to find out at the gateway (docs/rules/35-gateway-returns.md). */
  open(limit: number): OpenAtGateway {
    const unknown = `
      SELECT ${columns}, order_id AS orderId, currency, exponent
      FROM gateway_operations AS operation
      LEFT JOIN gateway_ids USING (transaction_public_id)
      LEFT JOIN transactions USING (transaction_id)
      WHERE state = 'unknown' ORDER BY ended_at_ms LIMIT ?`;
    const operations = this.all<OpenAtGateway["operations"][number]>(unknown, limit + 1);
    type Copies = OpenAtGateway["copies"][number] & { waits: number; ids: string };
    const possible = `
      SELECT order_id AS orderId, transaction_id AS transactionId,
        orders_possible AS possibleOrders, state IN ('pending', 'parked') AS waits,
        json_extract(content, '$.amountMinor') AS amountMinor,
        json_extract(content, '$.currency') AS currency,
        json_extract(content, '$.exponent') AS exponent,
        (SELECT json_group_array(transaction_public_id) FROM gateway_ids AS named
          WHERE named.transaction_id = outbox.transaction_id) AS ids
      FROM outbox CROSS JOIN transactions USING (transaction_id)
      WHERE ${copiesOpen} ORDER BY sequence LIMIT ?`;
    const copies = this.all<Copies>(possible, limit + 1);
    return {
      operations: operations.slice(0, limit),
      copies: copies.slice(0, limit).map(({ waits, ids, ...copy }) => ({
        ...copy,
        transactionPublicIds: JSON.parse(ids) as string[],
        mayBeSent: waits === 1,
      })),
      more: operations.length > limit || copies.length > limit,
    };
  }

  /** Returns the only operation of a transaction that is being sent or unknown. */
  openOf(transactionPublicId: string): GatewayOperation | undefined {
    const sql = `SELECT ${columns} FROM gateway_operations
      WHERE transaction_public_id = ? AND state IN ('sending', 'unknown')`;
    return this.get(sql, transactionPublicId);
  }

  /** Returns the gateway transactions that have an operation being sent or unknown. */
  unknownOnes(): string[] {
    const sql = `SELECT transaction_public_id AS id FROM gateway_operations
      WHERE state IN ('sending', 'unknown')`;
    return this.#ids(sql);
  }

  operationsOf(transactionPublicIds: readonly string[]): GatewayOperation[] {
    const sql = `SELECT ${columns} FROM gateway_operations WHERE transaction_public_id = ?`;
    return transactionPublicIds
      .flatMap((id) => this.all<GatewayOperation>(sql, id))
      .sort((a, b) => a.askedAtMs - b.askedAtMs);
  }

  /** Forbids an operation that has not arrived, so that its late message is not carried out. */
  forbid(operationId: string, nowMs: number): void {
    const sql = "INSERT INTO gateway_operations_forbidden VALUES (?, ?) ON CONFLICT DO NOTHING";
    this.run(sql, operationId, nowMs);
  }

  isForbidden(operationId: string): boolean {
    const sql = `SELECT 1 FROM gateway_operations_forbidden WHERE operation_id = ?`;
    return this.get(sql, operationId) !== undefined;
  }

  #ids(sql: string, ...values: (string | number)[]): string[] {
    return this.all<{ id: string }>(sql, ...values).map(({ id }) => id);
  }
}

/** An order as a document of the gateway names it; null: the document lacks the member. */
interface NamedOrder {
  readonly orderId: string | null;
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly transactionId?: string | null | undefined;
}

interface Content {
  readonly content: string;
}

/** Returns a row's transaction; undefined: no row, or an unknown form. Throws on damaged JSON. */
function transactionOf(row: Content | undefined): Transaction | undefined {
  return row && transactionSchema.safeParse(JSON.parse(row.content)).data;
}
