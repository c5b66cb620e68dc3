import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { prepared, transaction } from "./sqlite.ts";

type Values = (SQLInputValue | Record<string, SQLInputValue>)[];

/**
 * The base of classes with tables of one database. A row's type has members with the names of the
 * columns. A change is on disk when its call returns.
 */
export class Tables {
  protected readonly database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  protected get<T>(sql: string, ...values: Values): T | undefined {
    return prepared(this.database, sql).get(...(values as SQLInputValue[])) as T | undefined;
  }

  protected all<T>(sql: string, ...values: Values): T[] {
    return prepared(this.database, sql).all(...(values as SQLInputValue[])) as T[];
  }

  /** Runs a statement and returns how many rows it has changed. */
  protected run(sql: string, ...values: Values): number {
    return Number(prepared(this.database, sql).run(...(values as SQLInputValue[])).changes);
  }

  /** Runs `work` in one transaction: all of it is on disk when this returns, or none of it. */
  together<T>(work: () => T): T {
    return transaction(this.database, work);
  }
}
