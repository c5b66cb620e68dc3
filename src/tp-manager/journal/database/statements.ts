import type { DatabaseSync, SQLInputValue, StatementResultingChanges } from "node:sqlite";
import { BrokenInvariant } from "../../../shared/invariant.ts";
import { prepared, transaction } from "../../../shared/store/sqlite.ts";
import type { WriteProof } from "../../../shared/store/write-proof.ts";
import type { Clock, Timer } from "../../../shared/time.ts";
import { makeWhole } from "../../attempts/packed-texts.ts";

/** Matches SQL on the table `hand_off`, before which its delayed writes are written. */
const mayWait = /\bhand_off\b/;

export type Row = Record<string, SQLInputValue>;

interface Table {
  writes: number;
}

/** One SQL statement of the journal, prepared at its first use. */
export class Statement {
  readonly name: string;
  readonly sql: string;
  readonly #home: Statements;
  readonly #mayWait: boolean;
  readonly #written: Table | undefined;
  #read: readonly Table[] | undefined;
  #kept: { stamp: number; values: readonly SQLInputValue[]; row: Row | undefined } | undefined;

  constructor(name: string, text: string, home: Statements) {
    // Without an expression after LIMIT, SQLite would plan the statement anew at each use.
    const sql = text.replaceAll(/\bLIMIT (\?\d*)/g, "LIMIT $1 + 0");
    const written = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+(\w+)/.exec(sql)?.[1];
    this.name = name;
    this.sql = sql;
    this.#home = home;
    this.#mayWait = mayWait.test(sql);
    this.#written = written === undefined ? undefined : home.tables.get(written);
    if (written !== undefined && !this.#written) throw new Error(`no such table: ${written}`);
  }

  get(...values: SQLInputValue[]): Row | undefined {
    const row = this.#use("get", values) as Row | undefined;
    return row && makeWhole(row);
  }

  /** Returns all rows. The members of `T` are the selected columns, with SQLite's own types. */
  all<T = Row>(...values: SQLInputValue[]): T[] {
    const found = this.#use("all", values) as Row[];
    return found.map(makeWhole) as T[];
  }

  run(...values: SQLInputValue[]): StatementResultingChanges {
    return this.#use("run", values) as StatementResultingChanges;
  }

  #use(how: "get" | "all" | "run", values: readonly SQLInputValue[]): unknown {
    const { database, proof } = this.#home;
    if (this.#mayWait && how === "run") this.#home.settle();
    else if (this.#mayWait) this.#home.settleForReading();
    const use = () => prepared(database, this.sql)[how](...values);
    if (!this.#written) return use();
    this.#written.writes += 1;
    return database.isTransaction ? use() : proof.watch(use);
  }

  /** The number of writes so far to the tables that this statement reads. */
  get stamp(): number {
    const { tables } = this.#home;
    this.#read ??= [...new Set(this.sql.match(/\w+/g))].flatMap((name) => tables.get(name) ?? []);
    return this.#read.reduce((sum, { writes }) => sum + writes, 0);
  }

  /**
   * Like {@link get}, but returns the previous row if none of the tables was written since: only
   * this process writes the journal, and no caller changes a row.
   */
  kept(...values: SQLInputValue[]): Row | undefined {
    const { stamp } = this;
    const known = this.#kept;
    const isSame = (value: SQLInputValue, at: number) => Object.is(value, known?.values[at]);
    if (known?.stamp === stamp && values.every(isSame)) return known.row;
    const row = this.get(...values);
    // A row from an open transaction is not cached: the transaction may be rolled back.
    if (!this.#home.database.isTransaction) this.#kept = { stamp, values, row };
    return row;
  }

  /**
   * Yields all rows of a statement that ends in `< ? ... DESC LIMIT ?`, reading a page of `size`
   * rows at a time. `by` is the compared column; `before` is a value above that of the first row.
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
 * All statements of the journal in one list, so that the speed test can run each of them. The
 * schema (migrations.ts) and the few rows about the database itself are not in the list.
 */
export class Statements {
  readonly database: DatabaseSync;
  readonly proof: WriteProof;
  readonly tables: ReadonlyMap<string, Table>;
  readonly waiting: WaitingWrites;
  readonly list: Statement[] = [];

  /** Without a clock no write is delayed: each write is on disk at once. */
  constructor(database: DatabaseSync, proof: WriteProof, clock?: Clock) {
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    this.database = database;
    this.proof = proof;
    this.tables = new Map(names.map(({ name }) => [String(name), { writes: 0 }]));
    this.waiting = new WaitingWrites(clock, () => this.settle());
  }

  /** Returns the statements of one part of the journal, named by the keys of `texts`. */
  add<K extends string>(part: string, texts: Readonly<Record<K, string>>) {
    const added = {} as Record<K, Statement>;
    for (const name of Object.keys(texts) as K[]) {
      added[name] = new Statement(`${part} ${name}`, texts[name], this);
      this.list.push(added[name]);
    }
    return added;
  }

  /** Prepares all statements. Throws if the database lacks a column that one of them uses. */
  prepareAll(): void {
    for (const { sql } of this.list) prepared(this.database, sql);
  }

  /** Runs `work` and the delayed writes in one transaction, which is on disk when this returns. */
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

  /** Writes all delayed writes to the disk before it returns. */
  settle(): void {
    if (this.waiting.isEmpty || this.database.isTransaction) return;
    this.transaction(() => {});
  }

  /** Writes the delayed writes before a read. On a full disk, the read goes on without them. */
  settleForReading(): void {
    try {
      this.settle();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
    }
  }
}

/** Returns the base class for a part of the journal; `texts`: its SQL; `P`: other parts it uses. */
export function rows<K extends string>(part: string, texts: Readonly<Record<K, string>>) {
  return class<P = unknown> {
    protected readonly statements: Statements;
    protected readonly sql: Record<K, Statement>;
    protected readonly parts: P;

    constructor(journal: P & { readonly statements: Statements }) {
      this.statements = journal.statements;
      this.sql = this.statements.add(part, texts);
      this.parts = journal;
    }
  };
}

/** The longest time for which a write is delayed. */
const LATER_MS = 1_000;

/**
 * Holds the writes that are delayed to the next commit of the journal (docs/design.md 2.1). A
 * killed process loses them, so only facts that can be learnt again may be delayed.
 */
class WaitingWrites {
  readonly #clock: Clock | undefined;
  readonly #settle: () => void;
  #waiting: Array<{ readonly write: () => void; readonly written: () => void }> = [];
  /** How many of the delayed writes, counted from the first, are in the open transaction. */
  #written = 0;
  #timer: Timer | undefined;
  /** Called when the timer's commit failed. The next commit contains the delayed writes again. */
  onFault: (error: unknown) => void = () => {};

  constructor(clock: Clock | undefined, settle: () => void) {
    this.#clock = clock;
    this.#settle = settle;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * Delays a write to the next commit, at most by `LATER_MS`. `write` is called again if the commit
   * fails, and `written` when the write is on disk.
   */
  add(write: () => void, written: () => void): void {
    this.#waiting.push({ write, written });
    if (this.#clock) this.#startTimer(this.#clock);
    else this.#settle();
  }

  /** Executes all delayed writes. Must be called inside a transaction. */
  write(): void {
    for (const { write } of this.#waiting) write();
    this.#written = this.#waiting.length;
  }

  /** Drops the writes that {@link write} executed. Call it when their transaction is on disk. */
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

  #startTimer(clock: Clock): void {
    this.#timer ??= clock.startTimer("waiting writes", LATER_MS, () => {
      this.#timer = undefined;
      try {
        this.#settle();
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        this.onFault(error);
        this.#startTimer(clock);
      }
    });
  }

  close(): void {
    this.#timer?.clear();
    this.#waiting = [];
  }
}
