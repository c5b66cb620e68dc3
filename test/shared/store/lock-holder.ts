import { DatabaseSync } from "node:sqlite";

/**
 * Holds the database of its command line alone, as a recovery of its log does for a moment, and
 * lets it go a little after the first word on its standard input.
 */
const database = new DatabaseSync(process.argv[2] ?? "");
database.exec("PRAGMA locking_mode = EXCLUSIVE; INSERT INTO item (name) VALUES ('held')");
process.stdout.write("held\n");
process.stdin.once("data", () => {
  process.stdin.destroy();
  setTimeout(() => database.close(), 100);
});
