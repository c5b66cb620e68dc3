import { closeSync, fsyncSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { assertWhole } from "../sqlite.ts";

/**
 * Writes one moment of a database that is in use into another file, reads the copy through and
 * syncs it. Throws when there is no good copy; what there is of it then lies there.
 */
export function copyChecked(database: DatabaseSync, copyPath: string): void {
  database.prepare("VACUUM INTO ?").run(copyPath);
  const copy = new DatabaseSync(copyPath, { readOnly: true });
  try {
    assertWhole(copy);
  } finally {
    copy.close();
  }
  const file = openSync(copyPath, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
