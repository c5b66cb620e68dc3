import { setPriority } from "node:os";
import { copyChecked, OPEN_FILE, OPEN_FILE_AT, saveChecked } from "./copies.ts";
import { openForReading } from "./sqlite.ts";

/*
 * This program copies a database that is in use: `copy-database FROM TO` writes one snapshot,
 * checks it and syncs it. The snapshot is read over a connection of its own, so that no program
 * waits; the write-ahead log only grows a little more meanwhile. `copy-database - TO` saves a file
 * that was deleted: the program that lost the file passes it on open (docs/design.md 2.2). Without
 * a good copy the exit code is 1, and standard error has the reason.
 */

/** The niceness of this program, so that other processes run first. */
const LOW_PRIORITY = 10;

const [from = "", to = ""] = process.argv.slice(2);
setPriority(LOW_PRIORITY);
// SQLite gives a new file these rights, so that nobody else can read a copy at any time.
process.umask(0o077);
if (from === OPEN_FILE) saveChecked(OPEN_FILE_AT, to);
else {
  const database = openForReading(from);
  copyChecked(database, to);
  database.close();
}
