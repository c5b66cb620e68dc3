import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../../src/shared/store/sqlite.ts";
import { Store, storeMigration } from "../../../src/shared/store/store.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

test("a session that a full disk did not take is not reported (docs/rules/17-loss.md)", () => {
  const path = join(temporaryFolder(), "some.db");
  const database = openDatabase(path, [storeMigration]);
  const store = new Store(database, path, () => 7);
  store.begin(() => {});
  const { mark } = store;
  database.exec("PRAGMA query_only = 1");
  expect(() => store.copied()).toThrow();
  expect(store.mark).toEqual(mark);
  expect(mark && store.contains(mark)).toBe(true);
  database.exec("PRAGMA query_only = 0");
  store.copied();
  expect(store.mark).not.toEqual(mark);
  expect(store.mark && store.contains(store.mark)).toBe(true);
  database.close();
});
