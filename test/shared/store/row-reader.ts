/** Reads a row many times and prints how many bytes each read has left in the old space. */
import { getHeapSpaceStatistics } from "node:v8";
import { openDatabase, prepared } from "../../../src/shared/store/sqlite.ts";

const ROWS = 10_000;

const [path = ""] = process.argv.slice(2);
const table = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT";
const database = openDatabase(path, [table]);
database.exec("INSERT INTO item VALUES (1, 'one')");
const read = (rows: number): void => {
  for (let i = 0; i < rows; i++) prepared(database, "SELECT * FROM item WHERE id = ?").get(1);
};
read(ROWS); // until the code is compiled
const before = oldSpaceBytes();
read(ROWS);
process.stdout.write(`${(oldSpaceBytes() - before) / ROWS}\n`);

function oldSpaceBytes(): number {
  const spaces = getHeapSpaceStatistics();
  return spaces.find(({ space_name: name }) => name === "old_space")?.space_used_size ?? 0;
}
