import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Migration, openDatabase } from "./sqlite.ts";
import { copySynced, declareRestored, readStoreFile, syncFolder } from "./store-file.ts";

/**
 * Replaces a database by a copy (docs/rules/17-loss.md). The copy is written next to the database;
 * then an entry in the file of the store decides, and only after it files are moved. A power cut
 * before the entry changes nothing; after a later one the next start moves the files.
 */

/** Writes a copy next to the database and replaces nothing yet. On disk when it returns. */
export function stageCopy(databasePath: string, copy: string, at: string): void {
  const folder = dirname(databasePath);
  const earlier = `${basename(databasePath)}.restore-`;
  for (const file of readdirSync(folder)) {
    if (file.startsWith(earlier)) rmSync(join(folder, file));
  }
  copySynced(copy, copyPathOf(databasePath, at));
  syncFolder(folder);
}

/** Makes the copy the database: this process moves the files, or else the next start does. */
export function decidePutBack(databasePath: string, at: string, because: string): void {
  declareRestored(databasePath, because, at);
  finishPutBack(databasePath);
}

/** Moves the files that are not moved yet; the replaced files are kept in {@link keptIn}. */
export function finishPutBack(databasePath: string): void {
  const at = readStoreFile(databasePath)?.restoredAt;
  const copy = at === undefined ? "" : copyPathOf(databasePath, at);
  if (at === undefined || !existsSync(copy)) return;
  const folder = dirname(databasePath);
  const aside = keptIn(databasePath, at);
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  syncFolder(dirname(aside));
  for (const ending of ["", "-wal", "-shm"]) {
    const file = `${databasePath}${ending}`;
    if (existsSync(file)) renameSync(file, join(aside, basename(file)));
  }
  // The old log must be gone on the disk first, because SQLite would apply it to the new database.
  syncFolder(aside);
  syncFolder(folder);
  renameSync(copy, databasePath);
  syncFolder(folder);
}

/** Returns the folder with the files that were replaced. */
export function keptIn(databasePath: string, at: string): string {
  return join(dirname(databasePath), "backup", `before-restore-${at}`);
}

/** Finishes a restore that was cut off, then opens the database as {@link openDatabase} does. */
export function openStore(path: string, migrations: readonly Migration[]): DatabaseSync {
  finishPutBack(path);
  return openDatabase(path, migrations);
}

function copyPathOf(databasePath: string, at: string): string {
  return `${databasePath}.restore-${at}`;
}
