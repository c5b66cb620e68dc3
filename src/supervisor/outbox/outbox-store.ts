import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { prepared, transaction } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { TryClass } from "../gateway/fault-table.ts";
import { type Doubt, doubtAfterSend, noDoubt } from "./doubt-policy.ts";
import {
  type AddedHow,
  doubtOf,
  doubtValues,
  endTry,
  type ItemUpdate,
  insertItem,
  setDoubt,
} from "./item-rows.ts";
import { type ItemHistory, noHistory } from "./retry-policy.ts";

/** An item taken for one try; nobody else can take it until the try is recorded. */
export interface ClaimedItem {
  /** Its place in the queue, which it keeps. */
  readonly sequence: number;
  readonly transactionId: string;
  readonly orderId: string;
  /** JSON of the transaction. */
  readonly content: string;
  /** The content as it was given, of one that was stored with its claim: nothing is read again. */
  readonly transaction?: Transaction;
  /** Number of this try, from 1. */
  readonly number: number;
  readonly startedAtMs: number;
  readonly history: ItemHistory;
  readonly doubt: Doubt;
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

/** A finished try and its meaning for the item. */
export interface EndedTry {
  readonly item: ClaimedItem;
  readonly attempt: Attempt;
  readonly update: ItemUpdate;
}

/** The item's state after a lookup. */
interface LookUpdate extends Pick<ItemUpdate, "state" | "nextTryAtMs" | "doubt" | "reason"> {
  readonly endedAtMs: number;
}

interface Delivery {
  readonly state: DeliveryState;
  readonly firstTryEnded: boolean;
  readonly ambiguous: boolean;
}

/** Of a long history the first and the last tries are kept. */
export const ATTEMPTS_KEPT_FIRST = 10;
export const ATTEMPTS_KEPT_LAST = 40;

/** A lookup that the process did not survive. */
const LOOK_AGAIN_MS = 60_000;

/** By the index of what is due; a claimed item is always one that waits. */
const isClaimed = "state = 'pending' AND claimed_at_ms > 0";
const claimed = `
  UPDATE outbox SET claimed_at_ms = :now, tries = tries + 1
  WHERE state = 'pending' AND look_next = 0 AND claimed_at_ms IS NULL AND sequence = `;
const claimedToLook = `
  UPDATE outbox SET claimed_at_ms = :now, lookups = lookups + 1
  WHERE state = 'pending' AND look_next = 1 AND claimed_at_ms IS NULL AND sequence = `;
const returning = `
  RETURNING sequence, transaction_id, tries, failures, no_result_since_ms, no_result_tries,
    look_next, sent_at_ms, resends, orders_possible, absent_since_ms, untold`;

const waiting = (look: 0 | 1): string =>
  `state = 'pending' AND look_next = ${look} AND claimed_at_ms IS NULL`;
/** In the words of the indexes of what is due. */
const isDelayed = "next_try_at_ms > delayed_at_ms";

/**
 * The item that has been due longest: the oldest one, except that a failed try puts an item behind
 * those that became due before its next try. An item is also due when the clock went back behind
 * the moment at which its delay began. Of each kind the first one is found by an index: without a
 * delay, with one that is over, with one that began later than now.
 */
const dueLongest = (look: 0 | 1): string => {
  const first = (index: string, which: string, order: string): string => `
    SELECT * FROM (SELECT next_try_at_ms, sequence FROM outbox INDEXED BY ${index}
      WHERE ${waiting(look)} AND ${which} ORDER BY ${order}, sequence LIMIT 1)`;
  const byDue = look === 0 ? "outbox_send_due" : "outbox_look_due";
  const kinds = [
    first(byDue, `(${isDelayed}) = 0`, "next_try_at_ms"),
    first(byDue, `(${isDelayed}) = 1 AND next_try_at_ms <= :now`, "next_try_at_ms"),
    first("outbox_delayed", `${isDelayed} AND delayed_at_ms > :now`, "delayed_at_ms"),
  ];
  const due = kinds.join(" UNION ALL ");
  return `(SELECT sequence FROM (${due}) ORDER BY next_try_at_ms, sequence LIMIT 1)`;
};
const nextDue = (look: 0 | 1): string => {
  const first = (delayed: 0 | 1): string => `SELECT min(next_try_at_ms) AS at FROM outbox
    WHERE ${waiting(look)} AND (${isDelayed}) = ${delayed}`;
  return `SELECT min(at) AS at FROM (${first(0)} UNION ALL ${first(1)})`;
};
const oldest = `(
  SELECT sequence FROM outbox INDEXED BY outbox_age
  WHERE ${waiting(0)} ORDER BY queued_at_ms, sequence LIMIT 1)`;
/** Of items that wait, and of the few that are claimed, each by an index. */
const oldestPending = `SELECT min(at) AS at FROM (
    SELECT min(queued_at_ms) AS at FROM outbox INDEXED BY outbox_age WHERE ${waiting(0)}
    UNION ALL SELECT min(queued_at_ms) FROM outbox INDEXED BY outbox_age WHERE ${waiting(1)}
    UNION ALL SELECT min(queued_at_ms) FROM outbox WHERE ${isClaimed} AND look_next = 0
    UNION ALL SELECT min(queued_at_ms) FROM outbox WHERE ${isClaimed} AND look_next = 1)`;
/**
 * An item whose transaction the gateway has named counts as sent: sending the item again would make
 * a second order. A try that runs is left to end, and its end runs this statement too.
 */
export const namedIsSent = `
  UPDATE outbox SET state = 'sent', settled_at_ms = :now,
    reason = 'the gateway has named its transaction of it'
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state IN ('pending', 'parked')
    AND EXISTS (SELECT 1 FROM gateway_ids WHERE transaction_id = :id)`;

/** The outbox in SQLite: every change is on disk when the call returns (docs/design.md 1.3). */
export class OutboxStore {
  readonly #database: DatabaseSync;
  readonly #riding: () => void;

  /** `riding` writes more into the commits that take a transaction over. */
  constructor(database: DatabaseSync, riding: () => void = () => undefined) {
    this.#database = database;
    this.#riding = riding;
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

  /**
   * Stores a new transaction and its place in the queue, both or neither. `isDoubtful`: another
   * database may have sent it. `isTaken`: it is taken for a try in the same commit; undefined: it
   * has to be looked up first.
   */
  add(given: Transaction, nowMs: number, how: AddedHow = {}): ClaimedItem | undefined {
    const { transactionId, orderId } = given;
    const isTaken = how.isTaken === true && !how.isDoubtful;
    return transaction(this.#database, () => {
      const { sequence, content } = insertItem(this.#database, given, nowMs, { ...how, isTaken });
      this.#riding();
      if (!isTaken) return undefined;
      const times = { number: 1, startedAtMs: nowMs, history: noHistory, doubt: noDoubt };
      return { sequence, transactionId, orderId, content, transaction: given, ...times };
    });
  }

  /**
   * Closes the item of a sale that was reversed at the terminal, storing the transaction first when
   * it is new. "running": a try is under way, ask again. "sent": the gateway has or may have it.
   * One that it may have is closed too: sent again it would book a sale that is none any more.
   * `isDoubtful`: another database may have sent a new one.
   */
  withdraw(given: Transaction, nowMs: number, isDoubtful = false): "closed" | "sent" | "running" {
    const { transactionId: id } = given;
    return transaction(this.#database, () => {
      if (this.content(id) === undefined) {
        insertItem(this.#database, given, nowMs, { isDoubtful });
      }
      this.#riding();
      this.#prepare(`UPDATE outbox SET reversed = 1 WHERE transaction_id = ?`).run(
        given.transactionId,
      );
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

  delivery(transactionId: string): Delivery | undefined {
    const row = this.#get(
      `SELECT state, tries, ambiguous, claimed_at_ms IS NOT NULL AND look_next = 0 AS sending
       FROM outbox WHERE transaction_id = ?`,
      [transactionId],
    );
    if (!row) return undefined;
    const ended = Number(row["tries"]) - Number(row["sending"]);
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
    return this.#claim(claimed + dueLongest(0) + returning, { now: nowMs });
  }

  /** Takes the item whose lookup has been due longest. */
  claimToLook(nowMs: number): ClaimedItem | undefined {
    return this.#claim(claimedToLook + dueLongest(1) + returning, { now: nowMs });
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

  /** When the next send or lookup falls due, past or future; undefined when none waits. */
  nextDueAtMs(what: "send" | "look"): number | undefined {
    const row = this.#get(nextDue(what === "look" ? 1 : 0));
    return row?.["at"] === null ? undefined : Number(row?.["at"]);
  }

  /** Ends a try: history, item and claim in one commit. */
  finish(item: ClaimedItem, attempt: Attempt, update: ItemUpdate): void {
    this.turn([{ item, attempt, update }], { which: "due", places: 0, nowMs: 0 });
  }

  #finish({ item, attempt, update }: EndedTry): void {
    this.#addAttempt(item.transactionId, attempt);
    const changes = endTry(this.#database, item.sequence, attempt, update);
    invariant(changes === 1, `the try of ${item.transactionId} was still claimed`);
    if (update.state === "sent") return;
    this.#prepare(namedIsSent).run({ id: item.transactionId, now: attempt.endedAtMs });
  }

  /** Ends a lookup: the item's new state and its claim in one commit. */
  finishLook({ transactionId }: ClaimedItem, update: LookUpdate): void {
    transaction(this.#database, () => {
      const { changes } = this.#prepare(
        `UPDATE outbox SET claimed_at_ms = NULL, state = :state, ${setDoubt},
           next_try_at_ms = ifnull(:next, next_try_at_ms),
           delayed_at_ms = iif(:next IS NULL, delayed_at_ms, :now), reason = :reason,
           settled_at_ms = iif(:state = 'pending', NULL, :now)
         WHERE transaction_id = :id AND claimed_at_ms IS NOT NULL`,
      ).run({
        id: transactionId,
        now: update.endedAtMs,
        state: update.state,
        next: update.nextTryAtMs,
        reason: update.reason,
        ...doubtValues(update.doubt),
      });
      invariant(changes === 1, `the lookup of ${transactionId} was still claimed`);
      this.#prepare(namedIsSent).run({ id: transactionId, now: update.endedAtMs });
    });
  }

  /**
   * Ends the tries that were running when the process died: whether they reached the gateway is
   * not known, so they are looked up first. An item to which it happens again waits longer and
   * longer, so that one that kills the process cannot keep the others back. A lookup that was
   * running is repeated after a while. Returns the transaction ids. Only at start, before
   * anything is claimed.
   */
  endInterruptedTries(nowMs: number, delayMs: (failures: number) => number): string[] {
    return transaction(this.#database, () => {
      this.#prepare(
        `UPDATE outbox SET claimed_at_ms = NULL, next_try_at_ms = :now + :pause,
           delayed_at_ms = :now WHERE ${isClaimed} AND look_next = 1`,
      ).run({ now: nowMs, pause: LOOK_AGAIN_MS });
      const rows = this.#prepare(
        `UPDATE outbox SET claimed_at_ms = NULL, ambiguous = 1, failures = failures + 1
         WHERE ${isClaimed} AND look_next = 0 ${returning}`,
      ).all();
      const inDoubt = this.#prepare(`UPDATE outbox SET ${setDoubt} WHERE transaction_id = :id`);
      const delay = this.#prepare(
        `UPDATE outbox SET next_try_at_ms = ?, delayed_at_ms = ? WHERE transaction_id = ?`,
      );
      return rows.map((row) => {
        const transactionId = String(row["transaction_id"]);
        const doubt = doubtAfterSend("interrupted", doubtOf(row), nowMs);
        inDoubt.run({ id: transactionId, ...doubtValues(doubt) });
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
    const rows = this.#prepare(
      `SELECT state, items FROM outbox_counts WHERE state <> 'steps'`,
    ).all();
    const counts = { pending: 0, sent: 0, parked: 0, closed: 0 };
    for (const row of rows) counts[row["state"] as DeliveryState] = Number(row["items"]);
    return counts;
  }

  /** Since when the first of those that are parked is; null when none is. */
  parkedSinceMs(): number | null {
    const row = this.#get(`SELECT min(settled_at_ms) AS at FROM outbox WHERE state = 'parked'`);
    return (row?.["at"] ?? null) as number | null;
  }

  /** When the oldest pending item was queued; undefined when none is pending. */
  oldestQueuedAtMs(): number | undefined {
    const row = this.#get(oldestPending);
    return row?.["at"] === null ? undefined : Number(row?.["at"]);
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

  #claim(sql: string, values: Record<string, string | number>): ClaimedItem | undefined {
    const row = this.#prepare(sql).get(values);
    if (!row) return undefined;
    const transactionId = String(row["transaction_id"]);
    const since = row["no_result_since_ms"];
    return {
      sequence: Number(row["sequence"]),
      transactionId,
      ...this.#stored(transactionId),
      number: Number(row["tries"]),
      startedAtMs: Number(values["now"]),
      history: {
        failures: Number(row["failures"]),
        noResultSinceMs: typeof since === "number" ? since : null,
        noResultTries: Number(row["no_result_tries"]),
      },
      doubt: doubtOf(row),
    };
  }

  #stored(transactionId: string): Pick<ClaimedItem, "orderId" | "content"> {
    const sql = `SELECT order_id, content FROM transactions WHERE transaction_id = ?`;
    const row = this.#get(sql, [transactionId]);
    invariant(row, `outbox item ${transactionId} has its transaction`);
    return { orderId: String(row["order_id"]), content: String(row["content"]) };
  }

  #get(sql: string, values: readonly string[] = []): Record<string, SQLOutputValue> | undefined {
    return this.#prepare(sql).get(...values);
  }

  #prepare(sql: string): StatementSync {
    return prepared(this.#database, sql);
  }
}
