import type { EventData } from "../payments/event-table.ts";
import type { TelecollectionAsker, TelecollectionRow } from "../payments/payment-store.ts";
import type { TelecollectionEnd, TerminalIdentity } from "../terminal/terminal.ts";
import { readJson } from "./attempt-row.ts";
import { JournalFile } from "./journal-file.ts";

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

  telecollectionSince(atMs: number): TelecollectionRow | undefined {
    const row = this.sql.get(
      `SELECT * FROM telecollection WHERE started_at_ms >= ?
         AND (result IS NULL
           OR json_extract(result, '$.end') NOT IN ('refused', 'open-pre-authorisations'))
       ORDER BY id DESC LIMIT 1`,
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
}

function endOfDayEventOf(
  result: TelecollectionEnd,
  askedBy: TelecollectionAsker,
): EventData<"end-of-day"> {
  const applications = result.end === "completed" ? result.applications : [];
  const text = "text" in result ? result.text : "";
  return { askedBy, end: result.end, text, applications: [...applications] };
}
