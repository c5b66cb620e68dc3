import type { DatabaseSync } from "node:sqlite";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { inTransaction, Tables } from "../../shared/store/sqlite.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Verdict } from "../gateway/faults.ts";
import {
  type ClaimedItem,
  endClaim,
  type ItemRow,
  type ItemUpdate,
  insertItem,
  itemColumns,
  itemOf,
  maybeSent,
  namedIsSent,
  reversedIsClosed,
} from "./item-rows.ts";
import { delayCeilingMs } from "./retry-policy.ts";
import { uncertainAfterSend } from "./uncertain-send-policy.ts";

interface Attempt extends Omit<Verdict, "retryAfter" | "fields"> {
  readonly number: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly ambiguous: boolean;
  readonly notes: readonly string[];
}

export interface EndedTry {
  readonly item: ClaimedItem;
  readonly attempt: Attempt;
  readonly update: ItemUpdate;
}

/** How many of the first and of the last tries of an item are stored. */
const ATTEMPTS_KEPT_FIRST = 10;
const ATTEMPTS_KEPT_LAST = 40;

/** After this pause a lookup is repeated that was running when the program ended. */
const LOOKUP_REPEATED_MS = 60_000;

/** The next step of a waiting item, stored in the column `look_next`. */
type Step = "send" | "lookup";
const column = { send: 0, lookup: 1 } as const satisfies Record<Step, 0 | 1>;

/** The WHERE conditions of claimed, waiting and delayed items, exactly as in their indexes. */
const isClaimed = (step: Step): string =>
  `state = 'pending' AND claimed_at_ms > 0 AND look_next = ${column[step]}`;
const isWaiting = (step: Step): string =>
  `state = 'pending' AND look_next = ${column[step]} AND claimed_at_ms IS NULL`;
const isDelayed = "next_try_at_ms > delayed_at_ms";

/**
 * Returns the query for the item that has been due longest. An item is due if it has no delay, if
 * its delay is over, or if its delay began later than now because the clock was set back. An index
 * finds the first item of each of these three kinds.
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

const claims = {
  due: claim("send", dueLongest("send")),
  /** Claims the oldest item, due or not: the only try while the gateway refuses the credentials. */
  oldest: claim(
    "send",
    `SELECT sequence FROM outbox INDEXED BY outbox_age
     WHERE ${isWaiting("send")} ORDER BY queued_at_ms, sequence LIMIT 1`,
  ),
  lookup: claim("lookup", dueLongest("lookup")),
  /** Claims the item of one transaction, due or not. */
  one: claim("send", "SELECT sequence FROM outbox WHERE transaction_id = :id"),
};

const anyWaiting = `SELECT 1 FROM outbox INDEXED BY outbox_waiting
  WHERE state = 'pending' AND claimed_at_ms IS NULL LIMIT 1`;

const nextDue = (step: Step): string => {
  const first = (delayed: 0 | 1): string => `SELECT min(next_try_at_ms) AS at FROM outbox
    WHERE ${isWaiting(step)} AND (${isDelayed}) = ${delayed}`;
  return `SELECT min(at) AS at FROM (${first(0)} UNION ALL ${first(1)})`;
};

/** The query for the time at which the oldest pending item, waiting or claimed, was queued. */
const oldestPending = `SELECT min(at) AS at FROM (
    SELECT min(queued_at_ms) AS at FROM outbox INDEXED BY outbox_age WHERE ${isWaiting("send")}
    UNION ALL SELECT min(queued_at_ms) FROM outbox INDEXED BY outbox_age
      WHERE ${isWaiting("lookup")}
    UNION ALL SELECT min(queued_at_ms) FROM outbox WHERE ${isClaimed("send")}
    UNION ALL SELECT min(queued_at_ms) FROM outbox WHERE ${isClaimed("lookup")})`;

/** The statement that makes an item due that the reversal of its sale had closed. */
const closedIsDue = `UPDATE outbox SET state = 'pending', next_try_at_ms = :now,
    delayed_at_ms = :now, failures = 0, no_result_since_ms = NULL, no_result_tries = 0,
    reason = NULL, settled_at_ms = NULL
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state = 'closed' AND reversed = 1`;

/** Returns whether two contents of a transaction name the same order and the same amount. */
function isSameSale(given: Transaction, known: Transaction): boolean {
  const names = ["orderId", "amountMinor", "currency", "exponent"] as const;
  return names.every((name) => given[name] === known[name]);
}

/** The outbox in SQLite; every change is on disk when the call returns (docs/design.md 2.1). */
export class OutboxStore extends Tables {
  readonly #alsoWrite: () => void;

  /** `alsoWrite` is called inside each commit that stores a transaction from tp-manager. */
  constructor(database: DatabaseSync, alsoWrite: () => void = () => undefined) {
    super(database);
    this.#alsoWrite = alsoWrite;
  }

  /** Returns the stored JSON of a transaction; undefined: the transaction is unknown. */
  content(transactionId: string): string | undefined {
    const sql = "SELECT content FROM transactions WHERE transaction_id = ?";
    return this.get<{ content: string }>(sql, transactionId)?.content;
  }

  othersOfOrder({ orderId, transactionId }: Transaction): string[] {
    const sql = `SELECT transaction_id AS id FROM transactions
      WHERE order_id = ? AND transaction_id <> ?`;
    return this.all<{ id: string }>(sql, orderId, transactionId).map(({ id }) => id);
  }

  /**
   * Stores a new transaction and its position in the queue in one commit. `mayBeSent`: a lost
   * database may have sent the transaction, so it is looked up first. `isClaimed`: the same commit
   * claims the item for its first try. Returns the claimed item; undefined: the item waits.
   */
  add(
    given: Transaction,
    nowMs: number,
    how: Parameters<typeof insertItem>[3] = {},
  ): ClaimedItem | undefined {
    const isClaimed = how.isClaimed === true && !how.mayBeSent;
    return this.together(() => {
      const item = insertItem(this.database, given, nowMs, { ...how, isClaimed });
      this.#alsoWrite();
      return isClaimed ? item : undefined;
    });
  }

  /**
   * Closes the item of a sale that was reversed at the terminal; a new transaction is stored first.
   * "running": a try is under way, so the caller asks again. "sent": the gateway has or may have
   * the order; the item is closed as well, because another send would book a reversed sale.
   * `mayBeSent`: a lost database may have sent a new transaction.
   */
  withdraw(given: Transaction, nowMs: number, mayBeSent = false): "closed" | "sent" | "running" {
    const { transactionId: id } = given;
    type Row = { state: DeliveryState; claimedAtMs: number | null; ambiguous: number };
    return this.together(() => {
      if (this.content(id) === undefined) insertItem(this.database, given, nowMs, { mayBeSent });
      this.#alsoWrite();
      this.run("UPDATE outbox SET reversed = 1 WHERE transaction_id = ?", id);
      this.run(reversedIsClosed, { id, now: nowMs });
      const sql = `SELECT state, claimed_at_ms AS claimedAtMs, ambiguous
        FROM outbox WHERE transaction_id = ?`;
      const row = this.get<Row>(sql, id);
      if (row?.claimedAtMs !== null) return "running";
      // An item that an operator dropped may have reached the gateway before.
      return row.state === "closed" && row.ambiguous === 0 ? "closed" : "sent";
    });
  }

  /**
   * Ends the withdrawal of a sale that is charged after all, even if no withdrawal has come here:
   * an item that the withdrawal closed is due again, after a lookup if an answer was lost or a lost
   * database may have sent it (`mayBeSent`). Returns false, without a change, for an item that the
   * gateway has or may have with another amount.
   */
  restore(given: Transaction, nowMs: number, mayBeSent = false): boolean {
    const { transactionId: id } = given;
    const sql = `SELECT state = 'sent' OR ambiguous = 1 OR claimed_at_ms IS NOT NULL AS mayBeThere,
      content FROM outbox JOIN transactions USING (transaction_id) WHERE transaction_id = ?`;
    const lookup = `UPDATE outbox SET ${maybeSent}
      WHERE transaction_id = :id AND (ambiguous = 1 OR :mayBeSent)`;
    return inTransaction(this.database, () => {
      const row = this.get<{ mayBeThere: number; content: string }>(sql, id);
      if (!row || (row.mayBeThere && !isSameSale(given, JSON.parse(row.content)))) return false;
      const content = JSON.stringify(given);
      this.run("UPDATE transactions SET content = ? WHERE transaction_id = ?", content, id);
      const isDue = this.run(closedIsDue, { id, now: nowMs }) > 0;
      if (isDue) this.run(lookup, { id, now: nowMs, mayBeSent: mayBeSent ? 1 : 0 });
      this.run("UPDATE outbox SET reversed = 0 WHERE transaction_id = ?", id);
      this.run(namedIsSent, { id, now: nowMs });
      this.#alsoWrite();
      return true;
    });
  }

  delivery(transactionId: string) {
    type Row = { state: DeliveryState; ambiguous: number; ended: number };
    const sql = `SELECT state, ambiguous,
        tries - (claimed_at_ms IS NOT NULL AND look_next = 0) AS ended
      FROM outbox WHERE transaction_id = ?`;
    const row = this.get<Row>(sql, transactionId);
    if (!row) return undefined;
    const { state, ambiguous, ended } = row;
    return { state, firstTryEnded: ended > 0, ambiguous: ambiguous === 1 };
  }

  /** Claims a waiting item; undefined: none waits. `id`: the transaction, if `which` is "one". */
  claim(which: keyof typeof claims, nowMs: number, id?: string): ClaimedItem | undefined {
    const one = id === undefined ? {} : { id };
    const row = this.get<ItemRow>(claims[which], { now: nowMs, ...one });
    return row && itemOf(row, nowMs);
  }

  /** Records finished tries and claims at most `limit` items, all in one commit. */
  endAndClaim(
    ended: readonly EndedTry[],
    { which, limit, nowMs }: { which: "due" | "oldest"; limit: number; nowMs: number },
  ): ClaimedItem[] {
    return this.together(() => {
      for (const one of ended) this.#end(one);
      const items: ClaimedItem[] = [];
      // Nearly always nothing waits, which is found faster than that nothing is due.
      const most = limit > 0 && this.get(anyWaiting) ? limit : 0;
      while (items.length < most) {
        const item = this.claim(which, nowMs);
        if (!item) break;
        items.push(item);
      }
      return items;
    });
  }

  /** Returns when the next send or lookup is or was due; undefined: no item waits for one. */
  nextDueAtMs(step: Step): number | undefined {
    return this.#moment(nextDue(step)) ?? undefined;
  }

  /** Records a finished lookup; `report` gets the item's new state inside the same commit. */
  endLookup(
    item: ClaimedItem,
    update: Pick<ItemUpdate, "state" | "nextTryAtMs" | "uncertain" | "reason">,
    endedAtMs: number,
    report: (state: DeliveryState | undefined) => void = () => undefined,
  ): void {
    const kept = { history: item.history, redirectUrl: null };
    this.together(() => {
      endClaim(this.database, item, { ...update, ...kept }, endedAtMs, false);
      report(this.delivery(item.transactionId)?.state);
    });
  }

  /**
   * Ends the tries that ran when the program died, and returns their transaction ids; called at the
   * start, before any claim. These sends may have reached the gateway, so the items are looked up
   * first. An item waits longer each time, so that an item that kills the program cannot delay all
   * other items for ever. An interrupted lookup is repeated after {@link LOOKUP_REPEATED_MS}.
   */
  endInterruptedTries(nowMs: number, delayMs = delayCeilingMs): string[] {
    return this.together(() => {
      const lookups = `UPDATE outbox SET claimed_at_ms = NULL, next_try_at_ms = :now + :pause,
        delayed_at_ms = :now WHERE ${isClaimed("lookup")}`;
      this.run(lookups, { now: nowMs, pause: LOOKUP_REPEATED_MS });
      const sends = `SELECT ${itemColumns} FROM outbox WHERE ${isClaimed("send")}`;
      return this.all<ItemRow>(sends).map((row) => {
        const item = itemOf(row, nowMs);
        const { failures } = item.history;
        const attempt: Attempt = {
          number: item.number,
          startedAtMs: nowMs,
          endedAtMs: nowMs,
          class: "interrupted",
          httpStatus: null,
          code: null,
          description: "the program ended during this try",
          ambiguous: true,
          notes: [],
        };
        const update: ItemUpdate = {
          state: "pending",
          nextTryAtMs: failures > 0 ? nowMs + delayMs(failures) : null,
          history: { ...item.history, failures: failures + 1 },
          uncertain: uncertainAfterSend("interrupted", item.uncertain, nowMs),
          redirectUrl: null,
          reason: null,
        };
        this.#end({ item, attempt, update });
        return item.transactionId;
      });
    });
  }

  counts(): Readonly<Record<DeliveryState, number>> {
    type Count = { state: DeliveryState; items: number };
    const sql = "SELECT state, items FROM outbox_counts WHERE state <> 'steps'";
    const rows = this.all<Count>(sql).map(({ state, items }) => [state, items]);
    return Object.fromEntries(rows) as Record<DeliveryState, number>;
  }

  /** Returns since when the oldest parked item is parked; null: no item is parked. */
  parkedSinceMs(): number | null {
    const sql = `SELECT min(settled_at_ms) AS at FROM outbox WHERE state = 'parked'`;
    return this.#moment(sql);
  }

  /** Returns when the oldest pending item was queued; null: no item is pending. */
  oldestQueuedAtMs(): number | null {
    return this.#moment(oldestPending);
  }

  #moment(sql: string): number | null {
    return this.get<{ at: number | null }>(sql)?.at ?? null;
  }

  /** Records a finished try and ends the item's claim, inside the caller's commit. */
  #end({ item, attempt, update }: EndedTry): void {
    const { transactionId } = item;
    const { number, startedAtMs, endedAtMs, ambiguous, notes } = attempt;
    const { class: tryClass, httpStatus, code, description } = attempt;
    endClaim(this.database, item, update, endedAtMs, ambiguous);
    if (ambiguous) this.run("UPDATE ambiguous_sends SET sends = sends + 1");
    const began = [transactionId, number, startedAtMs, endedAtMs];
    const end = [tryClass, httpStatus, code, description, ambiguous ? 1 : 0, JSON.stringify(notes)];
    this.run("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ...began, ...end);
    if (number <= ATTEMPTS_KEPT_FIRST + ATTEMPTS_KEPT_LAST) return;
    const sql = "DELETE FROM attempts WHERE transaction_id = ? AND number > ? AND number <= ?";
    this.run(sql, transactionId, ATTEMPTS_KEPT_FIRST, number - ATTEMPTS_KEPT_LAST);
  }
}
