import { rows } from "../database/statements.ts";

/** A request that a person made at the operator's console (docs/console.md 3). */
interface Request {
  /** The login of the session. */
  readonly login: string;
  /** As the person typed it. */
  readonly name: string;
  readonly reason: string;
  /** Method and path of the local API. */
  readonly call: string;
  /** JSON, card numbers masked; null without a body. */
  readonly body: string | null;
}

interface AuditEntry extends Request {
  readonly id: number;
  readonly atMs: number;
  /** The status of the answer; null while it runs, or when the program ended before. */
  readonly http: number | null;
  /** The code of the error that was answered; null: none, or an entry of an older version. */
  readonly code: string | null;
}

const texts = {
  begin: `INSERT INTO act (at_ms, login, name, reason, call, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  end: "UPDATE act SET http = ?, code = ? WHERE id = ?",
  list: `SELECT id, at_ms AS atMs, login, name, reason, call, body, http, code
    FROM act WHERE id < ? ORDER BY id DESC LIMIT ?`,
};

/** Changes that people made at the operator's console; kept for ever. */
export class AuditEntryRows extends rows("auditEntries", texts) {
  /** Returns the number of the entry, which is on disk then. */
  begin({ login, name, reason, call, body }: Request, atMs: number): number {
    const { lastInsertRowid } = this.sql.begin.run(atMs, login, name, reason, call, body);
    return Number(lastInsertRowid);
  }

  end(id: number, http: number, code: string | null): void {
    this.sql.end.run(http, code, id);
  }

  /** Entries with smaller numbers than `before`, the newest first. */
  list(before: number, limit: number): AuditEntry[] {
    return this.sql.list.all(before, limit);
  }
}
