import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import {
  type Migration,
  openDatabase,
  openForReading,
  prepared,
  transaction,
} from "../../../src/shared/store/sqlite.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startChild } from "../talking-child.ts";

const table = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT";

/** docs/design.md 2.1: so much of the write-ahead log stays on the disk. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/** Of a row in the old space; an object of node:sqlite's own leaves 72. */
const ROW_BYTES_MAX = 20;

const newPath = (): string => join(temporaryFolder(), "data", "journal.db");

const column = (name: string): Migration => ({
  goesOn: `ALTER TABLE item ADD COLUMN ${name} TEXT`,
});

function open(path: string, migrations: readonly Migration[]): DatabaseSync {
  const database = openDatabase(path, migrations);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

const names = (database: DatabaseSync): unknown[] =>
  database
    .prepare("SELECT name FROM item ORDER BY id")
    .all()
    .map(({ name }) => name);

test("every commit is synced: WAL and FULL are really set, foreign keys are checked", () => {
  const database = open(newPath(), []);
  expect(pragma(database, "journal_mode")).toBe("wal");
  expect(pragma(database, "synchronous")).toBe(2);
  expect(pragma(database, "foreign_keys")).toBe(1);
  expect(pragma(database, "busy_timeout")).toBe(2_000);
});

test("a database whose write-ahead log cannot be opened is refused at once", () => {
  const path = newPath();
  mkdirSync(`${path}-shm`, { recursive: true });
  mkdirSync(`${path}-wal`);
  expect(() => openDatabase(path, [table])).toThrow();
});

test("migrations run once each and in order, later ones are added", () => {
  const path = newPath();
  const steps = [table, "INSERT INTO item (name) VALUES ('two')"];
  const first = open(path, steps);
  expect(pragma(first, "user_version")).toBe(2);
  first.close();
  const again = open(path, steps);
  expect(names(again)).toEqual(["two"]);
  again.close();
  const later = open(path, [...steps, "INSERT INTO item (name) SELECT name || '+3' FROM item"]);
  expect(names(later)).toEqual(["two", "two+3"]);
  expect(pragma(later, "user_version")).toBe(3);
});

test("a file of a newer program is refused and left as it is", () => {
  const path = newPath();
  open(path, [table, "SELECT 1", "SELECT 1"]).close();
  expect(() => openDatabase(path, [table])).toThrow(
    "database has schema 3, but this program knows only 1: start the newer program that wrote it",
  );
  expect(pragma(open(path, [table, "SELECT 1", "SELECT 1"]), "user_version")).toBe(3);
});

test("a file of a newer program is taken that has left it readable for this schema", () => {
  const path = newPath();
  open(path, [table, "SELECT 1", column("note"), column("more")]).close();
  const older = open(path, [table, "SELECT 1"]);
  older.exec("INSERT INTO item (name) VALUES ('by the older one')");
  expect(pragma(older, "user_version")).toBe(4);
  older.close();
  expect(() => openDatabase(path, [table])).toThrow("schema 4, but this program knows only 1");
  const newer = open(path, [table, "SELECT 1", column("note"), column("more")]);
  expect(newer.prepare("SELECT name, note, more FROM item").all()).toEqual([
    { name: "by the older one", note: null, more: null },
  ]);
});

test("a copy, and a step that an older program cannot read, keep the mark true", () => {
  const path = newPath();
  open(path, [table, column("note")]).exec(`VACUUM INTO '${path}.copy'`);
  expect(names(open(`${path}.copy`, [table]))).toEqual([]);
  open(path, [table, column("note"), "SELECT 1"]).close();
  expect(() => openDatabase(path, [table])).toThrow("schema 3");
  expect(() => openDatabase(path, [table, column("note")])).toThrow("schema 3");
});

test("a file from before the mark gets it, and is refused by older programs until then", () => {
  const path = newPath();
  const steps = [table, column("note")];
  open(path, steps).exec("PRAGMA application_id = 0");
  expect(() => openDatabase(path, [table])).toThrow("schema 2");
  open(path, steps).close();
  open(path, [table]).close();
});

test("a migration that fails leaves the file as it was, with those before it", () => {
  const path = newPath();
  open(path, [table]).close();
  const broken = "INSERT INTO item (name) VALUES ('half'); INSERT INTO nowhere VALUES (1)";
  const second = "INSERT INTO item (name) VALUES ('second')";
  expect(() => openDatabase(path, [table, second, broken])).toThrow("nowhere");
  const database = open(path, [table]);
  expect(pragma(database, "user_version")).toBe(1);
  expect(names(database)).toEqual([]);
});

test("a transaction that throws leaves nothing, and the next one works", () => {
  const database = open(newPath(), [table]);
  const insert = database.prepare("INSERT INTO item (name) VALUES (?)");
  expect(() =>
    transaction(database, () => {
      insert.run("lost");
      throw new RangeError("half way");
    }),
  ).toThrow(RangeError);
  expect(database.isTransaction).toBe(false);
  expect(transaction(database, () => insert.run("kept").changes)).toBe(1);
  expect(names(database)).toEqual(["kept"]);
});

test("a transaction inside another is refused, and the outer one is rolled back", () => {
  const database = open(newPath(), [table]);
  expect(() =>
    transaction(database, () => {
      database.exec("INSERT INTO item (name) VALUES ('outer')");
      transaction(database, () => undefined);
    }),
  ).toThrow("within a transaction");
  expect(names(database)).toEqual([]);
});

test("work that goes on after the commit is refused: its writes would not be in it", () => {
  const database = open(newPath(), [table]);
  expect(() => transaction(database, () => Promise.resolve(1))).toThrow(BrokenInvariant);
  expect(database.isTransaction).toBe(false);
});

test("only its owner can read the file, its log and its index, whatever they were before", () => {
  const path = newPath();
  open(path, [table]).close();
  chmodSync(path, 0o666);
  const database = open(path, [table]);
  database.exec("INSERT INTO item (name) VALUES ('x')");
  const folder = join(path, "..");
  expect(readdirSync(folder).toSorted()).toEqual([
    "journal.db",
    "journal.db-shm",
    "journal.db-wal",
  ]);
  for (const name of readdirSync(folder)) {
    expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
  }
});

test("a file that is no database, and a folder, are refused and left unchanged", () => {
  const folder = temporaryFolder();
  expect(() => openDatabase(folder, [])).toThrow("unable to open");
  const program = join(folder, "journal.db");
  const other = new DatabaseSync(program);
  other.close();
  open(program, [table]).close();
  expect(existsSync(program)).toBe(true);
});

test("committed rows survive a killed process, and other rows are gone", async () => {
  const path = newPath();
  const child = startChild("store/database-writer.ts", path);
  expect(await child.nextLine()).toBe("committed 100, one open");
  child.kill("SIGKILL");
  await child.exited;
  const database = open(path, [table]);
  expect(names(database)).toEqual(Array.from({ length: 100 }, (_, i) => `item ${i}`));
  expect(pragma(database, "integrity_check")).toBe("ok");
});

test("a reader waits for a program that locks the file for a moment", async () => {
  const path = newPath();
  open(path, [table]).close();
  const child = startChild("store/lock-holder.ts", path);
  expect(await child.nextLine()).toBe("held");
  child.send("let go");
  const reader = openForReading(path);
  onTestFinished(() => reader.close());
  expect(names(reader)).toEqual(["held"]);
  await child.exited;
});

test("a write-ahead log that grew during a long read shrinks when the reader has gone", () => {
  const path = newPath();
  const database = open(path, [table]);
  const insert = database.prepare("INSERT INTO item (name) VALUES (hex(zeroblob(?)))");
  const logBytes = (): number => statSync(`${path}-wal`).size;
  const reader = openForReading(path);
  reader.exec("BEGIN");
  expect(names(reader)).toEqual([]);
  insert.run((LOG_BYTES_MAX + 1024 * 1024) / 2);
  insert.run(1);
  expect(logBytes()).toBeGreaterThan(LOG_BYTES_MAX);
  reader.close();
  // One commit copies the log back, the next one begins it anew.
  for (let commit = 0; commit < 2; commit++) insert.run(1);
  expect(logBytes()).toBeLessThanOrEqual(LOG_BYTES_MAX);
});

test("rows of kept statements are those that node:sqlite gives, however values are given", () => {
  const database = open(newPath(), [table]);
  const insert = "INSERT INTO item (name) VALUES (:name) RETURNING id, upper(name) AS loud";
  expect(prepared(database, insert).get({ name: "one" })).toEqual({ id: 1, loud: "ONE" });
  expect(prepared(database, insert).all({ name: "two" })).toEqual([{ id: 2, loud: "TWO" }]);
  const { changes } = prepared(database, "INSERT INTO item (name) VALUES (?)").run("three");
  expect(changes).toBe(1);
  const some = "SELECT id, name FROM item WHERE id >= ?1 OR name = ?2 ORDER BY id";
  for (const values of [
    [2, "one"],
    [3, ""],
    [9, ""],
  ] as const) {
    const rows = database
      .prepare(some)
      .all(...values)
      .map((row) => ({ ...row }));
    expect(prepared(database, some).all(...values)).toEqual(rows);
    expect(prepared(database, some).get(...values)).toEqual(rows[0]);
  }
});

test("a row that was read leaves nothing in the old space of the memory", async () => {
  const child = startChild("store/row-reader.ts", newPath());
  expect(Number(await child.nextLine())).toBeLessThan(ROW_BYTES_MAX);
  await child.exited;
});
