import { setPriority } from "node:os";
import { copyChecked, OPEN_FILE, OPEN_FILE_AT, saveChecked } from "./copies.ts";
import { openForReading } from "./sqlite.ts";

/**
 * A program of its own, started by the daily chores: `copy-database FROM TO` copies a database that
 * is in use, checks the copy and syncs it. The copy is one snapshot, read over a connection of its
 * own, so that no program waits for it; a payment costs the write-ahead log a few pages more
 * meanwhile. `copy-database - TO` saves a file that has no name any more: the program that lost the
 * file passes it on open, and may be killed meanwhile (docs/design.md 1.3). Without a good copy the
 * exit code is 1, and standard error has the reason.
 */

/** The priority of this program, lower than that of other processes. */
const LOW_PRIORITY = 10;

const [from = "", to = ""] = process.argv.slice(2);
setPriority(LOW_PRIORITY);
if (from === OPEN_FILE) saveChecked(OPEN_FILE_AT, to);
else {
  const database = openForReading(from);
  copyChecked(database, to);
  database.close();
}
