import type { TelecollectionRow } from "../payments/payment-store.ts";
import type { TerminalIdentity } from "../terminal/terminal.ts";
import { readJson } from "./attempt-row.ts";
import { JournalFile } from "./journal-file.ts";

/** The part of the journal that is about the terminal and not about one order. */
export class TerminalJournal extends JournalFile {
  beginTelecollection(atMs: number): number {
    const sql = "INSERT INTO telecollection (started_at_ms) VALUES (?)";
    return Number(this.sql.run(sql, atMs).lastInsertRowid);
  }

  endTelecollection(id: number, atMs: number, result: TelecollectionRow["result"]): void {
    this.sql.run(
      "UPDATE telecollection SET ended_at_ms = ?, result = ? WHERE id = ?",
      atMs,
      JSON.stringify(result),
      id,
    );
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
