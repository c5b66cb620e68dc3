import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Migration, openDatabase } from "./sqlite.ts";
import { copySynced, declareRestored, readStoreFile, syncFolder } from "./store-file.ts";

/**
 * How a copy replaces a database (docs/rules/17-loss.md): it is written next to the database, an
 * entry in the file of the store decides, and only then files are moved. After a power cut before
 * the entry all is as it was; after a later one the next start moves the files.
 */

/** Writes a copy next to the database, on disk when it returns; it replaces nothing yet. */
export function stageCopy(databasePath: string, copy: string, at: string): void {
  const folder = dirname(databasePath);
  const earlier = `${basename(databasePath)}.restore-`;
  for (const file of readdirSync(folder)) {
    if (file.startsWith(earlier)) rmSync(join(folder, file));
  }
  copySynced(copy, copyPathOf(databasePath, at));
  syncFolder(folder);
}

/** From here on the copy is the database: this process moves the files, or the next start does. */
export function decidePutBack(databasePath: string, at: string, because: string): void {
  declareRestored(databasePath, because, at);
  finishPutBack(databasePath);
}

/** Moves what is left to be moved; the files that were there are kept. */
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
  // SQLite would apply the former database's log to the new one.
  syncFolder(aside);
  syncFolder(folder);
  renameSync(copy, databasePath);
  syncFolder(folder);
}

/** The folder with the files that were there before. */
export function keptIn(databasePath: string, at: string): string {
  return join(dirname(databasePath), "backup", `before-restore-${at}`);
}

/** {@link openDatabase}, after finishing a restore that was cut off. */
export function openStore(path: string, migrations: readonly Migration[]): DatabaseSync {
  finishPutBack(path);
  return openDatabase(path, migrations);
}

function copyPathOf(databasePath: string, at: string): string {
  return `${databasePath}.restore-${at}`;
}
