import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Migration, openDatabase } from "./sqlite.ts";
import { copySynced, declareRestored, readStoreFile, syncFolder } from "./store-file.ts";

/**
 * How a copy takes the place of a database (docs/rules/17-loss.md): it is laid beside the database,
 * one word in the file of the store decides, and only then files are moved. A power cut before the
 * word leaves everything as it was; one after the word is made good by the next start.
 */

/** Lays a copy beside the database; on disk when it returns. Nothing is decided by it. */
export function layBeside(databasePath: string, copy: string, at: string): void {
  const folder = dirname(databasePath);
  const earlier = `${basename(databasePath)}.restore-`;
  for (const file of readdirSync(folder)) {
    if (file.startsWith(earlier)) rmSync(join(folder, file));
  }
  copySynced(copy, besideOf(databasePath, at));
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
  const copy = at === undefined ? "" : besideOf(databasePath, at);
  if (at === undefined || !existsSync(copy)) return;
  const folder = dirname(databasePath);
  const aside = keptIn(databasePath, at);
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  syncFolder(dirname(aside));
  for (const ending of ["", "-wal", "-shm"]) {
    const file = `${databasePath}${ending}`;
    if (existsSync(file)) renameSync(file, join(aside, basename(file)));
  }
  // A log of the former database beside the new one would be played into it.
  syncFolder(aside);
  syncFolder(folder);
  renameSync(copy, databasePath);
  syncFolder(folder);
}

/** Where the files are kept that were there before. */
export function keptIn(databasePath: string, at: string): string {
  return join(dirname(databasePath), "backup", `before-restore-${at}`);
}

/** {@link openDatabase} of a database that may have been put back by a restore that was cut off. */
export function openStore(path: string, migrations: readonly Migration[]): DatabaseSync {
  finishPutBack(path);
  return openDatabase(path, migrations);
}

function besideOf(databasePath: string, at: string): string {
  return `${databasePath}.restore-${at}`;
}
