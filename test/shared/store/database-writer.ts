/** Commits a hundred items, leaves one transaction open, and waits to be killed. */
import { openDatabase, transaction } from "../../../src/shared/store/sqlite.ts";

const database = openDatabase(process.argv[2] as string, [
  "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
]);
const insert = database.prepare("INSERT INTO item (name) VALUES (?)");
for (let i = 0; i < 100; i++) transaction(database, () => insert.run(`item ${i}`));
database.exec("BEGIN");
insert.run("not committed");
console.log("committed 100, one open");
process.stdin.resume();
