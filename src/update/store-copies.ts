import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/process/probation.ts";
import { finishPutBack } from "../shared/store/put-back.ts";
import { openForReading, readableFrom, schemaOf } from "../shared/store/sqlite.ts";
import { copySynced, syncFolder } from "../shared/store/store-file.ts";
import { isDiskFull, makeRoom } from "./disk-room.ts";
import { removeHeld, removeWhole, replaceHeld } from "./durable-files.ts";

/*
 * The stores as they were before a switch (docs/updates.md 4.2): both databases with their logs,
 * and the small files that know their marks. All of them are put back, or none: so no store finds
 * that the other one remembers more of it than it holds.
 */

const databases = ["journal.db", "supervisor.db"] as const;

/** The list of the copies, which is written last: without it the copies are not whole. */
const listSchema = z.object({
  files: z.array(z.string()),
  /** The schema to which the previous programs have brought each database. */
  schemas: z.record(z.string(), z.int()),
});

const folderIn = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "stores-before");
const asideIn = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "stores-given-up");
const listIn = (dataDirectory: string): string => join(folderIn(dataDirectory), "list.json");

/** Returns the files of the stores that exist, by their path in the data folder. */
function storeFiles(dataDirectory: string): string[] {
  const files = databases.flatMap((name) => [name, `${name}-wal`]);
  const marks = join(dataDirectory, "stores");
  const names = existsSync(marks)
    ? readdirSync(marks).filter((name) => name.endsWith(".json"))
    : [];
  return [...files, ...names.map((name) => join("stores", name))].filter((path) =>
    existsSync(join(dataDirectory, path)),
  );
}

/**
 * Copies the stores, on disk when it returns; no program may have them open. A restore that was cut
 * off is finished first: the new version would finish it, and use up the copy that is restored.
 */
export function copyStores(dataDirectory: string): void {
  for (const name of databases) finishPutBack(join(dataDirectory, name));
  const folder = folderIn(dataDirectory);
  removeWhole(folder);
  try {
    copyInto(folder, dataDirectory);
  } catch (error) {
    // On a disk that the copies have filled, the previous programs could not start again.
    removeWhole(folder);
    throw error;
  }
}

/** Returns whether whole copies are there. */
export function haveCopies(dataDirectory: string): boolean {
  return existsSync(listIn(dataDirectory));
}

/** Removes copies that a cut left half way, because the programs may need their room. */
export function clearUnfinishedCopies(dataDirectory: string): void {
  if (!haveCopies(dataDirectory)) removeWhole(folderIn(dataDirectory));
}

/** Copies files by their paths in the data folder; they are on disk when it returns. */
function copyFiles(paths: readonly string[], from: string, to: string): void {
  mkdirSync(join(to, "stores"), { recursive: true, mode: 0o700 });
  for (const path of paths) copySynced(join(from, path), join(to, path));
  syncFolder(join(to, "stores"));
  syncFolder(to);
}

function copyInto(folder: string, dataDirectory: string): void {
  const files = storeFiles(dataDirectory);
  copyFiles(files, dataDirectory, folder);
  const schemas = Object.fromEntries(
    files
      .filter((path) => databases.some((name) => name === path))
      .map((path) => [path, factsOf(join(dataDirectory, path)).schema]),
  );
  replaceHeld(listIn(dataDirectory), `${JSON.stringify({ files, schemas })}\n`);
  syncFolder(dirname(folder));
}

/**
 * Puts all copies back; may be repeated after a cut, as long as no program was started in between.
 * The stores that the programs of the new version have left are kept under another name, once.
 */
export function putStoresBack(dataDirectory: string): void {
  const { files } = readList(dataDirectory);
  try {
    keepAside(dataDirectory);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // Nothing came on the probation, so only traces of the failure are lost.
    makeRoom(dataDirectory, { storesToo: false });
  }
  // SQLite would play an old log into the database that is put back, so each log is removed.
  for (const name of databases) {
    for (const ending of ["", "-wal", "-shm"]) {
      removeHeld(join(dataDirectory, `${name}${ending}`));
    }
  }
  syncFolder(dataDirectory);
  copyFiles(files, folderIn(dataDirectory), dataDirectory);
}

function keepAside(dataDirectory: string): void {
  const aside = asideIn(dataDirectory);
  const mark = join(aside, "complete");
  if (existsSync(mark)) return;
  removeWhole(aside);
  copyFiles(storeFiles(dataDirectory), dataDirectory, aside);
  replaceHeld(mark, "");
  syncFolder(dirname(aside));
}

/** Removes the stores that an earlier update has kept, before a switch keeps its own. */
export function forgetGivenUpStores(dataDirectory: string): void {
  removeWhole(asideIn(dataDirectory));
}

/** Returns whether the programs that made the copies can use the stores as they are now. */
export function areReadableByOlder(dataDirectory: string): boolean {
  return areReadableBy(readList(dataDirectory).schemas, dataDirectory);
}

/** Returns whether programs that know these schemas can use the stores as they are now. */
export function areReadableBy(
  schemas: Readonly<Record<string, number>>,
  dataDirectory: string,
): boolean {
  return Object.entries(schemas).every(([path, known]) => {
    if (!existsSync(join(dataDirectory, path))) return true;
    const { schema, from } = factsOf(join(dataDirectory, path));
    return schema <= known || (from !== undefined && from <= known);
  });
}

function factsOf(path: string): { readonly schema: number; readonly from: number | undefined } {
  const database = openForReading(path);
  try {
    return { schema: schemaOf(database), from: readableFrom(database) };
  } finally {
    database.close();
  }
}

function readList(dataDirectory: string): z.infer<typeof listSchema> {
  return listSchema.parse(JSON.parse(readFileSync(listIn(dataDirectory), "utf8")));
}
