import type {
  DatabaseSync,
  SQLInputValue,
  StatementResultingChanges,
  StatementSync,
} from "node:sqlite";
import { transaction } from "../../shared/sqlite.ts";

export type Row = Record<string, SQLInputValue>;

/** One statement of the journal, prepared when the journal is opened. */
export class Statement {
  readonly name: string;
  readonly sql: string;
  readonly #prepared: StatementSync;

  constructor(name: string, sql: string, prepared: StatementSync) {
    this.name = name;
    this.sql = sql;
    this.#prepared = prepared;
  }

  get(...values: SQLInputValue[]): Row | undefined {
    return this.#prepared.get(...values) as Row | undefined;
  }

  all(...values: SQLInputValue[]): Row[] {
    return this.#prepared.all(...values) as Row[];
  }

  run(...values: SQLInputValue[]): StatementResultingChanges {
    return this.#prepared.run(...values);
  }
}

/**
 * Every statement of the journal goes through here, so that the speed test can run each of them.
 * Not statements in this sense: the schema (migrations.ts), the daily backup, and the few rows that
 * the database has about itself (shared/stores/).
 */
export class Statements {
  readonly #database: DatabaseSync;
  readonly list: Statement[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** The statements of one part of the journal, by the names of their texts. */
  prepare<K extends string>(part: string, texts: Readonly<Record<K, string>>) {
    const prepared = {} as Record<K, Statement>;
    for (const name of Object.keys(texts) as K[]) {
      const sql = texts[name];
      prepared[name] = new Statement(`${part} ${name}`, sql, this.#database.prepare(sql));
      this.list.push(prepared[name]);
    }
    return prepared;
  }

  /** Everything that `work` writes is one commit, synced to disk when this returns. */
  transaction<T>(work: () => T): T {
    return transaction(this.#database, work);
  }
}
