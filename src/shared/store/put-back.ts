import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Migration, openDatabase } from "./sqlite.ts";
import { copySynced, declareRestored, readStoreFile, syncFolder } from "./store-file.ts";

/*
 * This file replaces a database by a copy (docs/rules/17-loss.md). The copy is written next to the
 * database. Then an entry in the store's file decides, and only after this entry files are moved: a
 * power cut before the entry changes nothing; after the entry, the next start moves the files.
 */

/** Writes a copy next to the database, on disk when this returns; nothing is replaced yet. */
export function stageCopy(databasePath: string, copy: string, at: string): void {
  const folder = dirname(databasePath);
  const earlier = `${basename(databasePath)}.restore-`;
  for (const file of readdirSync(folder)) {
    if (file.startsWith(earlier)) rmSync(join(folder, file));
  }
  copySynced(copy, copyPathOf(databasePath, at));
  syncFolder(folder);
}

/** Replaces the database by the copy; after a power cut the next start moves the files. */
export function decidePutBack(databasePath: string, at: string, because: string): void {
  declareRestored(databasePath, because, at);
  finishPutBack(databasePath);
}

/** Moves the files of a restore that are not moved yet; the replaced files go to {@link keptIn}. */
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
  // The old log's removal must be on disk first, or SQLite could apply that log to the copy.
  syncFolder(aside);
  syncFolder(folder);
  renameSync(copy, databasePath);
  syncFolder(folder);
}

/** Returns the folder with the files that a restore at the time `at` replaced. */
export function keptIn(databasePath: string, at: string): string {
  return join(dirname(databasePath), "backup", `before-restore-${at}`);
}

/** Finishes an interrupted restore, then opens the database as {@link openDatabase} does. */
export function openStore(path: string, migrations: readonly Migration[]): DatabaseSync {
  finishPutBack(path);
  return openDatabase(path, migrations);
}

function copyPathOf(databasePath: string, at: string): string {
  return `${databasePath}.restore-${at}`;
}
