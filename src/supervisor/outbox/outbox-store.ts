import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { transaction } from "../../shared/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { TryClass } from "../gateway/faults.ts";
import type { ItemHistory } from "./retry-policy.ts";

/** An item taken for one try; nobody else can take it until the try is recorded. */
export interface ClaimedItem {
  readonly transactionId: string;
  readonly orderId: string;
  /** JSON of the transaction. */
  readonly content: string;
  /** Number of this try, from 1. */
  readonly number: number;
  readonly startedAtMs: number;
  readonly history: ItemHistory;
}

/** One try, as it stays in the history. */
export interface Attempt {
  readonly number: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly class: TryClass;
  readonly httpStatus: number | null;
  readonly code: number | null;
  readonly description: string;
  readonly ambiguous: boolean;
  readonly notes: readonly string[];
}

/** The item's state after a try. */
export interface ItemUpdate {
  readonly state: DeliveryState;
  /** null: keeps its place. */
  readonly nextTryAtMs: number | null;
  readonly history: ItemHistory;
  readonly redirectUrl: string | null;
  readonly reason: string | null;
}

/** A finished try and its meaning for the item. */
export interface EndedTry {
  readonly item: ClaimedItem;
  readonly attempt: Attempt;
  readonly update: ItemUpdate;
}

interface Delivery {
  readonly state: DeliveryState;
  readonly firstTryEnded: boolean;
  readonly ambiguous: boolean;
}

/** Of a long history the first and the last tries are kept. */
export const ATTEMPTS_KEPT_FIRST = 10;
export const ATTEMPTS_KEPT_LAST = 40;

const claimed = `
  UPDATE outbox SET claimed_at_ms = :now, tries = tries + 1
  WHERE state = 'pending' AND claimed_at_ms IS NULL AND sequence = `;
const returning = `
  RETURNING transaction_id, tries, failures, no_result_since_ms, no_result_tries`;

/**
 * The item that has been due longest: the oldest one, except that a failed try puts an item behind
 * those that became due before its next try. An item is also due when the clock went back behind
 * the moment at which its delay began.
 */
const dueLongest = `(
  SELECT sequence FROM outbox
  WHERE state = 'pending' AND claimed_at_ms IS NULL
    AND (next_try_at_ms <= :now OR delayed_at_ms > :now)
  ORDER BY next_try_at_ms, sequence LIMIT 1)`;
const oldest = `(
  SELECT sequence FROM outbox WHERE state = 'pending' AND claimed_at_ms IS NULL
  ORDER BY queued_at_ms, sequence LIMIT 1)`;

/**
 * The gateway has named its transaction of this item, so the gateway has the order, whatever became
 * of our answers: sending the item again would make a second one. Not while a try runs: the end of
 * that try comes here too.
 */
export const namedIsSent = `
  UPDATE outbox SET state = 'sent', settled_at_ms = :now,
    reason = 'the gateway has named its transaction of it'
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state IN ('pending', 'parked')
    AND EXISTS (SELECT 1 FROM gateway_ids WHERE transaction_id = :id)`;

/** The outbox in SQLite: every change is on disk when the call returns (docs/design.md 1.3). */
export class OutboxStore {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** The content stored under a transaction id. */
  content(transactionId: string): string | undefined {
    const row = this.#get(`SELECT content FROM transactions WHERE transaction_id = ?`, [
      transactionId,
    ]);
    return row && String(row["content"]);
  }

  /** Other transactions of the same order. */
  othersOfOrder({ orderId, transactionId }: Transaction): string[] {
    const sql = `SELECT transaction_id FROM transactions
      WHERE order_id = ? AND transaction_id <> ?`;
    return this.#prepare(sql)
      .all(orderId, transactionId)
      .map((row) => String(row["transaction_id"]));
  }

  /** Stores a new transaction and its place in the queue, both or neither. */
  add(given: Transaction, nowMs: number): void {
    transaction(this.#database, () => this.#insert(given, nowMs));
  }

  /**
   * Closes the item of a sale that was reversed at the terminal, storing the transaction first when
   * it is new. "running": a try is under way, ask again. "sent": the gateway has or may have it.
   * One that it may have is closed too: sent again it would book a sale that is none any more.
   */
  withdraw(given: Transaction, nowMs: number): "closed" | "sent" | "running" {
    return transaction(this.#database, () => {
      if (this.content(given.transactionId) === undefined) this.#insert(given, nowMs);
      this.#prepare(
        `UPDATE outbox SET state = 'closed', dropped = 0, settled_at_ms = :now,
           reason = 'reversed at the terminal' || iif(ambiguous = 0, '',
             ' after an answer was lost: the gateway may have the order')
         WHERE transaction_id = :id AND claimed_at_ms IS NULL
           AND (state IN ('pending', 'parked') OR dropped = 1)`,
      ).run({ id: given.transactionId, now: nowMs });
      const row = this.#get(
        `SELECT state, claimed_at_ms, ambiguous FROM outbox WHERE transaction_id = ?`,
        [given.transactionId],
      );
      if (row?.["claimed_at_ms"] !== null) return "running";
      // One that an operator dropped may have reached the gateway before.
      return row["state"] === "closed" && row["ambiguous"] === 0 ? "closed" : "sent";
    });
  }

  #insert(given: Transaction, nowMs: number): void {
    this.#prepare(`INSERT INTO transactions VALUES (?, ?, ?, ?)`).run(
      given.transactionId,
      given.orderId,
      nowMs,
      JSON.stringify(given),
    );
    this.#prepare(
      `INSERT INTO outbox (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms)
       VALUES (?1, ?2, ?2, ?2)`,
    ).run(given.transactionId, nowMs);
  }

  delivery(transactionId: string): Delivery | undefined {
    const row = this.#get(
      `SELECT state, tries, claimed_at_ms, ambiguous FROM outbox WHERE transaction_id = ?`,
      [transactionId],
    );
    if (!row) return undefined;
    const ended = Number(row["tries"]) - (row["claimed_at_ms"] === null ? 0 : 1);
    return {
      state: row["state"] as DeliveryState,
      firstTryEnded: ended > 0,
      ambiguous: row["ambiguous"] === 1,
    };
  }

  /** Takes one item that waits, due or not. */
  claim(transactionId: string, nowMs: number): ClaimedItem | undefined {
    const one = `(SELECT sequence FROM outbox WHERE transaction_id = :id)`;
    return this.#claim(claimed + one + returning, { now: nowMs, id: transactionId });
  }

  /** Takes the item that has been due longest. */
  claimNext(nowMs: number): ClaimedItem | undefined {
    return this.#claim(claimed + dueLongest + returning, { now: nowMs });
  }

  /** Takes the oldest item, due or not: one try has to show whether the queue can go on. */
  claimOldest(nowMs: number): ClaimedItem | undefined {
    return this.#claim(claimed + oldest + returning, { now: nowMs });
  }

  /**
   * Ends tries and takes at most `places` items, the longest due first, all in one commit: when it
   * returns, both what has ended and what may now be sent is on disk.
   */
  turn(
    ended: readonly EndedTry[],
    { which, places, nowMs }: { which: "due" | "oldest"; places: number; nowMs: number },
  ): ClaimedItem[] {
    return transaction(this.#database, () => {
      for (const one of ended) this.#finish(one);
      const items: ClaimedItem[] = [];
      while (items.length < places) {
        const item = which === "due" ? this.claimNext(nowMs) : this.claimOldest(nowMs);
        if (!item) break;
        items.push(item);
      }
      return items;
    });
  }

  /** When the next item falls due, past or future; undefined when none waits. */
  nextDueAtMs(): number | undefined {
    const row = this.#get(
      `SELECT min(next_try_at_ms) AS at FROM outbox
       WHERE state = 'pending' AND claimed_at_ms IS NULL`,
    );
    return row?.["at"] === null ? undefined : Number(row?.["at"]);
  }

  /** Ends a try: history, item and claim in one commit. */
  finish(item: ClaimedItem, attempt: Attempt, update: ItemUpdate): void {
    this.turn([{ item, attempt, update }], { which: "due", places: 0, nowMs: 0 });
  }

  #finish({ item, attempt, update }: EndedTry): void {
    this.#addAttempt(item.transactionId, attempt);
    const { changes } = this.#prepare(
      `UPDATE outbox SET claimed_at_ms = NULL, state = :state, failures = :failures,
         next_try_at_ms = ifnull(:next, next_try_at_ms),
         delayed_at_ms = iif(:next IS NULL, delayed_at_ms, :now),
         no_result_since_ms = :since, no_result_tries = :noResults,
         ambiguous = max(ambiguous, :ambiguous),
         redirect_url = ifnull(:redirectUrl, redirect_url), reason = :reason,
         settled_at_ms = iif(:state = 'pending', NULL, :now)
       WHERE transaction_id = :id AND claimed_at_ms IS NOT NULL`,
    ).run({
      id: item.transactionId,
      now: attempt.endedAtMs,
      state: update.state,
      failures: update.history.failures,
      next: update.nextTryAtMs,
      since: update.history.noResultSinceMs,
      noResults: update.history.noResultTries,
      ambiguous: attempt.ambiguous ? 1 : 0,
      redirectUrl: update.redirectUrl,
      reason: update.reason,
    });
    invariant(changes === 1, `the try of ${item.transactionId} was still claimed`);
    this.#prepare(namedIsSent).run({ id: item.transactionId, now: attempt.endedAtMs });
  }

  /**
   * Ends the tries that were running when the process died: whether they reached the gateway is
   * not known. An item to which it happens again waits longer and longer, so that one that kills
   * the process cannot keep the others back. Returns the transaction ids. Only at start, before
   * anything is claimed.
   */
  endInterruptedTries(nowMs: number, delayMs: (failures: number) => number): string[] {
    return transaction(this.#database, () => {
      const rows = this.#prepare(
        `UPDATE outbox SET claimed_at_ms = NULL, ambiguous = 1, failures = failures + 1
         WHERE claimed_at_ms IS NOT NULL RETURNING transaction_id, tries, failures`,
      ).all();
      const delay = this.#prepare(
        `UPDATE outbox SET next_try_at_ms = ?, delayed_at_ms = ? WHERE transaction_id = ?`,
      );
      return rows.map((row) => {
        const transactionId = String(row["transaction_id"]);
        const failuresBefore = Number(row["failures"]) - 1;
        if (failuresBefore > 0) delay.run(nowMs + delayMs(failuresBefore), nowMs, transactionId);
        this.#addAttempt(transactionId, {
          number: Number(row["tries"]),
          startedAtMs: nowMs,
          endedAtMs: nowMs,
          class: "interrupted",
          httpStatus: null,
          code: null,
          description: "the program ended during this try",
          ambiguous: true,
          notes: [],
        });
        this.#prepare(namedIsSent).run({ id: transactionId, now: nowMs });
        return transactionId;
      });
    });
  }

  /** The history of one transaction, oldest first. */
  attempts(transactionId: string): Attempt[] {
    return this.#prepare(`SELECT * FROM attempts WHERE transaction_id = ? ORDER BY number`)
      .all(transactionId)
      .map((row) => ({
        number: Number(row["number"]),
        startedAtMs: Number(row["started_at_ms"]),
        endedAtMs: Number(row["ended_at_ms"]),
        class: row["class"] as TryClass,
        httpStatus: row["http_status"] as number | null,
        code: row["code"] as number | null,
        description: String(row["description"]),
        ambiguous: row["ambiguous"] === 1,
        notes: JSON.parse(String(row["notes"])) as string[],
      }));
  }

  counts(): Readonly<Record<DeliveryState, number>> {
    const rows = this.#prepare(`SELECT state, items FROM outbox_counts`).all();
    const counts = { pending: 0, sent: 0, parked: 0, closed: 0 };
    for (const row of rows) counts[row["state"] as DeliveryState] = Number(row["items"]);
    return counts;
  }

  /** When the oldest pending item was queued; undefined when none is pending. */
  oldestQueuedAtMs(): number | undefined {
    const row = this.#get(`SELECT min(queued_at_ms) AS at FROM outbox WHERE state = 'pending'`);
    return row?.["at"] === null ? undefined : Number(row?.["at"]);
  }

  #addAttempt(transactionId: string, attempt: Attempt): void {
    this.#prepare(`INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(
      transactionId,
      attempt.number,
      attempt.startedAtMs,
      attempt.endedAtMs,
      attempt.class,
      attempt.httpStatus,
      attempt.code,
      attempt.description,
      attempt.ambiguous ? 1 : 0,
      JSON.stringify(attempt.notes),
    );
    this.#prepare(
      `DELETE FROM attempts WHERE transaction_id = ? AND number > ? AND number <= ?`,
    ).run(transactionId, ATTEMPTS_KEPT_FIRST, attempt.number - ATTEMPTS_KEPT_LAST);
  }

  #claim(sql: string, values: Record<string, string | number>): ClaimedItem | undefined {
    const row = this.#prepare(sql).get(values);
    if (!row) return undefined;
    const transactionId = String(row["transaction_id"]);
    const stored = this.#get(
      `SELECT order_id, content FROM transactions WHERE transaction_id = ?`,
      [transactionId],
    );
    invariant(stored, `outbox item ${transactionId} has its transaction`);
    const since = row["no_result_since_ms"];
    return {
      transactionId,
      orderId: String(stored["order_id"]),
      content: String(stored["content"]),
      number: Number(row["tries"]),
      startedAtMs: Number(values["now"]),
      history: {
        failures: Number(row["failures"]),
        noResultSinceMs: typeof since === "number" ? since : null,
        noResultTries: Number(row["no_result_tries"]),
      },
    };
  }

  #get(sql: string, values: readonly string[] = []): Record<string, SQLOutputValue> | undefined {
    return this.#prepare(sql).get(...values);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
