import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../src/shared/store/sqlite.ts";
import { migrations } from "../../../src/tp-manager/journal/database/migrations.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

test("a journal that lacks a table is refused, and its file is let go", () => {
  const path = join(temporaryFolder(), "journal.db");
  const database = openDatabase(path, migrations);
  database.exec("DROP TABLE telecollection");
  database.close();
  expect(() => new Journal(path)).toThrow("no such table");
  // The last connection that closes removes the write-ahead log.
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("a journal that lacks a column is found by the check of the whole file", () => {
  const path = join(temporaryFolder(), "journal.db");
  const database = openDatabase(path, migrations);
  database.exec("ALTER TABLE hand_off RENAME COLUMN body TO content");
  database.close();
  const journal = new Journal(path);
  onTestFinished(() => journal.close());
  expect(() => journal.assertWhole()).toThrow("no column named body");
});
