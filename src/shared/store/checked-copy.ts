import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { assertWhole } from "./sqlite.ts";
import { copySynced, syncFolder } from "./store-file.ts";

/**
 * Writes one moment of a database that is in use into another file, reads the copy through and
 * syncs it. Throws when there is no good copy; what there is of it then lies there.
 */
export function copyChecked(database: DatabaseSync, copyPath: string): void {
  database.prepare("VACUUM INTO ?").run(copyPath);
  check(copyPath);
}

/**
 * Like {@link copyChecked}, of an open file that holds all of a database and that nobody writes
 * into meanwhile. The copy appears under its name when it is good.
 */
export function saveChecked(file: number, copyPath: string): void {
  const unfinished = unfinishedOf(copyPath);
  try {
    copySynced(file, unfinished);
    const copy = new DatabaseSync(unfinished);
    // Without the file's log it is like every other copy.
    copy.exec("PRAGMA journal_mode = DELETE");
    copy.close();
    check(unfinished);
    renameSync(unfinished, copyPath);
  } finally {
    clearUnfinished(copyPath);
  }
  syncFolder(dirname(copyPath));
}

const unfinishedOf = (copyPath: string): string => `${copyPath}.saving`;

/** Takes away the leftovers of a {@link saveChecked} that was killed. */
export function clearUnfinished(copyPath: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) {
    rmSync(`${unfinishedOf(copyPath)}${ending}`, { force: true });
  }
}

function check(copyPath: string): void {
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
