import { transaction } from "../../shared/sqlite.ts";
import type { EventData } from "../attempts/event-table.ts";
import type {
  SettledStray,
  StrayRow,
  TelecollectionAsker,
  TelecollectionRow,
} from "../attempts/payment-store.ts";
import { sameReport } from "../attempts/recovery-policy.ts";
import type { StrayFinding } from "../attempts/stray-policy.ts";
import type { TelecollectionEnd, TerminalIdentity } from "../terminal/terminal.ts";
import { type Row, readJson } from "./attempt-row.ts";
import { JournalFile } from "./journal-file.ts";

/** A terminal that does nothing else must not fill the disk; what it kept stays for ever. */
const STRAYS_KEPT = 1_000;

/** An end of day that did something, or of which that is not known yet. */
const mayHaveClosed = `(result IS NULL
  OR json_extract(result, '$.end') NOT IN ('refused', 'open-pre-authorisations'))`;

/** The part of the journal that is about the terminal and not about one order. */
export class TerminalJournal extends JournalFile {
  beginTelecollection(atMs: number, askedBy: TelecollectionAsker = "operator"): number {
    const sql = "INSERT INTO telecollection (started_at_ms, asked_by) VALUES (?, ?)";
    return Number(this.sql.run(sql, atMs, askedBy).lastInsertRowid);
  }

  endTelecollection(id: number, atMs: number, result: TelecollectionEnd): void {
    this.telling((tell) => {
      const row = this.sql.get(
        `UPDATE telecollection SET ended_at_ms = ?, result = ? WHERE id = ? RETURNING asked_by`,
        atMs,
        JSON.stringify(result),
        id,
      );
      const askedBy = row?.["asked_by"] as TelecollectionAsker;
      tell("end-of-day", endOfDayEventOf(result, askedBy), atMs);
    });
  }

  demandedTelecollections(sinceMs: number): number[] {
    return this.sql
      .all(
        `SELECT started_at_ms FROM telecollection
         WHERE asked_by = 'terminal' AND started_at_ms >= ? ORDER BY id`,
        sinceMs,
      )
      .map((row) => Number(row["started_at_ms"]));
  }

  telecollectionSince(atMs: number, transactionId?: string): TelecollectionRow | undefined {
    const row = this.sql.get(
      `SELECT * FROM telecollection
       WHERE ifnull(id > (SELECT after_telecollection FROM attempt WHERE transaction_id = ?),
           started_at_ms >= ?)
         AND ${mayHaveClosed}
       ORDER BY id DESC LIMIT 1`,
      transactionId ?? null,
      atMs,
    );
    return (
      row && {
        id: Number(row["id"]),
        startedAtMs: Number(row["started_at_ms"]),
        result: row["result"] === null ? null : readJson(row["result"]),
      }
    );
  }

  keepStray(seen: Omit<StrayRow, "id">): number | undefined {
    const [newest] = this.strays(1);
    const isKnown = newest?.finding === "open" || newest?.finding === "held";
    if (isKnown && sameReport(newest.report, seen.report)) return undefined;
    return transaction(this.database, () => this.#insertStray(seen));
  }

  openStrays(): StrayRow[] {
    const sql = "SELECT * FROM unexpected_report WHERE finding = 'open' ORDER BY id";
    return this.sql.all(sql).map(strayOf);
  }

  soldSinceStray(id: number): boolean {
    const row = this.sql.get(
      `SELECT EXISTS (SELECT 1 FROM attempt WHERE phase <> 'not-charged' AND rowid >=
         (SELECT before_attempt FROM unexpected_report WHERE id = ?)) AS sold`,
      id,
    );
    return row?.["sold"] === 1;
  }

  closedSinceStray(id: number): boolean {
    const row = this.sql.get(
      `SELECT EXISTS (SELECT 1 FROM telecollection WHERE ${mayHaveClosed} AND id >=
         (SELECT before_telecollection FROM unexpected_report WHERE id = ?)) AS closed`,
      id,
    );
    return row?.["closed"] === 1;
  }

  endStray(id: number, atMs: number, finding: StrayFinding, because: string): void {
    this.sql.run(
      "UPDATE unexpected_report SET finding = ?, because = ?, ended_at_ms = ? WHERE id = ?",
      finding,
      because,
      atMs,
      id,
    );
  }

  strays(limit: number): SettledStray[] {
    const sql = "SELECT * FROM unexpected_report ORDER BY id DESC LIMIT ?";
    return this.sql.all(sql, limit).map(strayOf);
  }

  acceptedTerminal(): TerminalIdentity | undefined {
    const row = this.sql.get("SELECT identity FROM accepted_terminal ORDER BY id DESC LIMIT 1");
    return row && readJson(row["identity"]);
  }

  acceptTerminal(identity: TerminalIdentity, atMs: number): void {
    this.sql.run(
      "INSERT INTO accepted_terminal (identity, accepted_at_ms) VALUES (?, ?)",
      JSON.stringify(identity),
      atMs,
    );
  }

  #insertStray({ atMs, report, identity }: Omit<StrayRow, "id">): number {
    const { lastInsertRowid } = this.sql.run(
      `INSERT INTO unexpected_report
         (at_ms, report, identity, finding, before_attempt, before_telecollection)
       VALUES (?, ?, ?, ?, coalesce(
           (SELECT min(rowid) FROM attempt WHERE phase IN ('sent', 'reversing')),
           (SELECT max(rowid) + 1 FROM attempt), 1),
         (SELECT ifnull(max(id + (result IS NOT NULL)), 1) FROM telecollection))`,
      atMs,
      JSON.stringify(report),
      JSON.stringify(identity),
      report.good || report.resultCode === null ? "open" : "not-good",
    );
    const id = Number(lastInsertRowid);
    this.sql.run(
      "DELETE FROM unexpected_report WHERE id <= ? AND finding NOT IN ('open', 'held')",
      id - STRAYS_KEPT,
    );
    return id;
  }
}

function strayOf(row: Row): SettledStray {
  return {
    id: Number(row["id"]),
    atMs: Number(row["at_ms"]),
    report: readJson(row["report"]),
    identity: readJson(row["identity"]),
    finding: row["finding"] as SettledStray["finding"],
    because: String(row["because"]),
    endedAtMs: row["ended_at_ms"] === null ? null : Number(row["ended_at_ms"]),
  };
}

function endOfDayEventOf(
  result: TelecollectionEnd,
  askedBy: TelecollectionAsker,
): EventData<"end-of-day"> {
  const applications = result.end === "completed" ? result.applications : [];
  const text = "text" in result ? result.text : "";
  return { askedBy, end: result.end, text, applications: [...applications] };
}
