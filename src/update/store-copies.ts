import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/program/probation.ts";
import { finishPutBack } from "../shared/store/put-back.ts";
import { openForReading, readableFrom, schemaOf } from "../shared/store/sqlite.ts";
import { copySynced, syncFolder } from "../shared/store/store-file.ts";
import { isDiskFull, makeRoom } from "./disk-room.ts";
import { removeHeld, removeWhole, replaceHeld } from "./durable-files.ts";

/*
 * The copies of the databases that are made before a switch (docs/updates.md 4.2), with the
 * databases' logs and the small files that record their state. Either all copies are restored or
 * none, because each database notices when the other one remembers a later state of it.
 */

const databases = ["journal.db", "supervisor.db"] as const;

/** The list of the copies. It is written last, so copies without a list are incomplete. */
const listSchema = z.object({
  files: z.array(z.string()),
  /** The schema version of each database under the previous programs. */
  schemas: z.record(z.string(), z.int()),
});

const folderIn = (dataDirectory: string) => join(updateFolderOf(dataDirectory), "stores-before");
const asideIn = (dataDirectory: string) => join(updateFolderOf(dataDirectory), "stores-given-up");
const listIn = (dataDirectory: string) => join(folderIn(dataDirectory), "list.json");

/** Returns the existing files that are copied, as paths in the data folder. */
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
 * Copies the databases, on disk when this returns; no program may have them open. An interrupted
 * restore is finished first, because the new version would finish it and use up its copy.
 */
export function copyStores(dataDirectory: string): void {
  for (const name of databases) finishPutBack(join(dataDirectory, name));
  const folder = folderIn(dataDirectory);
  removeWhole(folder);
  try {
    const files = storeFiles(dataDirectory);
    copyFiles(files, dataDirectory, folder);
    const stores = databases.filter((name) => files.includes(name));
    const schemas = Object.fromEntries(
      stores.map((name) => [name, factsOf(join(dataDirectory, name)).schema]),
    );
    replaceHeld(listIn(dataDirectory), `${JSON.stringify({ files, schemas })}\n`);
    syncFolder(dirname(folder));
  } catch (error) {
    // The previous programs could not start again on a disk that the copies have filled.
    removeWhole(folder);
    throw error;
  }
}

/** Returns whether there are complete copies of the databases. */
export function haveCopies(dataDirectory: string): boolean {
  return existsSync(listIn(dataDirectory));
}

/** Removes copies that a power cut left incomplete, because payments may need the room. */
export function clearUnfinishedCopies(dataDirectory: string): void {
  if (!haveCopies(dataDirectory)) removeWhole(folderIn(dataDirectory));
}

/** Copies files by their paths in the data folder; the copies are on disk when this returns. */
function copyFiles(paths: readonly string[], from: string, to: string): void {
  mkdirSync(join(to, "stores"), { recursive: true, mode: 0o700 });
  for (const path of paths) copySynced(join(from, path), join(to, path));
  syncFolder(join(to, "stores"));
  syncFolder(to);
}

/**
 * Restores all copies. After a power cut the call can be repeated, if no program was started in
 * between. The databases of the new version are kept under another name.
 */
export function putStoresBack(dataDirectory: string): void {
  const { files } = readList(dataDirectory);
  try {
    keepAside(dataDirectory);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // Payments were not accepted during the probation, so without copies of these databases only
    // traces of the new version's failure are lost.
    makeRoom(dataDirectory, { storesToo: false });
  }
  // The log of each database is removed, or SQLite would apply it to the restored database.
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

/** Removes the databases that an earlier switch kept, so that the next one can keep its own. */
export function forgetGivenUpStores(dataDirectory: string): void {
  removeWhole(asideIn(dataDirectory));
}

/** Returns whether the programs from before the switch can read the present databases. */
export function areReadableByOlder(dataDirectory: string): boolean {
  return areReadableBy(readList(dataDirectory).schemas, dataDirectory);
}

/** Returns whether programs with the given schema versions can read the present databases. */
export function areReadableBy(schemas: Readonly<Record<string, number>>, dataDirectory: string) {
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
