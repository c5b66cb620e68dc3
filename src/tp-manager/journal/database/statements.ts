import type {
  DatabaseSync,
  SQLInputValue,
  StatementResultingChanges,
  StatementSync,
} from "node:sqlite";
import { BrokenInvariant } from "../../../shared/invariant.ts";
import { transaction } from "../../../shared/store/sqlite.ts";
import type { WriteProof } from "../../../shared/store/write-proof.ts";
import type { Clock, Timer } from "../../../shared/time.ts";

/** The one table whose writes wait: a statement that names it has them written first. */
const mayWait = /\bhand_off\b/;

/** Spares SQLite a new plan at each use, which it makes for a bare parameter as LIMIT. */
function plannedOnce(sql: string): string {
  return sql.replaceAll(/\bLIMIT (\?\d*)/g, "LIMIT $1 + 0");
}

export type Row = Record<string, SQLInputValue>;

interface Table {
  writes: number;
}

/** One statement of the journal, prepared when the journal is opened. */
export class Statement {
  readonly name: string;
  readonly sql: string;
  readonly #home: Statements;
  readonly #prepared: StatementSync;
  readonly #mayWait: boolean;
  readonly #written: Table | undefined;
  readonly #read: readonly Table[];
  #kept: { stamp: number; values: readonly SQLInputValue[]; row: Row | undefined } | undefined;

  constructor(name: string, text: string, home: Statements) {
    const sql = plannedOnce(text);
    const written = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+(\w+)/.exec(sql)?.[1];
    this.name = name;
    this.sql = sql;
    this.#home = home;
    this.#prepared = home.database.prepare(sql);
    this.#mayWait = mayWait.test(sql);
    this.#written = home.tables.get(written ?? "");
    this.#read = [...new Set(sql.match(/\w+/g))].flatMap((name) => home.tables.get(name) ?? []);
  }

  get(...values: SQLInputValue[]): Row | undefined {
    if (this.#mayWait) this.#home.settleForReading();
    return this.#watched(() => this.#prepared.get(...values)) as Row | undefined;
  }

  /** `T`: of columns that are named as its members, and read as they are. */
  all<T = Row>(...values: SQLInputValue[]): T[] {
    if (this.#mayWait) this.#home.settleForReading();
    return this.#watched(() => this.#prepared.all(...values)) as T[];
  }

  run(...values: SQLInputValue[]): StatementResultingChanges {
    if (this.#mayWait) this.#home.settle();
    return this.#watched(() => this.#prepared.run(...values));
  }

  /** Counts a write and has its outcome watched, unless a transaction watches all its writes. */
  #watched<T>(use: () => T): T {
    if (!this.#written) return use();
    this.#written.writes += 1;
    const { database, proof } = this.#home;
    return database.isTransaction ? use() : proof.watch(use);
  }

  /** Changes whenever a statement has written to a table that this one reads. */
  get stamp(): number {
    let writes = 0;
    for (const table of this.#read) writes += table.writes;
    return writes;
  }

  /**
   * Like {@link get}, but the row of the last time, which nobody changes, as long as nothing was
   * written to the statement's tables: only this process writes to the journal.
   */
  kept(...values: SQLInputValue[]): Row | undefined {
    const { stamp } = this;
    const known = this.#kept;
    if (known?.stamp === stamp && values.every((value, i) => value === known.values[i])) {
      return known.row;
    }
    const row = this.get(...values);
    // An open transaction may take back the row that it reads.
    if (!this.#home.database.isTransaction) this.#kept = { stamp, values, row };
    return row;
  }

  /**
   * All rows of a statement that ends in `< ? ... DESC LIMIT ?`, read a page of `size` at a time as
   * far as they are asked for. `by`: the column that is compared; `before`: its first value.
   */
  *pages(by: string, before: SQLInputValue, size: number): Generator<Row, void> {
    for (let from = before; ; ) {
      const page = this.all(from, size);
      yield* page;
      if (page.length < size) return;
      from = page.at(-1)?.[by] ?? null;
    }
  }
}

/**
 * The statements of the journal, all in one list, so that the speed test can run each of them. The
 * schema (migrations.ts) and the few rows that the database has about itself are not among them.
 */
export class Statements {
  readonly database: DatabaseSync;
  readonly proof: WriteProof;
  /** The tables of the journal, and how often each was written to. */
  readonly tables: ReadonlyMap<string, Table>;
  readonly waiting: WaitingWrites;
  readonly list: Statement[] = [];

  /** Without a clock nothing waits: what could be written later is written at once. */
  constructor(database: DatabaseSync, proof: WriteProof, clock?: Clock) {
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    this.database = database;
    this.proof = proof;
    this.tables = new Map(names.map(({ name }) => [String(name), { writes: 0 }]));
    this.waiting = new WaitingWrites(clock, () => this.settle());
  }

  /** The statements of one part of the journal, by the names of their texts. */
  prepare<K extends string>(part: string, texts: Readonly<Record<K, string>>) {
    const prepared = {} as Record<K, Statement>;
    for (const name of Object.keys(texts) as K[]) {
      prepared[name] = new Statement(`${part} ${name}`, texts[name], this);
      this.list.push(prepared[name]);
    }
    return prepared;
  }

  /** Makes all that `work` writes one commit, after the writes that wait; it is on disk then. */
  transaction<T>(work: () => T): T {
    const result = this.proof.watch(() =>
      transaction(this.database, () => {
        this.waiting.write();
        return work();
      }),
    );
    this.waiting.written();
    return result;
  }

  /** Throws when the next start would not find a write-ahead record that is written now. */
  assertKept(): void {
    this.proof.assertKept();
  }

  /**
   * Writes with the next commit, within `LATER_MS` in any case: for what can be learnt again after
   * a crash (docs/design.md 1.3). A commit that fails has `write` called again with the next one;
   * `written` is called once it is on disk.
   */
  later(write: () => void, written: () => void): void {
    this.waiting.add(write, written);
    if (!this.waiting.mayWait) this.settle();
  }

  /** Has what waits on disk when it returns. */
  settle(): void {
    if (this.waiting.isEmpty || this.database.isTransaction) return;
    this.transaction(() => {});
  }

  /** A full disk does not prevent reading: waiting writes can be learnt again, so older rows do. */
  settleForReading(): void {
    try {
      this.settle();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
    }
  }
}

/**
 * The class of a part of the journal: its statements, by the names of their texts, and in `P` the
 * other parts that it uses.
 */
export function rows<K extends string>(part: string, texts: Readonly<Record<K, string>>) {
  return class<P = unknown> {
    protected readonly statements: Statements;
    protected readonly sql: Record<K, Statement>;
    protected readonly parts: P;

    constructor(journal: P & { readonly statements: Statements }) {
      this.statements = journal.statements;
      this.sql = this.statements.prepare(part, texts);
      this.parts = journal;
    }
  };
}

/** The longest time that a write waits. */
const LATER_MS = 1_000;

/**
 * Writes that wait for the next commit of the journal (docs/design.md 1.3). A process that is
 * killed loses them, so only what can be learnt again may wait.
 */
export class WaitingWrites {
  readonly #clock: Clock | undefined;
  readonly #settle: () => void;
  #waiting: Array<{ readonly write: () => void; readonly written: () => void }> = [];
  /** The number of writes, the first ones, that the open transaction has made. */
  #written = 0;
  #timer: Timer | undefined;
  /** Called when the timer's commit failed: the writes are tried again with the next commit. */
  onFault: (error: unknown) => void = () => {};

  /** `settle` makes a commit. */
  constructor(clock: Clock | undefined, settle: () => void) {
    this.#clock = clock;
    this.#settle = settle;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** false: without a clock no timer would write it. */
  get mayWait(): boolean {
    return this.#clock !== undefined;
  }

  add(write: () => void, written: () => void): void {
    this.#waiting.push({ write, written });
    this.#startTimer();
  }

  /** Writes all that waits. To be called inside a transaction. */
  write(): void {
    for (const { write } of this.#waiting) write();
    this.#written = this.#waiting.length;
  }

  /** To be called when the transaction is on disk. A later write than {@link write} waits on. */
  written(): void {
    if (this.isEmpty) return;
    const done = this.#waiting.splice(0, this.#written);
    this.#written = 0;
    if (this.isEmpty) {
      this.#timer?.clear();
      this.#timer = undefined;
    }
    for (const one of done) one.written();
  }

  #startTimer(): void {
    this.#timer ??= this.#clock?.startTimer("waiting writes", LATER_MS, () => {
      this.#timer = undefined;
      try {
        this.#settle();
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        this.onFault(error);
        this.#startTimer();
      }
    });
  }

  /** Drops what waits. */
  close(): void {
    this.#timer?.clear();
    this.#waiting = [];
  }
}
