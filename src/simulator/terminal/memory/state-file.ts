import { openDatabase, Tables } from "../../../shared/store/sqlite.ts";

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

/** The file of the switch `--state`: the bank's ledger and the terminal's memory. */
export class StateFile extends Tables {
  constructor(path: string) {
    super(openDatabase(path, migrations));
  }

  /** Returns every stored object of one kind, oldest first. */
  read<T>(what: "entry" | "counters" | "stored"): readonly T[] {
    const from = {
      entry: "ledger ORDER BY id",
      counters: "counters",
      stored: "turnover ORDER BY sequence",
    };
    const rows = this.all<Record<string, string>>(`SELECT ${what} FROM ${from[what]}`);
    return rows.map((row) => JSON.parse(String(row[what])) as T);
  }

  keepEntry(entry: { readonly id: number }): void {
    this.run("INSERT OR REPLACE INTO ledger VALUES (?, ?)", entry.id, JSON.stringify(entry));
  }

  keepCounters(counters: object): void {
    this.run("INSERT OR REPLACE INTO counters VALUES (1, ?)", JSON.stringify(counters));
  }

  keepTransaction(stored: { readonly trace: number; readonly closed: boolean }): void {
    const { trace, closed } = stored;
    const keep = `INSERT INTO turnover (trace, closed, stored) VALUES (?1, ?2, ?3)
      ON CONFLICT (trace) DO UPDATE SET closed = ?2, stored = ?3`;
    this.run(keep, trace, closed ? 1 : 0, JSON.stringify(stored));
  }

  forgetClosed(exceptTrace: number): void {
    this.run("DELETE FROM turnover WHERE closed = 1 AND trace <> ?", exceptTrace);
  }

  close(): void {
    this.database.close();
  }
}
