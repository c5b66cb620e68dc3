import type { SQLInputValue } from "node:sqlite";
import type { Chore } from "../../shared/program/daily.ts";
import { type Clock, DAY_MS } from "../../shared/time.ts";
import type { Attempt, AttemptState, PaymentRequest } from "../attempts/payment.ts";
import { phasesWith, phaseTable } from "../attempts/phase-table.ts";
import {
  ARCHIVED,
  bareRequest,
  keptEnd,
  returnedOfKept,
  stateOfKept,
} from "../attempts/rebuilt-attempt.ts";
import type { LedgerEntry } from "../attempts/reconciliation/ledger-policy.ts";
import {
  endedStatuses,
  isUnread,
  type ListedAttempt,
  type ListPage,
  listedIn,
  listedOf,
  listings,
  merged,
  neverSold,
  phaseIn,
  readJson,
  returnedOf,
} from "./attempt-columns.ts";
import { type Row, rows } from "./database/statements.ts";
import {
  CLOSINGS_COMPARED,
  entryOf,
  type Kept,
  keptLedgerOf,
  spokenOf,
} from "./reconciliation-rows.ts";
import { closings, mayHaveClosed } from "./terminal-rows.ts";

/** The number of orders archived in one transaction; a payment may wait some ms for it. */
const BATCH = 20;

/** For each value of `archive` in the phase table: when an attempt may be archived, as SQL. */
const isKnownThere = {
  nothing: "hand_off.id IS NULL OR withdrawn = 2",
  delivery: "acknowledged = 1 AND withdrawn <= 0 AND delivery IN ('sent', 'closed')",
  withdrawal: "acknowledged = 1 AND withdrawn = 2",
  never: "FALSE",
};

/**
 * The SQL condition that a whole order may be archived: every attempt ended before the time limit,
 * charges were sent to the gateway or closed, the supervisor knows the reversals, and the kiosk has
 * read the answer about a generated order id and about each late charge (docs/rules/11-unread.md).
 */
const isArchivable = `
  SELECT min((
    ${phaseIn(({ archive }) => archive !== "never")}
    AND open_return IS NULL
    AND ended_at_ms IS NOT NULL AND max(ended_at_ms, started_at_ms) < ?
    AND (${neverSold} OR generated_id = 0 OR answer_delivered = 1)
    AND NOT (${isUnread})
    AND CASE phase ${phasesWith(() => true)
      .map((phase) => `WHEN '${phase}' THEN ${isKnownThere[phaseTable[phase].archive]}`)
      .join(" ")}
    END) IS TRUE) AS archivable
  FROM attempt LEFT JOIN hand_off USING (transaction_id) WHERE order_id = ?`;

const isOldEnough = "started_at_ms < ?1 AND (started_at_ms, rowid) > (?2, ?3)";

const listed = listings(
  "archived_order",
  "archived_status",
  (page) => `SELECT archived_order.*, page.position AS position
    FROM (${page}) AS page CROSS JOIN archived_order ON archived_order.rowid = page.position`,
);

/** The position before all attempts, at which the search for old orders begins. */
const oldest = { startedAtMs: -1, position: -1 };

/** Stores the orders older than JOURNAL_DAYS, each with its outcome and amounts. */
export class Archive extends rows("archive", {
  next: `SELECT page.started_at_ms AS started_at_ms, position, order_id
    FROM (${merged(endedStatuses, "attempt", "attempt_status", isOldEnough)}
      ORDER BY started_at_ms, position LIMIT ?4) AS page
      CROSS JOIN attempt ON attempt.rowid = page.position`,
  isArchivable,
  attempts: `SELECT attempt.*, delivery, NULL AS handed_minor
    FROM attempt LEFT JOIN hand_off USING (transaction_id) WHERE order_id = ?`,
  comparable: `SELECT id FROM ${closings} WHERE ${mayHaveClosed}
    ORDER BY id DESC LIMIT 1 OFFSET ${CLOSINGS_COMPARED - 1}`,
  spokenOf,
  keep: `INSERT INTO archived_order (transaction_id, order_id, number, amount_minor, currency,
      generated_id, delivery, started_at_ms, ended_at_ms, kept, after_telecollection)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  holds: "SELECT 1 FROM archived_order WHERE order_id = ? LIMIT 1",
  ofOrder: "SELECT * FROM archived_order WHERE order_id = ? ORDER BY number",
  startOf: "SELECT started_at_ms FROM archived_order WHERE rowid = ?",
  noteReturn: `UPDATE archived_order SET kept = json_set(kept, '$.end.returnedMinor', ?1)
    WHERE transaction_id = ?2
      AND ${phaseIn(({ gateway }) => gateway === "begin", "json_extract(kept, '$.end.phase')")}
      AND json_extract(kept, '$.end.returnedMinor') < ?1`,
  dropHandOff: "DELETE FROM hand_off WHERE transaction_id = ?",
  dropEvents: "DELETE FROM attempt_event WHERE transaction_id = ?",
  dropAttempt: "DELETE FROM attempt WHERE transaction_id = ?",
  // When the newest attempt is gone, its row id is given again.
  packedUpTo: `UPDATE packing SET position = (SELECT ifnull(max(rowid), 0) FROM attempt)
    WHERE position > (SELECT ifnull(max(rowid), 0) FROM attempt)`,
  unsent: `SELECT transaction_id FROM attempt JOIN hand_off USING (transaction_id)
    WHERE ended_at_ms < ? AND acknowledged = 1 AND delivery IN ('pending', 'parked')
      AND delivery = 'pending' AND withdrawn <= 0`,
}) {
  readonly #listed = this.statements.add("archived listed", listed);

  /**
   * Archives, in one transaction, the orders of the next `limit` old attempts, if they may be
   * archived. Returns how many, and in `next` where to continue; undefined: all were checked.
   */
  putAway(beforeMs: number, limit: number, after = oldest) {
    return this.statements.transaction(() => {
      const ended = this.sql.next.all(beforeMs, after.startedAtMs, after.position, limit);
      const orders = [...new Set(ended.map((row) => String(row["order_id"])))].filter(
        (orderId) => this.sql.isArchivable.get(beforeMs, orderId)?.["archivable"] === 1,
      );
      for (const orderId of orders) this.#putAwayOrder(orderId);
      if (orders.length > 0) this.sql.packedUpTo.run();
      const last = ended.length === limit ? ended.at(-1) : undefined;
      const next = last && {
        startedAtMs: Number(last["started_at_ms"]),
        position: Number(last["position"]),
      };
      return { archived: orders.length, next };
    });
  }

  /** Returns the transactions that ended before `beforeMs` and still wait for the gateway. */
  unsentBefore(beforeMs: number): string[] {
    return this.sql.unsent.all(beforeMs).map((row) => String(row["transaction_id"]));
  }

  ofOrder(orderId: string): Attempt[] {
    // A cheap cached query comes first, because nearly no new order is in the archive.
    if (!this.sql.holds.kept(orderId)) return [];
    return this.sql.ofOrder.all(orderId).map(attemptOf);
  }

  list(page: ListPage): ListedAttempt[] {
    // A query for no rows would take as long as one for ten rows.
    if (page.limit === 0) return [];
    const rows = listedIn(this.#listed, this.sql.startOf, page);
    return rows.map((row) => listedOf(row, attemptOf(row)));
  }

  /** Notes how much of an archived order was paid back, in minor units; never less than before. */
  noteReturn(transactionId: string, returnedMinor: number): void {
    this.sql.noteReturn.run(returnedMinor, transactionId);
  }

  #putAwayOrder(orderId: string): void {
    for (const row of this.sql.attempts.all(orderId)) {
      this.sql.keep.run(...keptColumns(row, this.#ledgerOf(row)));
      const transactionId = String(row["transaction_id"]);
      this.sql.dropHandOff.run(transactionId);
      this.sql.dropEvents.run(transactionId);
      this.sql.dropAttempt.run(transactionId);
    }
  }

  /** Returns what an end-of-day comparison needs of the attempt; undefined if it is too old. */
  #ledgerOf(row: Row): LedgerEntry | undefined {
    const after = row["after_telecollection"];
    const since = Number(this.sql.comparable.get()?.["id"] ?? 0);
    if (typeof after !== "number" || after < since) return undefined;
    return entryOf(row, this.sql.spokenOf);
  }
}

function keptColumns(row: Row, ledger: LedgerEntry | undefined): SQLInputValue[] {
  const { currency } = readJson<PaymentRequest>(row["request"]);
  const end = keptEnd(readJson<AttemptState>(row["state"]), returnedOf(row));
  const kept: Kept = { currency, end, ...(ledger ? { ledger: keptLedgerOf(ledger) } : {}) };
  const before = ["transaction_id", "order_id", "number", "amount_minor", "currency"];
  const after = ["generated_id", "delivery", "started_at_ms", "ended_at_ms"];
  const columns = [...before, ...after].map((name) => row[name] as SQLInputValue);
  return [...columns, JSON.stringify(kept), ledger?.afterClosing ?? null];
}

function attemptOf(row: Row): Attempt {
  const { currency, end } = readJson<Kept>(row["kept"]);
  const amountMinor = Number(row["amount_minor"]);
  const returnedMinor = returnedOfKept(end);
  const bare = bareRequest(String(row["order_id"]), amountMinor, currency, ARCHIVED);
  return {
    transactionId: String(row["transaction_id"]),
    number: Number(row["number"]),
    request: { ...bare, generatedId: row["generated_id"] === 1 },
    state: stateOfKept(end, currency),
    startedAtMs: Number(row["started_at_ms"]),
    endedAtMs: Number(row["ended_at_ms"]),
    baseline: null,
    ticket: "",
    returnedMinor,
    returnedSome: returnedMinor > 0,
    openReturn: null,
  };
}

/**
 * Returns the daily task that archives the orders older than `days` that may be archived. `learn`
 * asks for a delivery state.
 */
export function archiveChore(
  archive: Archive,
  days: number,
  clock: Clock,
  learn: (transactionId: string) => Promise<unknown>,
): Chore {
  return {
    name: "archive of the journal",
    async run(mayGoOn) {
      const beforeMs = clock.now() - days * DAY_MS;
      for (const transactionId of archive.unsentBefore(beforeMs)) await learn(transactionId);
      let { next } = archive.putAway(beforeMs, BATCH);
      while (next !== undefined && (await mayGoOn())) {
        ({ next } = archive.putAway(beforeMs, BATCH, next));
      }
    },
  };
}
