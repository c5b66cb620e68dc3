import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceSynced, syncFolder } from "../shared/store/store-file.ts";

export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** Removes a file, or a folder with all its content, if it exists. */
export function removeWhole(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Returns the bytes of a file, or of all files in a folder; 0 if the path does not exist. */
export function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.size ?? 0;
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + sizeOf(join(entry.parentPath, entry.name)), 0);
}

const TRIES_MAX = 100;
const PAUSE_MS = 100;
/** The error codes for a file that another program holds. */
const held = new Set(["EPERM", "EACCES", "EBUSY"]);

/**
 * Calls `work`, which changes files. On Windows it is called again for ten seconds, because a virus
 * scanner holds new files for a moment; the whole process waits. `work` must be repeatable.
 */
export function patiently<T>(work: () => T): T {
  for (let tries = 0; ; tries++) {
    try {
      return work();
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      const isHeld = process.platform === "win32" && held.has(code);
      if (!isHeld || tries >= TRIES_MAX) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

/** Replaces a file as {@link replaceSynced} does, even if another program holds it for a moment. */
export function replaceHeld(path: string, text: string, mode?: number): void {
  patiently(() => replaceSynced(path, text, mode));
}

/** Removes a file, even if another program holds it for a moment. Its folder is not synced. */
export function removeHeld(path: string): void {
  patiently(() => rmSync(path, { force: true }));
}

/** Renames a file, even if another program holds it for a moment. The new name is then on disk. */
export function renameSynced(from: string, to: string): void {
  patiently(() => renameSync(from, to));
  syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
}

/** Writes a value as JSON; makes the file's folder. The file is on disk when this returns. */
export function writeJson(path: string, value: object): void {
  makeFolder(dirname(path));
  replaceHeld(path, `${JSON.stringify(value)}\n`);
}

/** Removes a file if it exists; the removal is on disk when this returns. */
export function removeNow(path: string): void {
  if (!existsSync(path)) return;
  removeHeld(path);
  syncFolder(dirname(path));
}
