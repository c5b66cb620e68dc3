import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore, stageCopy } from "../../src/shared/store/put-back.ts";
import { openForReading } from "../../src/shared/store/sqlite.ts";
import { declareRestored } from "../../src/shared/store/store-file.ts";
import { copyStores, putStoresBack } from "../../src/update/store-copies.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const migrations = ["CREATE TABLE payment (id INTEGER PRIMARY KEY) STRICT"];

function idsIn(path: string): unknown[] {
  const database = openForReading(path);
  const ids = database.prepare("SELECT id FROM payment").all();
  database.close();
  return ids.map(({ id }) => id);
}

test("a restore that was cut off is in the copies, and comes back with them", () => {
  const data = temporaryFolder();
  const [journal, backup] = [join(data, "journal.db"), join(data, "backup.db")];
  const sell = (id: number): void => {
    const database = openStore(journal, migrations);
    database.exec(`INSERT INTO payment (id) VALUES (${id})`);
    database.close();
  };
  sell(1);
  cpSync(journal, backup);
  sell(2);
  // As far as the word that decides, and no file moved.
  stageCopy(journal, backup, "2026-01-15T12-00-00");
  declareRestored(journal, "it was put back", "2026-01-15T12-00-00");
  copyStores(data);
  sell(3);
  expect(idsIn(journal)).toEqual([1, 3]);
  putStoresBack(data);
  expect(idsIn(journal)).toEqual([1]);
  sell(4);
  expect(idsIn(journal)).toEqual([1, 4]);
});
