import { statfsSync } from "node:fs";

/** The free bytes below which a disk counts as full; SQLite's shared memory alone takes 32 KiB. */
const FREE_BYTES_MIN = 256 * 1024;

/** The result codes of SQLite (sqlite.org) to which the programs react differently. */
export const sqlite = {
  permission: 3,
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  range: 25,
  noDatabase: 26,
} as const;

/** Returns the result code of an error of SQLite; 0: the error has another source. */
export function resultOf(error: unknown): number {
  // The upper bits of SQLite's error number are an extended code, which is not needed here.
  return ((error as { readonly errcode?: number }).errcode ?? 0) % 256;
}

/** Returns a text for an operator about a disk that refuses writes; undefined: another fault. */
export function storageFault(error: unknown, folder: string): string | undefined {
  const { code = "", path, message } = error as NodeJS.ErrnoException;
  const result = resultOf(error);
  const unclear = result === sqlite.ioError || result === sqlite.cannotOpen;
  if (code === "ENOSPC" || result === sqlite.full || (unclear && isFull(folder))) {
    return fullDisk(folder);
  }
  if (code === "EDQUOT") return `the disk quota of ${folder} is used up: make room or raise it`;
  if (code === "EROFS" || result === sqlite.readOnly) {
    return `${folder} cannot be written: it is read-only, or its files belong to others`;
  }
  if (result === sqlite.ioError) return `the disk of ${folder} fails: ${message}`;
  // Only an error with a path is about a file: sockets are refused for other reasons.
  const denied = path !== undefined && ["EACCES", "EPERM"].includes(code);
  if (denied || result === sqlite.permission || result === sqlite.cannotOpen) {
    return (
      `not allowed to use ${path ?? folder}: ` +
      "run this as the user to whom the data folder belongs, or give that user all of it " +
      `(sudo chown -R USER ${folder})`
    );
  }
  return undefined;
}

export function fullDisk(folder: string): string {
  return `the disk of ${folder} is full: make room; without it no payment can be taken`;
}

/** Whether the disk of a folder has no room left for a small file. */
export function isFull(folder: string): boolean {
  try {
    const { bavail, bsize, blocks, files, ffree } = statfsSync(folder);
    // Some file systems report 0 as their size or as their number of files; they are not full.
    return (blocks > 0 && bavail * bsize < FREE_BYTES_MIN) || (files > 0 && ffree < 1);
  } catch {
    return false;
  }
}
