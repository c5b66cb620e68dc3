import type { AcknowledgedKind, SettledUnmatched } from "../../attempts/findings.ts";
import type { Reconciliation } from "../../attempts/reconciliation/reconciliation.ts";
import { isUnread } from "../answer-rows.ts";
import { type Row, rows } from "../database/statements.ts";
import { reconciliationOf } from "../reconciliation-rows.ts";
import { unmatchedOf } from "../terminal-rows.ts";

/** How many things of one kind wait for an operator. */
interface Waiting {
  readonly count: number;
  /** The time of the oldest of them, epoch milliseconds. */
  readonly sinceMs: number;
}

/** A count ends here, because it is made at each request. */
const COUNTED_MAX = 1_000;

const isUnmatched = "finding IN ('held', 'unclear') AND seen_ms IS NULL";
const isDifference = "result IN ('differs', 'jump') AND seen_ms IS NULL";
const unmatched = `unexpected_report INDEXED BY unexpected_report_waiting WHERE ${isUnmatched}`;
const differences = `reconciliation INDEXED BY reconciliation_waiting WHERE ${isDifference}`;
const countOf = (rows: string): string => `SELECT count(*) AS n, min(at_ms) AS since FROM
    (SELECT at_ms FROM ${rows} ORDER BY id LIMIT ${COUNTED_MAX})`;

/** Kinds whose items are numbers of rows. */
const numbered: ReadonlySet<AcknowledgedKind> = new Set(["unmatched", "difference", "alarm"]);

const texts = {
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
};

/**
 * Marks of things that an operator has acknowledged (docs/design.md 8.8), kept for ever. A mark
 * changes what waits for an operator and nothing else: no order, no sum, no record of a finding.
 */
export class AcknowledgedRows extends rows("acknowledged", texts) {
  /** Acknowledges `item`, a number or an order's id, on disk. false: no such thing waits. */
  mark(kind: AcknowledgedKind, item: string, note: string, atMs: number): boolean {
    if (numbered.has(kind) && !/^[1-9]\d{0,15}$/.test(item)) return false;
    return this.statements.transaction(() => {
      const waits =
        kind === "unmatched" || kind === "difference"
          ? Number(this.sql[kind].run(item, atMs).changes) > 0
          : this.sql[kind].get(item) !== undefined && this.#isNews(kind, item);
      if (waits) this.sql.keep.run(storedKind(kind), item, atMs, note);
      return waits;
    });
  }

  /** When an item was acknowledged; null: it was not. */
  acknowledgedAtMs(kind: AcknowledgedKind, item: string): number | null {
    return timeOf(this.sql.at.get(storedKind(kind), item));
  }

  /** The time of the newest mark of the kind; null: there is none. */
  newestMs(kind: AcknowledgedKind): number | null {
    return timeOf(this.sql.newest.get(storedKind(kind)));
  }

  /** null: none waits. */
  waiting(kind: "unmatched" | "difference"): Waiting | null {
    const row = this.sql[kind === "unmatched" ? "countUnmatched" : "countDifferences"].get();
    const count = Number(row?.["n"]);
    return count === 0 ? null : { count, sinceMs: Number(row?.["since"]) };
  }

  /** Newest first. */
  waitingUnmatched(limit: number): SettledUnmatched[] {
    return this.sql.allUnmatched.all(limit).map(unmatchedOf);
  }

  /** Newest first. */
  waitingDifferences(limit: number): Reconciliation[] {
    return this.sql.differences.all(limit).map(reconciliationOf);
  }

  /** A charge can be unread again; everything else stays acknowledged. */
  #isNews(kind: AcknowledgedKind, item: string): boolean {
    return kind === "charge" || this.acknowledgedAtMs(kind, item) === null;
  }
}

/** The journal keeps the former name, which the previous release reads. */
function storedKind(kind: AcknowledgedKind): string {
  return kind === "unmatched" ? "stray" : kind;
}

function timeOf(row: Row | undefined): number | null {
  const at = row?.["at_ms"];
  return typeof at === "number" ? at : null;
}
