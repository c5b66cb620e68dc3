import type { DatabaseSync, StatementSync } from "node:sqlite";
import { openDatabase, transaction } from "../../../shared/store/sqlite.ts";

const migrations = [
  `CREATE TABLE ledger (id INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
   CREATE TABLE turnover (
     sequence INTEGER PRIMARY KEY,
     trace INTEGER NOT NULL UNIQUE,
     closed INTEGER NOT NULL,
     stored TEXT NOT NULL
   ) STRICT;
   CREATE TABLE counters (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), counters TEXT NOT NULL)
     STRICT;`,
];

/** The file of `--state`: the bank's ledger and the terminal's memory, beyond a restart. */
export class StateFile {
  readonly #database: DatabaseSync;
  readonly #keepEntry: StatementSync;
  readonly #keepCounters: StatementSync;
  readonly #keepTransaction: StatementSync;
  readonly #forget: StatementSync;

  constructor(path: string) {
    const database = openDatabase(path, migrations);
    this.#database = database;
    this.#keepEntry = database.prepare("INSERT OR REPLACE INTO ledger (id, entry) VALUES (?, ?)");
    this.#keepCounters = database.prepare("INSERT OR REPLACE INTO counters VALUES (1, ?)");
    this.#keepTransaction = database.prepare(
      `INSERT INTO turnover (trace, closed, stored) VALUES (?1, ?2, ?3)
       ON CONFLICT (trace) DO UPDATE SET closed = ?2, stored = ?3`,
    );
    this.#forget = database.prepare("DELETE FROM turnover WHERE closed = 1 AND trace <> ?");
  }

  /** Returns every kept object of one kind, oldest first. */
  read<T>(what: "entry" | "counters" | "stored"): readonly T[] {
    const from = {
      entry: "ledger ORDER BY id",
      counters: "counters",
      stored: "turnover ORDER BY sequence",
    };
    const rows = this.#database.prepare(`SELECT ${what} FROM ${from[what]}`).all();
    return rows.map((row) => JSON.parse(String(row[what])) as T);
  }

  keepEntry(entry: { readonly id: number }): void {
    this.#keepEntry.run(entry.id, JSON.stringify(entry));
  }

  keepCounters(counters: object): void {
    this.#keepCounters.run(JSON.stringify(counters));
  }

  keepTransaction(stored: { readonly trace: number; readonly closed: boolean }): void {
    this.#keepTransaction.run(stored.trace, stored.closed ? 1 : 0, JSON.stringify(stored));
  }

  forgetClosed(exceptTrace: number): void {
    this.#forget.run(exceptTrace);
  }

  /** Runs `work`, so that all it keeps of memory and ledger is kept, or nothing of it. */
  together<T>(work: () => T): T {
    return transaction(this.#database, work);
  }

  close(): void {
    this.#database.close();
  }
}
