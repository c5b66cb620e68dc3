import type {
  DatabaseSync,
  SQLInputValue,
  StatementResultingChanges,
  StatementSync,
} from "node:sqlite";
import { BrokenInvariant } from "../../shared/invariant.ts";
import { transaction } from "../../shared/store/sqlite.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import { WaitingWrites } from "./waiting-writes.ts";

/** Only the state of a hand-over waits, so a statement about these rows has it written first. */
const mayWait = /\bhand_off\b/;

/**
 * A bare parameter as LIMIT makes SQLite plan the statement anew at each use, because the plan may
 * depend on its value; that takes longer than most of the statements.
 */
function plannedOnce(sql: string): string {
  return sql.replaceAll(/\bLIMIT (\?\d*)/g, "LIMIT $1 + 0");
}

export type Row = Record<string, SQLInputValue>;

/** Called before each use of a statement. */
interface Before {
  readonly read: () => void;
  readonly write: () => void;
}

const nothing: Before = { read: () => {}, write: () => {} };

interface StatementParts {
  readonly name: string;
  readonly sql: string;
  readonly prepared: StatementSync;
  readonly before: Before;
  /** Counted at each use of a statement that writes it. */
  readonly tables: Tables;
  readonly isInTransaction: () => boolean;
  readonly proof: WriteProof;
}

/** One statement of the journal, prepared when the journal is opened. */
export class Statement {
  readonly name: string;
  readonly sql: string;
  readonly #parts: StatementParts;
  readonly #prepared: StatementSync;
  readonly #written: Table | undefined;
  readonly #read: readonly Table[];
  #kept: { stamp: number; values: readonly SQLInputValue[]; row: Row | undefined } | undefined;

  constructor(parts: StatementParts) {
    this.name = parts.name;
    this.sql = parts.sql;
    this.#parts = parts;
    this.#prepared = parts.prepared;
    this.#written = parts.tables.writtenBy(parts.sql);
    this.#read = parts.tables.namedIn(parts.sql);
  }

  get(...values: SQLInputValue[]): Row | undefined {
    this.#parts.before.read();
    return this.#watched(() => this.#prepared.get(...values)) as Row | undefined;
  }

  all(...values: SQLInputValue[]): Row[] {
    this.#parts.before.read();
    return this.#watched(() => this.#prepared.all(...values)) as Row[];
  }

  run(...values: SQLInputValue[]): StatementResultingChanges {
    this.#parts.before.write();
    return this.#watched(() => this.#prepared.run(...values));
  }

  /** A write is counted, and what became of it is kept; a transaction has that done for all. */
  #watched<T>(use: () => T): T {
    if (!this.#written) return use();
    this.#written.writes += 1;
    const { isInTransaction, proof } = this.#parts;
    return isInTransaction() ? use() : proof.watch(use);
  }

  /** Changes whenever a statement has written to a table that this one reads. */
  get stamp(): number {
    let writes = 0;
    for (const table of this.#read) writes += table.writes;
    return writes;
  }

  /**
   * Like {@link get}, but as long as nothing was written to its tables the row of the last time,
   * which nobody changes. Only this process writes to the journal.
   */
  kept(...values: SQLInputValue[]): Row | undefined {
    const { stamp } = this;
    const known = this.#kept;
    if (known?.stamp === stamp && values.every((value, i) => value === known.values[i])) {
      return known.row;
    }
    const row = this.get(...values);
    // An open transaction may take back the row that it reads.
    if (!this.#parts.isInTransaction()) this.#kept = { stamp, values, row };
    return row;
  }
}

interface Table {
  writes: number;
}

/** The tables of the journal, and how often each was written to. */
class Tables {
  readonly #all: ReadonlyMap<string, Table>;

  constructor(database: DatabaseSync) {
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    this.#all = new Map(names.map(({ name }) => [String(name), { writes: 0 }]));
  }

  writtenBy(sql: string): Table | undefined {
    const name = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+(\w+)/.exec(sql)?.[1];
    return name === undefined ? undefined : this.#all.get(name);
  }

  namedIn(sql: string): Table[] {
    return [...new Set(sql.match(/\w+/g))].flatMap((word) => this.#all.get(word) ?? []);
  }
}

/**
 * Every statement of the journal goes through here, so that the speed test can run each of them.
 * Not statements in this sense: the schema (migrations.ts), and the few rows that the database has
 * about itself (shared/store/).
 */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #tables: Tables;
  readonly waiting: WaitingWrites;
  readonly list: Statement[] = [];
  readonly #settled: Before = { read: () => this.#settleForReading(), write: () => this.settle() };

  readonly #proof: WriteProof;

  /** Without a clock nothing waits: what could be written later is written at once. */
  constructor(database: DatabaseSync, proof: WriteProof, clock?: Clock) {
    this.#database = database;
    this.#proof = proof;
    this.#tables = new Tables(database);
    this.waiting = new WaitingWrites(clock, () => this.settle());
  }

  /** The statements of one part of the journal, by the names of their texts. */
  prepare<K extends string>(part: string, texts: Readonly<Record<K, string>>) {
    const prepared = {} as Record<K, Statement>;
    for (const name of Object.keys(texts) as K[]) {
      const sql = plannedOnce(texts[name]);
      const before = mayWait.test(sql) ? this.#settled : nothing;
      prepared[name] = new Statement({
        name: `${part} ${name}`,
        sql,
        before,
        prepared: this.#database.prepare(sql),
        tables: this.#tables,
        isInTransaction: () => this.#database.isTransaction,
        proof: this.#proof,
      });
      this.list.push(prepared[name]);
    }
    return prepared;
  }

  /**
   * Everything that `work` writes is one commit, synced to disk when this returns. The writes that
   * wait come first, in the same commit.
   */
  transaction<T>(work: () => T): T {
    const result = this.#proof.watch(() =>
      transaction(this.#database, () => {
        this.waiting.write();
        return work();
      }),
    );
    this.waiting.written();
    return result;
  }

  /** For a write-ahead record: throws when the next start would not find it. */
  assertKept(): void {
    this.#proof.assertKept();
  }

  /**
   * Writes with the next commit, within `LATER_MS` in any case: for what can be learnt again after
   * a crash (docs/design.md 1.3). A commit that fails has `write` called again with the next one;
   * `told` is called once it is on disk.
   */
  later(write: () => void, told: () => void): void {
    this.waiting.add(write, told);
    if (!this.waiting.mayWait) this.settle();
  }

  /** Has what waits on disk when it returns. */
  settle(): void {
    if (this.waiting.isEmpty || this.#database.isTransaction) return;
    this.transaction(() => {});
  }

  /** A full disk keeps nobody from reading: what waits can be learnt again, so older rows do. */
  #settleForReading(): void {
    try {
      this.settle();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
    }
  }
}
