import { chmodSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import { invariant } from "../invariant.ts";

/**
 * One step of a database schema; its number is its position in the list, from 1. Steps are
 * appended, never edited. A step in `goesOn` changes nothing that programs of the previous schema
 * use, so that they can use the database after an update was taken back (docs/design.md 2.1).
 */
export type Migration = string | { readonly goesOn: string };

/** The size in bytes to which a write-ahead log is cut after it has grown. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;
/** From this number of log pages on (SQLite's default), a commit copies them into the database. */
const LOG_PAGES = 1_000;
/** How long a statement waits for another process's write lock before it fails. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * Opens a durable database: with a write-ahead log, every commit synced to the disk (docs/design.md
 * 2.1), foreign keys on, and the last migration's schema. Only the file's owner can read it. Throws
 * if it cannot be opened or migrated, or if a newer version has made it unreadable for this one.
 */
export function openDatabase(path: string, migrations: readonly Migration[]): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  keepOrphan(path);
  const database = new DatabaseSync(path, {
    enableForeignKeyConstraints: true,
    timeout: BUSY_TIMEOUT_MS,
  });
  try {
    chmodSync(path, 0o600);
    makeDurable(database);
    migrate(database, migrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens a database for reading that other programs may have open, and waits at most {@link
 * BUSY_TIMEOUT_MS} for their locks. Throws if it cannot be opened; damage shows when it is read.
 */
export function openForReading(path: string): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
}

/**
 * Renames a write-ahead log without its database, because SQLite would delete the log, which may be
 * all that is left of the newest payments.
 */
function keepOrphan(path: string): void {
  const log = `${path}-wal`;
  if (sizeOf(path) > 0 || sizeOf(log) === 0) return;
  const changedMs = Math.round(statSync(log).mtimeMs);
  renameSync(log, `${log}.orphan-${changedMs}`);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Turns on a write-ahead log and synced commits. Throws if the drive, as on a network, cannot. */
function makeDurable(database: DatabaseSync): void {
  const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
  database.exec("PRAGMA synchronous = FULL");
  // With this limit a write-ahead log that grew while a copy was made shrinks again.
  database.exec(`PRAGMA journal_size_limit = ${LOG_BYTES_MAX}`);
  // From now on, commits copy the log into the database, which `copyBackAt` may have prevented.
  database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  const synchronous = database.prepare("PRAGMA synchronous").get()?.["synchronous"];
  if (mode !== "wal" || synchronous !== 2) {
    throw new Error(
      `a database on this drive may lose data (journal ${mode}, synchronous ${synchronous}): ` +
        "move the data folder to a local drive",
    );
  }
}

function migrate(database: DatabaseSync, migrations: readonly Migration[]): void {
  const version = schemaOf(database);
  const known = migrations.length;
  if (version > known) {
    const from = readableFrom(database);
    if (from !== undefined && from <= known) return;
    throw new Error(
      `the database has schema ${version}, but this program knows only ${known}: ` +
        "start the newer program that wrote it",
    );
  }
  const from = Math.max(smallestReader(migrations), readableFrom(database) ?? 0);
  if (version === known && readableFrom(database) === from) return;
  // All migrations are one transaction, with one wait for the disk: a failure changes nothing.
  transaction(database, () => {
    for (const migration of migrations.slice(version)) database.exec(sqlOf(migration));
    database.exec(`PRAGMA user_version = ${known}`);
    database.exec(`PRAGMA ${READABLE_FROM} = ${from}`);
  });
}

export function sqlOf(migration: Migration): string {
  return typeof migration === "string" ? migration : migration.goesOn;
}

/** The number in a SQLite file's head that is free for programs; it holds {@link readableFrom}. */
const READABLE_FROM = "application_id";

/** Returns the number of the last migration that ran. */
export function schemaOf(database: DatabaseSync): number {
  return numberOf(database, "user_version");
}

/** Returns the smallest schema whose programs can use the database; undefined: not recorded. */
export function readableFrom(database: DatabaseSync): number | undefined {
  return numberOf(database, READABLE_FROM) || undefined;
}

/** Returns the number of the last migration after which older programs cannot use the database. */
function smallestReader(migrations: readonly Migration[]): number {
  return migrations.findLastIndex((one) => typeof one === "string") + 1;
}

/** Returns the value of a PRAGMA that is a number. */
export function numberOf(database: DatabaseSync, name: string, column = name): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[column] ?? 0);
}

/** Copies the log into the database file; false: another program still reads the log. */
export function emptyLog(database: DatabaseSync): boolean {
  const found = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
  return found?.["busy"] === 0 && found["log"] === found["checkpointed"];
}

/** Sets the number of log pages from which a commit copies them; 0: never. Returns the old one. */
export function copyBackAt(database: DatabaseSync, pages: number): number {
  const before = numberOf(database, "wal_autocheckpoint");
  database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  return before;
}

/**
 * Begins a new write-ahead log after copying the content of the old log into the database. Throws
 * at once if another program reads the database, and can then be called again.
 */
export function renewLog(database: DatabaseSync): void {
  withoutWaiting(database, () => {
    const mode = database.prepare("PRAGMA journal_mode = DELETE").get()?.["journal_mode"];
    if (mode !== "delete") throw new Error(`SQLite stays in the journal mode ${mode}`);
    makeDurable(database);
    schemaOf(database); // SQLite opens its write-ahead log only when something is read
  });
}

/** Runs `work`, which fails at once if it needs a lock that another program holds. */
export function withoutWaiting(database: DatabaseSync, work: () => void): void {
  const waitMs = numberOf(database, "busy_timeout", "timeout");
  database.exec("PRAGMA busy_timeout = 0");
  try {
    work();
  } finally {
    database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  }
}

/** Throws if the database is damaged; reads the whole file. */
export function assertWhole(database: DatabaseSync): void {
  const [found] = database.prepare("PRAGMA quick_check(1)").all();
  if (found?.["quick_check"] !== "ok") throw new Error(`damaged: ${JSON.stringify(found)}`);
}

type Values = readonly SQLOutputValue[];
type Row = Record<string, SQLOutputValue>;
/** A value for a statement; or one object with all named values, which comes first. */
type Given = SQLInputValue | Record<string, SQLInputValue>;
type Reader<T> = (...values: Given[]) => T;

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** Returns a statement, prepared at its first use and reused until the database is closed. */
export function prepared(database: DatabaseSync, sql: string): StatementSync {
  let kept = statements.get(database);
  if (!kept) {
    kept = new Map();
    statements.set(database, kept);
  }
  let statement = kept.get(sql);
  if (!statement) {
    statement = lightRows(database.prepare(sql));
    kept.set(sql, statement);
  }
  return statement;
}

/**
 * Makes a statement's row objects in JavaScript, twice as fast as node:sqlite, whose rows each take
 * 72 bytes more memory until V8's next full garbage collection.
 */
function lightRows(statement: StatementSync): StatementSync {
  const names = statement.columns().map(({ name }) => name);
  if (names.length === 0) return statement;
  statement.setReturnArrays(true);
  const get = statement.get.bind(statement) as unknown as Reader<Values | undefined>;
  const all = statement.all.bind(statement) as unknown as Reader<Values[]>;
  const object = (values: Values): Row => {
    const row: Row = {};
    for (let i = 0; i < names.length; i++) row[names[i] as string] = values[i] as SQLOutputValue;
    return row;
  };
  statement.get = (...values: Given[]) => {
    const found = get(...values);
    return found && object(found);
  };
  statement.all = (...values: Given[]) => all(...values).map(object);
  return statement;
}

/** Runs `work` in the running transaction, or in a new transaction if none runs. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  return database.isTransaction ? work() : transaction(database, work);
}

/** Runs `work` in one transaction: all of it is on disk when this returns, or none of it. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  prepared(database, "BEGIN IMMEDIATE").run();
  try {
    const result = work();
    invariant(!(result instanceof Promise), "the work of a transaction ends before its commit");
    prepared(database, "COMMIT").run();
    return result;
  } catch (error) {
    // If a failed COMMIT has already rolled back, there is nothing left to undo.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * The base of classes with tables of one database. A row's type has members with the names of the
 * columns. A change is on disk when its call returns.
 */
export class Tables {
  protected readonly database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  protected get<T>(sql: string, ...values: Given[]): T | undefined {
    return prepared(this.database, sql).get(...(values as SQLInputValue[])) as T | undefined;
  }

  protected all<T>(sql: string, ...values: Given[]): T[] {
    return prepared(this.database, sql).all(...(values as SQLInputValue[])) as T[];
  }

  /** Runs a statement and returns how many rows it has changed. */
  protected run(sql: string, ...values: Given[]): number {
    return Number(prepared(this.database, sql).run(...(values as SQLInputValue[])).changes);
  }

  /** Runs `work` in one transaction: all of it is on disk when this returns, or none of it. */
  together<T>(work: () => T): T {
    return transaction(this.database, work);
  }
}
