import { compareReports } from "../attempts/comparison.ts";
import type { SettledUnmatched, UnmatchedFinding, UnmatchedRow } from "../attempts/findings.ts";
import { type Fact, factTable, type Learned, type LearnedFrom } from "../matching/assumptions.ts";
import type { TelecollectionEnd, TerminalIdentity } from "../terminal/terminal.ts";
import { mayBeSold, phaseIn, readJson, unfinishedSql } from "./attempt-columns.ts";
import { type Row, rows } from "./database/statements.ts";
import type { EventRows } from "./event-rows.ts";

/** Who requested an end of day: an operator by the call `/tlc`, or the terminal itself. */
export type TelecollectionAsker = "operator" | "terminal";

/** How many unmatched results are stored; those that are real sales stay for ever. */
const UNMATCHED_KEPT = 1_000;

/** The SQL of ends of day that may have closed sales; the index saves reading each refused one. */
export const closings = "telecollection INDEXED BY telecollection_closing";
export const mayHaveClosed = `(result IS NULL
  OR json_extract(result, '$.end') NOT IN ('refused', 'open-pre-authorisations'))`;

/** The newest end of day before the newest payment, as SQL: a payment followed, so it is over. */
const begunAfter =
  "ifnull((SELECT after_telecollection FROM attempt ORDER BY rowid DESC LIMIT 1), 0)";

/** The SQL for real sales that belong to no attempt for certain but carry a reference of ours. */
const named = "unexpected_report INDEXED BY unexpected_report_named";
const reference = "json_extract(report, '$.reference')";
const isNamed = `finding = 'held' AND ${reference} IS NOT NULL`;

/** Stores the accepted terminal, its ends of day and its unmatched transactions. */
export class TerminalRows extends rows("terminalLog", {
  beginTelecollection:
    "INSERT INTO telecollection (started_at_ms, asked_by, identity) VALUES (?, ?, ?)",
  endTelecollection:
    "UPDATE telecollection SET ended_at_ms = ?, result = ? WHERE id = ? RETURNING asked_by",
  demanded: `SELECT started_at_ms FROM telecollection INDEXED BY telecollection_demanded
    WHERE asked_by = 'terminal' AND started_at_ms >= ? ORDER BY id`,
  afterTelecollection:
    "SELECT after_telecollection AS closed FROM attempt WHERE transaction_id = ?",
  telecollectionAfter: `SELECT 1 FROM ${closings} WHERE id > ? AND ${mayHaveClosed} LIMIT 1`,
  telecollectionSince: `SELECT 1 FROM telecollection INDEXED BY telecollection_closing_time
    WHERE started_at_ms >= ? AND ${mayHaveClosed} LIMIT 1`,
  keepUnmatched: `INSERT INTO unexpected_report
      (at_ms, report, identity, finding, unmatched, before_attempt, before_telecollection)
    VALUES (?, ?, ?, ?, ?, coalesce(
        (SELECT min(rowid) FROM attempt WHERE ${unfinishedSql}
          AND ${phaseIn(({ open }) => open === "running")}),
        (SELECT max(rowid) + 1 FROM attempt), 1),
      ifnull((SELECT id + (result IS NOT NULL OR id <= ${begunAfter})
        FROM telecollection ORDER BY id DESC LIMIT 1), 1))`,
  dropUnmatched: `DELETE FROM unexpected_report INDEXED BY unexpected_report_passing
    WHERE id <= ? AND finding NOT IN ('open', 'held')`,
  openUnmatched: "SELECT * FROM unexpected_report WHERE finding = 'open' ORDER BY id",
  // A journal gap counts as a sale, because the journal may have lost a sale.
  soldSince: `WITH seen (before) AS (SELECT before_attempt FROM unexpected_report WHERE id = ?)
    SELECT EXISTS (SELECT 1 FROM attempt INDEXED BY attempt_sold
        WHERE (${mayBeSold}) = 1 AND ${mayBeSold} AND rowid >= (SELECT before FROM seen))
      OR EXISTS (SELECT 1 FROM store_doubt
        WHERE before_attempt >= (SELECT before FROM seen)) AS sold`,
  closedSince: `SELECT EXISTS (SELECT 1 FROM ${closings} WHERE ${mayHaveClosed} AND id >=
    (SELECT before_telecollection FROM unexpected_report WHERE id = ?)) AS closed`,
  // A result that proved to be an order's, or charged nothing, is no longer unmatched.
  wasUnmatchedSince: `SELECT max(before_attempt) >=
      (SELECT rowid FROM attempt WHERE transaction_id = ?) AS seen
    FROM (SELECT before_attempt FROM unexpected_report
      WHERE finding NOT IN ('known', 'not-good') ORDER BY id DESC LIMIT 100)`,
  unmatchedSince: `SELECT * FROM unexpected_report INDEXED BY unexpected_report_before
    WHERE before_attempt >= (SELECT rowid FROM attempt WHERE transaction_id = ?)
    ORDER BY before_attempt, id LIMIT 100`,
  endUnmatched:
    "UPDATE unexpected_report SET finding = ?, because = ?, ended_at_ms = ? WHERE id = ?",
  unmatched: "SELECT * FROM unexpected_report ORDER BY id DESC LIMIT ?",
  heldAs: `SELECT * FROM ${named} WHERE ${isNamed} AND ${reference} = ? ORDER BY id`,
  heldReferences: `SELECT DISTINCT ${reference} AS reference FROM ${named} WHERE ${isNamed}`,
  accepted: "SELECT identity FROM accepted_terminal ORDER BY id DESC LIMIT 1",
  accept: "INSERT INTO accepted_terminal (identity, accepted_at_ms) VALUES (?, ?)",
})<{ events: EventRows }> {
  /** Stores that an end of day begins; returns its number. Call this before the command is sent. */
  beginTelecollection(atMs: number, askedBy: TelecollectionAsker, identity?: TerminalIdentity) {
    const text = identity === undefined ? null : JSON.stringify(identity);
    return Number(this.sql.beginTelecollection.run(atMs, askedBy, text).lastInsertRowid);
  }

  endTelecollection(id: number, atMs: number, result: TelecollectionEnd): void {
    this.parts.events.commit((emit) => {
      const row = this.sql.endTelecollection.get(atMs, JSON.stringify(result), id);
      const askedBy = row?.["asked_by"] as TelecollectionAsker;
      const applications = result.end === "completed" ? [...result.applications] : [];
      const text = "text" in result ? result.text : "";
      emit("end-of-day", { askedBy, end: result.end, text, applications }, atMs);
    });
  }

  /** Returns when the ends of day that the terminal demanded began, in epoch ms, oldest first. */
  demandedTelecollections(sinceMs: number): number[] {
    return this.sql.demanded.all(sinceMs).map((row) => Number(row["started_at_ms"]));
  }

  /** Whether an end of day may have run since the attempt, which began at `atMs`. */
  wasClosedSince(atMs: number, transactionId: string): boolean {
    // An attempt of an older version names no end of day, so its time decides.
    const after = this.sql.afterTelecollection.get(transactionId)?.["closed"] ?? null;
    const { telecollectionSince, telecollectionAfter } = this.sql;
    const row = after === null ? telecollectionSince.get(atMs) : telecollectionAfter.get(after);
    return row !== undefined;
  }

  /** Stores an unmatched transaction and returns its id; undefined if it repeats the newest row. */
  keepUnmatched(
    found: Omit<UnmatchedRow, "id">,
    isSame = ({ report }: UnmatchedRow) => compareReports(report, found.report) === "same",
  ): number | undefined {
    const [newest] = this.unmatched(1);
    const isKnown = newest?.finding === "open" || newest?.finding === "held";
    if (isKnown && isSame(newest)) return undefined;
    const { atMs, report, identity, isOfNoOrder } = found;
    return this.statements.transaction(() => {
      const { lastInsertRowid } = this.sql.keepUnmatched.run(
        atMs,
        JSON.stringify(report),
        JSON.stringify(identity),
        report.good || report.resultCode === null ? "open" : "not-good",
        isOfNoOrder ? 1 : 0,
      );
      const id = Number(lastInsertRowid);
      this.sql.dropUnmatched.run(id - UNMATCHED_KEPT);
      return id;
    });
  }

  /** Returns the unmatched transactions about which the terminal is still asked, oldest first. */
  openUnmatched(): UnmatchedRow[] {
    return this.sql.openUnmatched.all().map(unmatchedOf);
  }

  /** Whether a sale may have been made after the unmatched transaction was stored. */
  soldSinceUnmatched(id: number): boolean {
    return this.sql.soldSince.get(id)?.["sold"] === 1;
  }

  /** Whether an end of day may have run since the unmatched transaction was stored. */
  closedSinceUnmatched(id: number): boolean {
    return this.sql.closedSince.get(id)?.["closed"] === 1;
  }

  /** Returns the oldest 100 unmatched transactions that were stored since the attempt began. */
  unmatchedSince(transactionId: string): UnmatchedRow[] {
    return this.sql.unmatchedSince.all(transactionId).map(unmatchedOf);
  }

  wasUnmatchedSince(transactionId: string): boolean {
    return this.sql.wasUnmatchedSince.get(transactionId)?.["seen"] === 1;
  }

  endUnmatched(id: number, atMs: number, finding: UnmatchedFinding, because: string): void {
    this.sql.endUnmatched.run(finding, because, atMs, id);
  }

  unmatched(limit: number): SettledUnmatched[] {
    // Each payment asks for the newest one, which seldom changes.
    if (limit === 1) return [this.sql.unmatched.kept(1) ?? []].flat().map(unmatchedOf);
    return this.sql.unmatched.all(limit).map(unmatchedOf);
  }

  /** Returns the unmatched results with this reference that are real sales, oldest first. */
  heldAs(text: string): SettledUnmatched[] {
    return this.sql.heldAs.all(text).map(unmatchedOf);
  }

  /** Returns the references of unmatched results that proved to be real sales. */
  heldReferences(): string[] {
    return this.sql.heldReferences.all().map((row) => String(row["reference"]));
  }

  /** Returns the accepted terminal; undefined before a terminal was accepted. */
  acceptedTerminal(): TerminalIdentity | undefined {
    const row = this.sql.accepted.kept();
    return row && readJson(row["identity"]);
  }

  acceptTerminal(identity: TerminalIdentity, atMs: number): void {
    this.sql.accept.run(JSON.stringify(identity), atMs);
  }
}

export function unmatchedOf(row: Row): SettledUnmatched {
  return {
    id: Number(row["id"]),
    atMs: Number(row["at_ms"]),
    report: readJson(row["report"]),
    identity: readJson(row["identity"]),
    isOfNoOrder: row["unmatched"] === 1,
    finding: row["finding"] as SettledUnmatched["finding"],
    because: String(row["because"]),
    endedAtMs: row["ended_at_ms"] as number | null,
    acknowledgedAtMs: row["seen_ms"] as number | null,
  };
}

/** The SQL for a text that changes when a terminal is accepted or when the journal loses data. */
const era = `(SELECT ifnull((SELECT max(id) FROM accepted_terminal), 0) || ' ' ||
  ifnull((SELECT id || ' ' || before_attempt || ' ' || since_ms FROM store_doubt
    ORDER BY id DESC LIMIT 1), ''))`;

/**
 * Stores what the present terminal has shown about itself, until its setup or identity changes, an
 * operator accepts a terminal, or the journal loses data (docs/rules/33-references.md).
 */
export class LearnedRows extends rows("learned", {
  read: `SELECT holds FROM learned WHERE terminal = ? AND fact = ? AND era = ${era}`,
  forget: `DELETE FROM learned WHERE terminal <> ? OR era <> ${era}`,
  keep: `INSERT OR REPLACE INTO learned (terminal, fact, holds, era) VALUES (?, ?, ?, ${era})`,
}) {
  of({ setup, identity: { deviceId, serialNumber, version } }: LearnedFrom): Learned {
    const terminal = JSON.stringify([setup, deviceId, serialNumber, version]);
    const holds = (fact: Fact) => this.sql.read.kept(terminal, fact)?.["holds"];
    return {
      has: (fact) => holds(fact) === 1,
      refuted: (fact) => holds(fact) === 0,
      saw: (fact) => {
        const known = holds(fact);
        if (known === undefined || (known === 0 && !factTable[fact].permits)) {
          this.#keep(terminal, fact, 1);
        }
      },
      contradicted: (fact) => {
        if (holds(fact) !== 0) this.#keep(terminal, fact, 0);
      },
    };
  }

  #keep(terminal: string, fact: Fact, holds: 0 | 1): void {
    this.statements.transaction(() => {
      this.sql.forget.run(terminal);
      this.sql.keep.run(terminal, fact, holds);
    });
  }
}
