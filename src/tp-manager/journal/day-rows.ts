import type { ClosingOfDay, DayStore, HourRow } from "../attempts/day-store.ts";
import type { TelecollectionAsker } from "../attempts/terminal-log.ts";
import { readJson } from "./attempt-columns.ts";
import { reconciliationOf } from "./reconciliation-rows.ts";
import type { Row, Statement, Statements } from "./statements.ts";
import { mayHaveClosed } from "./terminal-rows.ts";

/** An hour has an end of day or two. */
const CLOSINGS_MAX = 50;

const texts = {
  add: `INSERT INTO hour (at_ms, ready_ms, refusing_ms, no_link_ms, waiting_max)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (at_ms) DO UPDATE SET ready_ms = ready_ms + excluded.ready_ms,
      refusing_ms = refusing_ms + excluded.refusing_ms,
      no_link_ms = no_link_ms + excluded.no_link_ms,
      waiting_max = nullif(max(ifnull(waiting_max, -1), ifnull(excluded.waiting_max, -1)), -1)`,
  drop: "DELETE FROM hour WHERE at_ms < ?",
  hours: "SELECT * FROM hour WHERE at_ms >= ? AND at_ms < ? ORDER BY at_ms",
  closings: `SELECT * FROM telecollection INDEXED BY telecollection_closing_time
    WHERE started_at_ms >= ? AND started_at_ms < ? AND ${mayHaveClosed}
    ORDER BY started_at_ms LIMIT ${CLOSINGS_MAX}`,
  compared: "SELECT * FROM reconciliation WHERE telecollection_id = ?",
};

/** Hours of the terminal and of the queue, and ends of day by their time. */
export class DayRows implements DayStore {
  readonly #statements: Statements;
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements) {
    this.#statements = statements;
    this.#sql = statements.prepare("day", texts);
  }

  addHour({ atMs, readyMs, refusingMs, noLinkMs, waitingMax }: HourRow, keepMs: number): void {
    this.#statements.transaction(() => {
      this.#sql.add.run(atMs, readyMs, refusingMs, noLinkMs, waitingMax);
      this.#sql.drop.run(keepMs);
    });
  }

  hours(fromMs: number, untilMs: number): HourRow[] {
    return this.#sql.hours.all(fromMs, untilMs).map((row) => ({
      atMs: Number(row["at_ms"]),
      readyMs: Number(row["ready_ms"]),
      refusingMs: Number(row["refusing_ms"]),
      noLinkMs: Number(row["no_link_ms"]),
      waitingMax: row["waiting_max"] === null ? null : Number(row["waiting_max"]),
    }));
  }

  closings(fromMs: number, untilMs: number): ClosingOfDay[] {
    return this.#sql.closings.all(fromMs, untilMs).map((row) => this.#closingOf(row));
  }

  #closingOf(row: Row): ClosingOfDay {
    const compared = this.#sql.compared.get(row["id"] ?? null);
    return {
      startedAtMs: Number(row["started_at_ms"]),
      endedAtMs: row["ended_at_ms"] === null ? null : Number(row["ended_at_ms"]),
      askedBy: row["asked_by"] as TelecollectionAsker,
      end: row["result"] === null ? null : readJson(row["result"]),
      reconciliation: compared ? reconciliationOf(compared) : null,
    };
  }
}
