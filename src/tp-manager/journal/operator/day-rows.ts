import type { Reconciliation } from "../../attempts/reconciliation/reconciliation.ts";
import type { TelecollectionEnd } from "../../terminal/terminal.ts";
import { readJson } from "../attempt-columns.ts";
import { type Row, rows } from "../database/statements.ts";
import { reconciliationOf } from "../reconciliation-rows.ts";
import { mayHaveClosed, type TelecollectionAsker } from "../terminal-rows.ts";

/** How the terminal was within an hour, and how many transactions waited for the gateway. */
export interface HourRow {
  /** Epoch milliseconds of the hour's begin on the kiosk's clock. */
  readonly atMs: number;
  /** How long a payment would have been accepted, or ran. */
  readonly readyMs: number;
  /** How long there was a link, and a payment would have been refused. */
  readonly refusingMs: number;
  readonly noLinkMs: number;
  /** The greatest number of waiting transactions; null: the supervisor did not report it. */
  readonly waitingMax: number | null;
}

/** An end of day that may have closed something, and its comparison where there is one. */
export interface ClosingOfDay {
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly askedBy: TelecollectionAsker;
  /** null: its end was not received. */
  readonly end: TelecollectionEnd | null;
  readonly reconciliation: Reconciliation | null;
}

/** A day has an end of day or two. */
const CLOSINGS_MAX = 50;

const texts = {
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
};

/** The facts about a day that its attempts do not hold: hours, and ends of day by their time. */
export class DayRows extends rows("day", texts) {
  /** Adds to what the hour has, and drops hours that began before `keepMs`. */
  addHour({ atMs, readyMs, refusingMs, noLinkMs, waitingMax }: HourRow, keepMs: number): void {
    this.statements.transaction(() => {
      this.sql.add.run(atMs, readyMs, refusingMs, noLinkMs, waitingMax);
      this.sql.drop.run(keepMs);
    });
  }

  /** Hours that began in the range, in their order. */
  hours(fromMs: number, untilMs: number): HourRow[] {
    return this.sql.hours.all(fromMs, untilMs);
  }

  /** Ends of day that were begun in the range, in their order. */
  closings(fromMs: number, untilMs: number): ClosingOfDay[] {
    return this.sql.closings.all(fromMs, untilMs).map((row) => this.#closingOf(row));
  }

  #closingOf(row: Row): ClosingOfDay {
    const compared = this.sql.compared.get(row["id"] ?? null);
    return {
      startedAtMs: Number(row["started_at_ms"]),
      endedAtMs: row["ended_at_ms"] as number | null,
      askedBy: row["asked_by"] as TelecollectionAsker,
      end: readJson(row["result"]),
      reconciliation: compared ? reconciliationOf(compared) : null,
    };
  }
}
