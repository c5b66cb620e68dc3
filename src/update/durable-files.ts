import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceSynced, syncFile, syncFolder } from "../shared/store/store-file.ts";

/** Syncs the files, and their names, of a folder that has no folders in it. */
export function syncFlatFolder(folder: string): void {
  for (const name of readdirSync(folder)) syncFile(join(folder, name));
  syncFolder(folder);
}

export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** Removes a file or a folder with everything in it, if it is there. */
export function removeWhole(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Returns the bytes of a file, or of all files of a folder; 0: nothing is there. */
export function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.size ?? 0;
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + sizeOf(join(entry.parentPath, entry.name)), 0);
}

const TRIES_MAX = 100;
const PAUSE_MS = 100;
/** The error codes of a file that another program holds. */
const held = new Set(["EPERM", "EACCES", "EBUSY"]);

/**
 * Repeats work on files for ten seconds on Windows, where a virus scanner holds new files for a
 * moment. The whole process waits. The work has to be such that it can begin anew.
 */
export function patiently<T>(work: () => T): T {
  for (let tries = 0; ; tries++) {
    try {
      return work();
    } catch (error) {
      const isHeld = process.platform === "win32" && held.has(codeOf(error));
      if (!isHeld || tries >= TRIES_MAX) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "";

/** Like {@link replaceSynced}, also when the file is held for a moment. */
export function replaceHeld(path: string, text: string, mode?: number): void {
  patiently(() => replaceSynced(path, text, mode));
}

/** Removes a file, also when it is held for a moment. Its folder is not synced. */
export function removeHeld(path: string): void {
  patiently(() => rmSync(path, { force: true }));
}

/** Renames, also when the file is held for a moment. On disk when it returns. */
export function renameSynced(from: string, to: string): void {
  patiently(() => renameSync(from, to));
  syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
}

/** Writes a small file and makes the folder that it is in; on disk when it returns. */
export function writeJson(path: string, value: object): void {
  makeFolder(dirname(path));
  replaceHeld(path, `${JSON.stringify(value)}\n`);
}

/** Removes a file if it is there; the removal is on disk when this returns. */
export function removeNow(path: string): void {
  if (!existsSync(path)) return;
  removeHeld(path);
  syncFolder(dirname(path));
}
