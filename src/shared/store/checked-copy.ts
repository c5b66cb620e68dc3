import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { assertWhole } from "./sqlite.ts";
import { copySynced, syncFolder } from "./store-file.ts";

/**
 * Writes a snapshot of a database that is in use into another file, checks all of the copy and
 * syncs it. Throws when the copy is not good, and leaves what there is of it.
 */
export function copyChecked(database: DatabaseSync, copyPath: string): void {
  database.prepare("VACUUM INTO ?").run(copyPath);
  check(copyPath);
}

/**
 * Like {@link copyChecked}, from an open file that holds all of a database and is not written
 * meanwhile. The copy gets its name when it is good.
 */
export function saveChecked(file: number, copyPath: string): void {
  const unfinished = unfinishedOf(copyPath);
  try {
    copySynced(file, unfinished);
    const copy = new DatabaseSync(unfinished);
    // A copy has no write-ahead log.
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
