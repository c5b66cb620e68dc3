import { existsSync, readdirSync, readFileSync, renameSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { updateFolderOf } from "../shared/program/probation.ts";
import { readOr } from "../shared/read-or.ts";
import { syncFolder } from "../shared/store/store-file.ts";
import { removeWhole, sizeOf } from "./durable-files.ts";
import { unmark } from "./release.ts";

const MEGABYTE = 1_000_000;
/** The bytes on the disk that an update leaves free for payments. */
const MARGIN_BYTES = 50 * MEGABYTE;
/** The bytes for the records of a switch and the first log lines of the started programs. */
const SWITCH_MARGIN_BYTES = 5 * MEGABYTE;
/** By which factor the next version is assumed to be larger than the present one. */
const GROWTH = 1.25;
/** Copies of each database: for the self-test, for the switch, and of a version that failed. */
const STORE_COPIES = 3;

/**
 * Returns the bytes that a new version needs in addition to the two versions on the disk: its
 * folder, its archives, and the copies of the databases (docs/updates.md 4.4).
 */
export function roomNeeded(dataDirectory: string, versionFolder: string, archiveBytes: number) {
  const programs = sizeOf(versionFolder) * GROWTH;
  const stores = sizeOfStores(dataDirectory) * STORE_COPIES;
  return Math.ceil(programs + archiveBytes + stores + MARGIN_BYTES);
}

/** Returns the bytes that a switch needs for two copies of the databases; a backup makes one. */
export function roomForSwitch(dataDirectory: string): number {
  return sizeOfStores(dataDirectory) * (STORE_COPIES - 1) + SWITCH_MARGIN_BYTES;
}

function sizeOfStores(dataDirectory: string): number {
  return ["journal.db", "journal.db-wal", "supervisor.db", "supervisor.db-wal"]
    .map((name) => sizeOf(join(dataDirectory, name)))
    .reduce((sum, bytes) => sum + bytes);
}

export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** Removes unneeded files of earlier updates; `storesToo`: the copies of the databases too. */
export function makeRoom(dataDirectory: string, { storesToo }: { readonly storesToo: boolean }) {
  const folder = updateFolderOf(dataDirectory);
  const names = ["downloads", "self-test", "stores-given-up"];
  for (const name of storesToo ? [...names, "stores-before"] : names) {
    removeWhole(join(folder, name));
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Returns a text when the disk of the folder has less than `bytes` free, else undefined. */
export function lackOfRoom(folder: string, bytes: number, free = freeBytes(folder)) {
  if (free >= bytes) return undefined;
  const [has, wants] = [free, bytes].map((one) => Math.ceil(one / MEGABYTE));
  return `${wants} MB are needed, ${has} MB are free`;
}

/**
 * Removes the versions that are neither named by files in the installation folder nor among `kept`,
 * and the runtimes that no remaining version needs (docs/updates.md 4.5). The mark of a version is
 * removed first, so that a half removed version is never run; a runtime has no mark and is renamed
 * first. Files in use, which Windows refuses to remove, stay until the next call.
 */
export function clearOldVersions(
  root: string,
  kept: readonly string[],
  keptRuntimes: readonly string[] = [],
  remove: (path: string) => void = removeWhole,
): void {
  const versions = join(root, "versions");
  const named = ["current", "previous"].flatMap((name) => lineIn(join(root, name)));
  const needed = new Set([...kept, ...named]);
  for (const entry of readdirSync(versions, { withFileTypes: true })) {
    if (!entry.isDirectory() || needed.has(entry.name)) continue;
    readOr(undefined, () => {
      unmark(join(versions, entry.name));
      remove(join(versions, entry.name));
    });
  }
  const runtimes = join(root, "runtimes");
  const theirs = readdirSync(versions).flatMap((one) => lineIn(join(versions, one, "runtime")));
  const used = new Set([...keptRuntimes, ...theirs]);
  for (const name of existsSync(runtimes) ? readdirSync(runtimes) : []) {
    if (!used.has(name)) readOr(undefined, () => remove(withoutName(runtimes, name)));
  }
}

const REMOVING = ".removing";

/** Renames a runtime, so that a half removed runtime is never used, and returns the new path. */
function withoutName(runtimes: string, name: string): string {
  if (name.endsWith(REMOVING)) return join(runtimes, name);
  const to = join(runtimes, `${name}${REMOVING}`);
  removeWhole(to);
  renameSync(join(runtimes, name), to);
  syncFolder(runtimes);
  return to;
}

/** Returns the only line of a file; an empty array if there is no such file. */
export function lineIn(file: string): string[] {
  return existsSync(file) ? [readFileSync(file, "utf8").trim()] : [];
}
