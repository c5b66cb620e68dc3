import { rows } from "./statements.ts";

/** A person's request at the operator's console (docs/console.md 3). */
interface Act {
  /** Of the session. */
  readonly login: string;
  /** The person's own word. */
  readonly name: string;
  readonly reason: string;
  /** Method and path of the local API. */
  readonly call: string;
  /** JSON, card numbers masked; null without a body. */
  readonly body: string | null;
}

interface KeptAct extends Act {
  readonly id: number;
  readonly atMs: number;
  /** The status of the answer; null while it runs, or when the program ended before. */
  readonly http: number | null;
  /** Of the error that was answered; null without one, and of acts that older versions kept. */
  readonly code: string | null;
}

const texts = {
  begin: `INSERT INTO act (at_ms, login, name, reason, call, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  end: "UPDATE act SET http = ?, code = ? WHERE id = ?",
  list: `SELECT id, at_ms AS atMs, login, name, reason, call, body, http, code
    FROM act WHERE id < ? ORDER BY id DESC LIMIT ?`,
};

/** Acts of people at the operator's console; kept for ever. */
export class ActRows extends rows("acts", texts) {
  /** Returns the number of the act, which is on disk then. */
  begin({ login, name, reason, call, body }: Act, atMs: number): number {
    const { lastInsertRowid } = this.sql.begin.run(atMs, login, name, reason, call, body);
    return Number(lastInsertRowid);
  }

  end(id: number, http: number, code: string | null): void {
    this.sql.end.run(http, code, id);
  }

  /** Acts with smaller numbers than `before`, the newest first. */
  list(before: number, limit: number): KeptAct[] {
    return this.sql.list.all(before, limit);
  }
}
