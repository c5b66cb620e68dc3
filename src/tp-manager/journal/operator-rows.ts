import {
  type DeliveryState,
  FLEET_REQUEST,
  type SupervisorAnswer,
} from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { EventData } from "../attempts/event-table.ts";
import type { AcknowledgedKind, SettledUnmatched } from "../attempts/findings.ts";
import type { Reconciliation } from "../attempts/reconciliation/reconciliation-policy.ts";
import type { TelecollectionEnd } from "../terminal/terminal.ts";
import { isUnread, readJson } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import { type Row, rows } from "./database/statements.ts";
import type { Emit, EventRows } from "./event-rows.ts";
import { reconciliationOf } from "./reconciliation-rows.ts";
import { mayHaveClosed, type TelecollectionAsker, unmatchedOf } from "./terminal-rows.ts";

/** The state of the terminal within one hour, and how many transactions waited for the gateway. */
export interface HourRow {
  /** The begin of the hour on the kiosk's clock, in epoch milliseconds. */
  readonly atMs: number;
  /** How long the terminal was ready for a payment or ran a payment, in milliseconds. */
  readonly readyMs: number;
  /** How long the terminal was connected but would have refused a payment, in milliseconds. */
  readonly refusingMs: number;
  readonly noLinkMs: number;
  /** The greatest number of transactions that waited; null if the supervisor did not report it. */
  readonly waitingMax: number | null;
}

/** The most ends of day that are read for one day; usually there are one or two. */
const CLOSINGS_MAX = 50;

/** Stores the terminal's state in each hour, and reads the ends of day of one day. */
export class DayRows extends rows("day", {
  add: `INSERT INTO hour (at_ms, ready_ms, refusing_ms, no_link_ms, waiting_max)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (at_ms) DO UPDATE SET ready_ms = ready_ms + excluded.ready_ms,
      refusing_ms = refusing_ms + excluded.refusing_ms,
      no_link_ms = no_link_ms + excluded.no_link_ms,
      waiting_max = nullif(max(ifnull(waiting_max, -1), ifnull(excluded.waiting_max, -1)), -1)`,
  drop: "DELETE FROM hour WHERE at_ms < ?",
  hours: `SELECT at_ms AS atMs, ready_ms AS readyMs, refusing_ms AS refusingMs,
      no_link_ms AS noLinkMs, waiting_max AS waitingMax
    FROM hour WHERE at_ms >= ? AND at_ms < ? ORDER BY at_ms`,
  closings: `SELECT * FROM telecollection INDEXED BY telecollection_closing_time
    WHERE started_at_ms >= ? AND started_at_ms < ? AND ${mayHaveClosed}
    ORDER BY started_at_ms LIMIT ${CLOSINGS_MAX}`,
  compared: "SELECT * FROM reconciliation WHERE telecollection_id = ?",
}) {
  /** Adds to the figures of an hour, and deletes the figures of hours before `keepMs`. */
  addHour({ atMs, readyMs, refusingMs, noLinkMs, waitingMax }: HourRow, keepMs: number): void {
    this.statements.transaction(() => {
      this.sql.add.run(atMs, readyMs, refusingMs, noLinkMs, waitingMax);
      this.sql.drop.run(keepMs);
    });
  }

  /** Returns the hours that began between `fromMs` and `untilMs`, oldest first. */
  hours(fromMs: number, untilMs: number): HourRow[] {
    return this.sql.hours.all(fromMs, untilMs);
  }

  /** Returns the ends of day that began between the two times, oldest first. */
  closings(fromMs: number, untilMs: number) {
    return this.sql.closings.all(fromMs, untilMs).map((row) => {
      const compared = this.sql.compared.get(row["id"] ?? null);
      return {
        startedAtMs: Number(row["started_at_ms"]),
        endedAtMs: row["ended_at_ms"] as number | null,
        askedBy: row["asked_by"] as TelecollectionAsker,
        /** The terminal's answer to the end of day; null when no answer was received. */
        end: readJson<TelecollectionEnd | null>(row["result"]),
        reconciliation: compared ? reconciliationOf(compared) : null,
      };
    });
  }
}

export type ClosingOfDay = ReturnType<DayRows["closings"]>[number];

/** The most waiting items that are counted, because each request counts them anew. */
const COUNTED_MAX = 1_000;

const isUnmatched = "finding IN ('held', 'unclear') AND seen_ms IS NULL";
const isDifference = "result IN ('differs', 'jump') AND seen_ms IS NULL";
const unmatched = `unexpected_report INDEXED BY unexpected_report_waiting WHERE ${isUnmatched}`;
const differences = `reconciliation INDEXED BY reconciliation_waiting WHERE ${isDifference}`;
const countOf = (rows: string): string => `SELECT count(*) AS n, min(at_ms) AS since FROM
    (SELECT at_ms FROM ${rows} ORDER BY id LIMIT ${COUNTED_MAX})`;

/** The kinds of items that are named by a row number; other items are named by an order id. */
const numbered: ReadonlySet<AcknowledgedKind> = new Set(["unmatched", "difference", "alarm"]);

/** Stores for ever what is acknowledged (docs/design.md 8.8); changes no order, sum or finding. */
export class AcknowledgedRows extends rows("acknowledged", {
  unmatched: `UPDATE unexpected_report SET seen_ms = ?2
    WHERE id = CAST(?1 AS INTEGER) AND ${isUnmatched}`,
  difference: `UPDATE reconciliation SET seen_ms = ?2
    WHERE id = CAST(?1 AS INTEGER) AND ${isDifference}`,
  alarm: "SELECT 1 FROM event WHERE id = CAST(? AS INTEGER) AND name = 'alarm'",
  charge: `SELECT 1 FROM attempt WHERE order_id = ? AND ${isUnread}`,
  return: `SELECT 1 FROM attempt JOIN hand_off USING (transaction_id)
    WHERE order_id = ? AND withdrawn = 2`,
  keep: "INSERT OR REPLACE INTO seen (kind, item, at_ms, note) VALUES (?, ?, ?, ?)",
  at: "SELECT at_ms FROM seen WHERE kind = ? AND item = ?",
  newest: "SELECT max(at_ms) AS at_ms FROM seen WHERE kind = ?",
  countUnmatched: countOf(unmatched),
  countDifferences: countOf(differences),
  allUnmatched: `SELECT * FROM ${unmatched} ORDER BY id DESC LIMIT ?`,
  differences: `SELECT * FROM ${differences} ORDER BY id DESC LIMIT ?`,
}) {
  /** Acknowledges `item`, a row number or order id. Returns false if no such item waits. */
  mark(kind: AcknowledgedKind, item: string, note: string, atMs: number): boolean {
    if (numbered.has(kind) && !/^[1-9]\d{0,15}$/.test(item)) return false;
    return this.statements.transaction(() => {
      // Only a charge can be acknowledged again.
      const isNews = kind === "charge" || this.acknowledgedAtMs(kind, item) === null;
      const waits =
        kind === "unmatched" || kind === "difference"
          ? Number(this.sql[kind].run(item, atMs).changes) > 0
          : isNews && this.sql[kind].get(item) !== undefined;
      if (waits) this.sql.keep.run(storedKind(kind), item, atMs, note);
      return waits;
    });
  }

  acknowledgedAtMs(kind: AcknowledgedKind, item: string): number | null {
    return timeOf(this.sql.at.get(storedKind(kind), item));
  }

  /** Returns when an item of the kind was last acknowledged; null: never. */
  newestMs(kind: AcknowledgedKind): number | null {
    return timeOf(this.sql.newest.get(storedKind(kind)));
  }

  /** Returns how many items of the kind wait for an operator, and since when; null: none. */
  waiting(kind: "unmatched" | "difference") {
    const row = this.sql[kind === "unmatched" ? "countUnmatched" : "countDifferences"].get();
    const count = Number(row?.["n"]);
    return count === 0 ? null : { count, sinceMs: Number(row?.["since"]) };
  }

  waitingUnmatched(limit: number): SettledUnmatched[] {
    return this.sql.allUnmatched.all(limit).map(unmatchedOf);
  }

  waitingDifferences(limit: number): Reconciliation[] {
    return this.sql.differences.all(limit).map(reconciliationOf);
  }
}

/** The database still has the former name of the kind "unmatched". */
function storedKind(kind: AcknowledgedKind): string {
  return kind === "unmatched" ? "stray" : kind;
}

function timeOf(row: Row | undefined): number | null {
  const at = row?.["at_ms"];
  return typeof at === "number" ? at : null;
}

/** Stores the supervisor's alarms and the fleet's requests as events of the journal, each once. */
export class AlarmRows extends rows("alarms", {
  last: "SELECT * FROM alarm_taken ORDER BY taken DESC LIMIT 1",
  lastOf: "SELECT last_id FROM alarm_taken WHERE origin = ?",
  raisedHere: `SELECT 1 FROM event WHERE name = 'alarm' AND json_extract(data, '$.alarm') = ?
    AND json_extract(data, '$.transactionId') = ?
    AND ifnull(json_extract(data, '$.source'), 'tp-manager') = 'tp-manager'`,
  remember: `INSERT INTO alarm_taken (origin, last_id, taken)
      VALUES (?1, ?2, (SELECT ifnull(max(taken), 0) + 1 FROM alarm_taken))
    ON CONFLICT (origin) DO UPDATE SET last_id = ?2, taken = excluded.taken`,
})<{ events: EventRows }> {
  /** The supervisor's database and the id of the last alarm stored from it; undefined: none. */
  get last() {
    const row = this.sql.last.get();
    return row && { origin: String(row["origin"]), id: Number(row["last_id"]) };
  }

  /** Stores the supervisor's alarms as events, and in the same commit the id of the last alarm. */
  take({ origin, alarms }: SupervisorAnswer<"alarms">): void {
    // Without a new alarm nothing is written to the disk.
    if (alarms.length === 0 && this.last?.origin === origin) return;
    this.parts.events.commit((emit) => {
      let lastId = Number(this.sql.lastOf.get(origin)?.["last_id"] ?? 0);
      for (const { id, atMs, about = null, ...alarm } of alarms) {
        if (id <= lastId) continue;
        lastId = id;
        if (alarm.alarm === FLEET_REQUEST) {
          emit("fleet-request", { message: alarm.message, request: about }, atMs);
        } else if (!this.isRaisedHere(alarm)) {
          emit("alarm", { ...alarm, source: "supervisor" }, atMs);
        }
      }
      this.sql.remember.run(origin, lastId);
    });
  }

  /** Whether this program itself has raised the alarm about the transaction, as far as is kept. */
  isRaisedHere(raised: Pick<EventData<"alarm">, "alarm" | "transactionId">): boolean {
    const { alarm, transactionId } = raised;
    return transactionId !== null && this.sql.raisedHere.get(alarm, transactionId) !== undefined;
  }
}

/** The SQL condition that the supervisor refused a hand-off, which no operator has dropped yet. */
const isRefused = "(acknowledged = 0 OR withdrawn = 1) AND set_aside_ms IS NOT NULL";

/** Lists the transactions that the supervisor refuses, and stores an operator's decisions. */
export class RefusedRows extends rows("refused", {
  list: `SELECT id, body, refused, set_aside_ms FROM hand_off WHERE ${isRefused} AND id > ?
    ORDER BY id LIMIT ?`,
  drop: `UPDATE hand_off SET
      refused = iif(acknowledged = 0, refused, NULL),
      delivery = iif(acknowledged = 0, 'closed', delivery),
      acknowledged = 1, withdrawn = iif(withdrawn = 1, 2, withdrawn), set_aside_ms = NULL
    WHERE transaction_id = ? AND ${isRefused}
    RETURNING delivery, withdrawn, refused IS NOT NULL AS closed`,
  reopen: `UPDATE hand_off SET delivery = 'pending' WHERE transaction_id = ?
      AND refused IS NOT NULL AND acknowledged = 1 AND withdrawn <> 1 AND delivery <> 'pending'`,
  requeue: `UPDATE hand_off SET
      acknowledged = iif(withdrawn = 1, acknowledged, 0),
      withdrawn = iif(withdrawn = 2, 1, withdrawn), set_aside_ms = NULL, refused = NULL
    WHERE transaction_id = ? AND refused IS NOT NULL`,
})<{ events: EventRows; attempts: AttemptRows }> {
  /** Returns the refused transactions after the position `after`, oldest first. */
  list(after: number, limit: number) {
    return this.sql.list.all(after, limit).map((row) => ({
      position: Number(row["id"]),
      transaction: readJson<Transaction>(row["body"]),
      why: String(row["refused"]),
      refusedAtMs: Number(row["set_aside_ms"]),
    }));
  }

  /**
   * Drops a refused hand-off. Returns "reversal" when the supervisor may have the sale and refused
   * only its reversal, and undefined when no refused hand-off has this id.
   */
  drop(transactionId: string, note: string, atMs: number): "closed" | "reversal" | undefined {
    const { attempts, events } = this.parts;
    return events.commit((emit) => {
      const [row] = this.sql.drop.all(transactionId);
      if (!row) return undefined;
      attempts.addEvent(transactionId, { atMs, kind: "hand-over-dropped", detail: { note } });
      if (row["closed"] !== 1) return "reversal";
      this.#emit(emit, transactionId, "closed", atMs);
      return "closed";
    });
  }

  /** Makes a refused or dropped transaction due at once. Returns false for an unknown id. */
  requeue(transactionId: string, atMs: number): boolean {
    return this.parts.events.commit((emit) => {
      const { changes } = this.sql.reopen.run(transactionId);
      if (changes > 0) this.#emit(emit, transactionId, "pending", atMs);
      if (this.sql.requeue.run(transactionId).changes === 0) return false;
      this.parts.attempts.addEvent(transactionId, { atMs, kind: "hand-over-requeued", detail: {} });
      return true;
    });
  }

  #emit(emit: Emit, transactionId: string, delivery: DeliveryState, atMs: number): void {
    const orderId = this.parts.attempts.read(transactionId)?.request.orderId ?? "";
    const data = { orderId, transactionId, delivery, notificationGatewaySent: false };
    emit("delivery", data, atMs);
  }
}

export type RefusedHandOff = ReturnType<RefusedRows["list"]>[number];

/** An audit entry: a change that a person made at the operator's console (docs/console.md 3). */
interface AuditEntry {
  readonly id: number;
  readonly atMs: number;
  readonly login: string;
  readonly name: string;
  readonly reason: string;
  readonly call: string;
  /** The body of the call as JSON with card numbers masked; null without a body. */
  readonly body: string | null;
  /** The HTTP status of the answer; null while the call runs, or if the program ended before. */
  readonly http: number | null;
  /** The error code of the answer; null without an error, and in entries of an older version. */
  readonly code: string | null;
}

/** Stores the changes that people made at the operator's console, for ever. */
export class AuditEntryRows extends rows("auditEntries", {
  begin: `INSERT INTO act (at_ms, login, name, reason, call, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  end: "UPDATE act SET http = ?, code = ? WHERE id = ?",
  list: `SELECT id, at_ms AS atMs, login, name, reason, call, body, http, code
    FROM act WHERE id < ? ORDER BY id DESC LIMIT ?`,
}) {
  /** Writes an audit entry to the disk and returns its number. */
  begin(entry: Omit<AuditEntry, "id" | "atMs" | "http" | "code">, atMs: number): number {
    const { login, name, reason, call, body } = entry;
    const { lastInsertRowid } = this.sql.begin.run(atMs, login, name, reason, call, body);
    return Number(lastInsertRowid);
  }

  end(id: number, http: number, code: string | null): void {
    this.sql.end.run(http, code, id);
  }

  list(before: number, limit: number): AuditEntry[] {
    return this.sql.list.all(before, limit);
  }
}
