import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { prepared, transaction } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { TryClass } from "../gateway/fault-table.ts";
import {
  type ClaimedItem,
  endClaim,
  type ItemUpdate,
  insertItem,
  itemColumns,
  itemOf,
} from "./item-rows.ts";
import { delayCeilingMs } from "./retry-policy.ts";
import { uncertainAfterSend } from "./uncertain-send-policy.ts";

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

/** The pause before a lookup that the process did not survive is repeated. */
const LOOKUP_REPEATED_MS = 60_000;

/** The next step of an item that waits, as the column `look_next` has it. */
type Step = "send" | "lookup";
const column = { send: 0, lookup: 1 } as const satisfies Record<Step, 0 | 1>;

/** The conditions as the indexes of due items have them. */
const isClaimed = (step: Step): string =>
  `state = 'pending' AND claimed_at_ms > 0 AND look_next = ${column[step]}`;
const isWaiting = (step: Step): string =>
  `state = 'pending' AND look_next = ${column[step]} AND claimed_at_ms IS NULL`;
const isDelayed = "next_try_at_ms > delayed_at_ms";

/**
 * The item that has been due longest: the oldest one, except that a failed try puts an item after
 * those that became due before its next try. An item is also due when the clock went back before
 * the moment at which its delay began. Of each kind the first one is found by an index: without a
 * delay, with one that is over, with one that began later than now.
 */
const dueLongest = (step: Step): string => {
  const first = (index: string, which: string, order: string): string => `
    SELECT * FROM (SELECT next_try_at_ms, sequence FROM outbox INDEXED BY ${index}
      WHERE ${isWaiting(step)} AND ${which} ORDER BY ${order}, sequence LIMIT 1)`;
  const byDue = step === "send" ? "outbox_send_due" : "outbox_look_due";
  const kinds = [
    first(byDue, `(${isDelayed}) = 0`, "next_try_at_ms"),
    first(byDue, `(${isDelayed}) = 1 AND next_try_at_ms <= :now`, "next_try_at_ms"),
    first("outbox_delayed", `${isDelayed} AND delayed_at_ms > :now`, "delayed_at_ms"),
  ];
  const due = kinds.join(" UNION ALL ");
  return `SELECT sequence FROM (${due}) ORDER BY next_try_at_ms, sequence LIMIT 1`;
};

const claim = (step: Step, sequence: string): string => `
  UPDATE outbox SET claimed_at_ms = :now,
    ${step === "send" ? "tries = tries + 1" : "lookups = lookups + 1"}
  WHERE ${isWaiting(step)} AND sequence = (${sequence}) RETURNING ${itemColumns}`;

/** The statements that claim an item. */
const claims = {
  /** The one whose send has been due longest. */
  due: claim("send", dueLongest("send")),
  /** The oldest, due or not: one try has to show whether the queue can go on. */
  oldest: claim(
    "send",
    `SELECT sequence FROM outbox INDEXED BY outbox_age
     WHERE ${isWaiting("send")} ORDER BY queued_at_ms, sequence LIMIT 1`,
  ),
  /** The one whose lookup has been due longest. */
  lookup: claim("lookup", dueLongest("lookup")),
  /** The one of a transaction, due or not. */
  one: claim("send", "SELECT sequence FROM outbox WHERE transaction_id = :id"),
};

const nextDue = (step: Step): string => {
  const first = (delayed: 0 | 1): string => `SELECT min(next_try_at_ms) AS at FROM outbox
    WHERE ${isWaiting(step)} AND (${isDelayed}) = ${delayed}`;
  return `SELECT min(at) AS at FROM (${first(0)} UNION ALL ${first(1)})`;
};

/** Of items that wait, and of the few that are claimed, each by an index. */
const oldestPending = `SELECT min(at) AS at FROM (
    SELECT min(queued_at_ms) AS at FROM outbox INDEXED BY outbox_age WHERE ${isWaiting("send")}
    UNION ALL SELECT min(queued_at_ms) FROM outbox INDEXED BY outbox_age
      WHERE ${isWaiting("lookup")}
    UNION ALL SELECT min(queued_at_ms) FROM outbox WHERE ${isClaimed("send")}
    UNION ALL SELECT min(queued_at_ms) FROM outbox WHERE ${isClaimed("lookup")})`;

/** The outbox in SQLite: every change is on disk when the call returns (docs/design.md 1.3). */
export class OutboxStore {
  readonly #database: DatabaseSync;
  readonly #alsoWrite: () => void;

  /** `alsoWrite` writes more into the commits that store a transaction of tp-manager. */
  constructor(database: DatabaseSync, alsoWrite: () => void = () => undefined) {
    this.#database = database;
    this.#alsoWrite = alsoWrite;
  }

  /** The content stored under a transaction id. */
  content(transactionId: string): string | undefined {
    const sql = "SELECT content FROM transactions WHERE transaction_id = ?";
    const row = this.#prepare(sql).get(transactionId);
    return row && String(row["content"]);
  }

  /** Other transactions of the same order. */
  othersOfOrder({ orderId, transactionId }: Transaction): string[] {
    const sql = `SELECT transaction_id FROM transactions
      WHERE order_id = ? AND transaction_id <> ?`;
    const rows = this.#prepare(sql).all(orderId, transactionId);
    return rows.map((row) => String(row["transaction_id"]));
  }

  /**
   * Stores a new transaction and its position in the queue, both or neither. `mayBeSent`: a lost
   * database may have sent it, so it is looked up first. `isClaimed`: it is claimed for its first
   * try in the same commit, and is the answer; undefined: it waits.
   */
  add(
    given: Transaction,
    nowMs: number,
    how: Parameters<typeof insertItem>[3] = {},
  ): ClaimedItem | undefined {
    const isClaimed = how.isClaimed === true && !how.mayBeSent;
    return transaction(this.#database, () => {
      const item = insertItem(this.#database, given, nowMs, { ...how, isClaimed });
      this.#alsoWrite();
      return isClaimed ? item : undefined;
    });
  }

  /**
   * Closes the item of a sale that was reversed at the terminal, storing the transaction first when
   * it is new. "running": a try is under way, ask again. "sent": the gateway has or may have it;
   * the item is closed all the same, because sending it again would book a sale that is undone.
   * `mayBeSent`: a lost database may have sent a new one.
   */
  withdraw(given: Transaction, nowMs: number, mayBeSent = false): "closed" | "sent" | "running" {
    const { transactionId: id } = given;
    return transaction(this.#database, () => {
      if (this.content(id) === undefined) insertItem(this.#database, given, nowMs, { mayBeSent });
      this.#alsoWrite();
      this.#prepare(`UPDATE outbox SET reversed = 1 WHERE transaction_id = ?`).run(id);
      this.#prepare(
        `UPDATE outbox SET state = 'closed', dropped = 0, settled_at_ms = :now,
           reason = 'reversed at the terminal' || iif(ambiguous = 0, '',
             ' after an answer was lost: the gateway may have the order')
         WHERE transaction_id = :id AND claimed_at_ms IS NULL
           AND (state IN ('pending', 'parked') OR dropped = 1)`,
      ).run({ id, now: nowMs });
      const sql = `SELECT state, claimed_at_ms, ambiguous FROM outbox WHERE transaction_id = ?`;
      const row = this.#prepare(sql).get(id);
      if (row?.["claimed_at_ms"] !== null) return "running";
      // One that an operator dropped may have reached the gateway before.
      return row["state"] === "closed" && row["ambiguous"] === 0 ? "closed" : "sent";
    });
  }

  delivery(transactionId: string): Delivery | undefined {
    const row = this.#prepare(
      `SELECT state, ambiguous,
         tries - (claimed_at_ms IS NOT NULL AND look_next = 0) AS ended
       FROM outbox WHERE transaction_id = ?`,
    ).get(transactionId);
    if (!row) return undefined;
    return {
      state: row["state"] as DeliveryState,
      firstTryEnded: Number(row["ended"]) > 0,
      ambiguous: row["ambiguous"] === 1,
    };
  }

  /** Claims an item that waits; undefined: there is none. `transactionId`: of "one". */
  claim(
    which: keyof typeof claims,
    nowMs: number,
    transactionId?: string,
  ): ClaimedItem | undefined {
    const one = transactionId === undefined ? {} : { id: transactionId };
    const row = this.#prepare(claims[which]).get({ now: nowMs, ...one });
    return row && itemOf(row, nowMs);
  }

  /**
   * Ends tries and claims at most `limit` items, all in one commit: when it returns, both what has
   * ended and what may now be sent is on disk.
   */
  endAndClaim(
    ended: readonly EndedTry[],
    { which, limit, nowMs }: { which: "due" | "oldest"; limit: number; nowMs: number },
  ): ClaimedItem[] {
    return transaction(this.#database, () => {
      for (const { item, attempt, update } of ended) {
        this.#addAttempt(item.transactionId, attempt);
        endClaim(this.#database, item, update, attempt.endedAtMs, attempt.ambiguous);
      }
      const items: ClaimedItem[] = [];
      while (items.length < limit) {
        const item = this.claim(which, nowMs);
        if (!item) break;
        items.push(item);
      }
      return items;
    });
  }

  /** When the next send or lookup falls due, past or future; undefined: none waits. */
  nextDueAtMs(step: Step): number | undefined {
    const at = this.#prepare(nextDue(step)).get()?.["at"];
    return typeof at === "number" ? at : undefined;
  }

  /** Ends a lookup: the item's new state and its claim in one commit. */
  endLookup(
    item: ClaimedItem,
    update: Pick<ItemUpdate, "state" | "nextTryAtMs" | "uncertain" | "reason">,
    endedAtMs: number,
  ): void {
    const kept = { history: item.history, redirectUrl: null };
    transaction(this.#database, () =>
      endClaim(this.#database, item, { ...update, ...kept }, endedAtMs, false),
    );
  }

  /**
   * Ends the tries that were running when the process died: whether they reached the gateway is
   * not known, so they are looked up first. An item to which it happens again waits longer and
   * longer, so that one that kills the process cannot delay the others for ever. A lookup that was
   * running is repeated after a while. Returns the transaction ids. Only at start, before
   * anything is claimed.
   */
  endInterruptedTries(nowMs: number, delayMs = delayCeilingMs): string[] {
    return transaction(this.#database, () => {
      this.#prepare(
        `UPDATE outbox SET claimed_at_ms = NULL, next_try_at_ms = :now + :pause,
           delayed_at_ms = :now WHERE ${isClaimed("lookup")}`,
      ).run({ now: nowMs, pause: LOOKUP_REPEATED_MS });
      const rows = this.#prepare(
        `SELECT ${itemColumns} FROM outbox WHERE ${isClaimed("send")}`,
      ).all();
      return rows.map((row) => {
        const item = itemOf(row, nowMs);
        const { transactionId, number, history } = item;
        const { failures } = history;
        this.#addAttempt(transactionId, {
          number,
          startedAtMs: nowMs,
          endedAtMs: nowMs,
          class: "interrupted",
          httpStatus: null,
          code: null,
          description: "the program ended during this try",
          ambiguous: true,
          notes: [],
        });
        const update: ItemUpdate = {
          state: "pending",
          nextTryAtMs: failures > 0 ? nowMs + delayMs(failures) : null,
          history: { ...history, failures: failures + 1 },
          uncertain: uncertainAfterSend("interrupted", item.uncertain, nowMs),
          redirectUrl: null,
          reason: null,
        };
        endClaim(this.#database, item, update, nowMs, true);
        return transactionId;
      });
    });
  }

  /** The history of one transaction, oldest first. */
  attempts(transactionId: string): Attempt[] {
    const rows = this.#prepare(
      `SELECT number, started_at_ms AS startedAtMs, ended_at_ms AS endedAtMs, class,
         http_status AS httpStatus, code, description, ambiguous, notes
       FROM attempts WHERE transaction_id = ? ORDER BY number`,
    ).all(transactionId) as unknown as Attempt[];
    return rows.map((row) => ({
      ...row,
      ambiguous: Boolean(row.ambiguous),
      notes: JSON.parse(String(row.notes)),
    }));
  }

  counts(): Readonly<Record<DeliveryState, number>> {
    const rows = this.#prepare(`SELECT state, items FROM outbox_counts`).all();
    const counts = Object.fromEntries(rows.map(({ state, items }) => [state, items]));
    const { pending, sent, parked, closed } = counts as Record<DeliveryState, number>;
    return { pending, sent, parked, closed };
  }

  /** Since when the oldest parked item is parked; null: none is. */
  parkedSinceMs(): number | null {
    const sql = `SELECT min(settled_at_ms) AS at FROM outbox WHERE state = 'parked'`;
    return this.#prepare(sql).get()?.["at"] as number | null;
  }

  /** When the oldest pending item was queued; null: none is pending. */
  oldestQueuedAtMs(): number | null {
    return this.#prepare(oldestPending).get()?.["at"] as number | null;
  }

  #addAttempt(transactionId: string, attempt: Attempt): void {
    if (attempt.ambiguous) this.#prepare(`UPDATE ambiguous_sends SET sends = sends + 1`).run();
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
    if (attempt.number <= ATTEMPTS_KEPT_FIRST + ATTEMPTS_KEPT_LAST) return;
    this.#prepare(
      `DELETE FROM attempts WHERE transaction_id = ? AND number > ? AND number <= ?`,
    ).run(transactionId, ATTEMPTS_KEPT_FIRST, attempt.number - ATTEMPTS_KEPT_LAST);
  }

  #prepare(sql: string): StatementSync {
    return prepared(this.#database, sql);
  }
}
