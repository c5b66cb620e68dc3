import type { Act, ActStore, KeptAct } from "../attempts/act-store.ts";
import type { Statement, Statements } from "./statements.ts";

const texts = {
  begin: `INSERT INTO act (at_ms, login, name, reason, call, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  end: "UPDATE act SET http = ?, code = ? WHERE id = ?",
  list: "SELECT * FROM act WHERE id < ? ORDER BY id DESC LIMIT ?",
};

/** Acts of people at the operator's console; kept for ever. */
export class ActRows implements ActStore {
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements) {
    this.#sql = statements.prepare("acts", texts);
  }

  begin({ login, name, reason, call, body }: Act, atMs: number): number {
    const { lastInsertRowid } = this.#sql.begin.run(atMs, login, name, reason, call, body);
    return Number(lastInsertRowid);
  }

  end(id: number, http: number, code: string | null): void {
    this.#sql.end.run(http, code, id);
  }

  list(before: number, limit: number): KeptAct[] {
    return this.#sql.list.all(before, limit).map((row) => ({
      id: Number(row["id"]),
      atMs: Number(row["at_ms"]),
      login: String(row["login"]),
      name: String(row["name"]),
      reason: String(row["reason"]),
      call: String(row["call"]),
      body: row["body"] === null ? null : String(row["body"]),
      http: row["http"] === null ? null : Number(row["http"]),
      code: row["code"] === null ? null : String(row["code"]),
    }));
  }
}
