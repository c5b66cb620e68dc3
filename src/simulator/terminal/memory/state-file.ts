import type { DatabaseSync } from "node:sqlite";
import { openDatabase, transaction } from "../../../shared/store/sqlite.ts";
import type { LedgerEntry, LedgerKeeper } from "../bank/ledger.ts";
import type { Counters, MemoryKeeper, StoredTransaction } from "./memory.ts";

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
  readonly ledger: LedgerKeeper;
  readonly memory: MemoryKeeper;
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = openDatabase(path, migrations);
    this.ledger = ledgerKeeper(this.#database);
    this.memory = memoryKeeper(this.#database);
  }

  close(): void {
    this.#database.close();
  }
}

function ledgerKeeper(database: DatabaseSync): LedgerKeeper {
  const all = database.prepare("SELECT entry FROM ledger ORDER BY id");
  const keep = database.prepare("INSERT OR REPLACE INTO ledger (id, entry) VALUES (?, ?)");
  return {
    entries: () => all.all().map((row) => parsed<LedgerEntry>(row["entry"])),
    keep: (entry) => {
      keep.run(entry.id, JSON.stringify(entry));
    },
  };
}

function memoryKeeper(database: DatabaseSync): MemoryKeeper {
  const counters = database.prepare("SELECT counters FROM counters");
  const all = database.prepare("SELECT stored FROM turnover ORDER BY sequence");
  const keepCounters = database.prepare("INSERT OR REPLACE INTO counters VALUES (1, ?)");
  const keep = database.prepare(
    `INSERT INTO turnover (trace, closed, stored) VALUES (?1, ?2, ?3)
     ON CONFLICT (trace) DO UPDATE SET closed = ?2, stored = ?3`,
  );
  const forget = database.prepare("DELETE FROM turnover WHERE closed = 1 AND trace <> ?");
  return {
    counters: () => {
      const row = counters.get();
      return row ? parsed<Counters>(row["counters"]) : undefined;
    },
    turnover: () => all.all().map((row) => parsed<StoredTransaction>(row["stored"])),
    keepCounters: (now) => {
      keepCounters.run(JSON.stringify(now));
    },
    keepTransaction: (stored) => {
      keep.run(stored.trace, stored.closed ? 1 : 0, JSON.stringify(stored));
    },
    forgetClosed: (exceptTrace) => {
      forget.run(exceptTrace);
    },
    together: (work) => transaction(database, work),
  };
}

/** Only this file writes these columns. */
function parsed<T>(json: unknown): T {
  return JSON.parse(String(json)) as T;
}
