import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { updateFolderOf } from "../shared/process/probation.ts";
import { removeWhole } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";

const MEGABYTE = 1_000_000;
/** A payment goes on needing some. */
const MARGIN_BYTES = 50 * MEGABYTE;
/** The records of a switch, and the first words of the programs that it starts. */
const SWITCH_MARGIN_BYTES = 5 * MEGABYTE;
/** The next version may be larger than this one. */
const GROWTH = 1.25;
/** Of each store: for the self-test, before the switch, and as a failed version leaves it. */
const STORE_COPIES = 3;

/**
 * The room that another version needs besides the two that are there: its folder, its archives, and
 * the copies of the stores (docs/updates.md 4.4).
 */
export function roomNeeded(
  dataDirectory: string,
  versionFolder: string,
  archiveBytes: number,
): number {
  const programs = sizeOf(versionFolder) * GROWTH;
  const stores = sizeOfStores(dataDirectory) * STORE_COPIES;
  return Math.ceil(programs + archiveBytes + stores + MARGIN_BYTES);
}

/** The room that a switch needs for the copies that it makes: for going back, and of a failure. */
export function roomForSwitch(dataDirectory: string): number {
  return sizeOfStores(dataDirectory) * (STORE_COPIES - 1) + SWITCH_MARGIN_BYTES;
}

function sizeOfStores(dataDirectory: string): number {
  return readdirSync(dataDirectory)
    .filter((name) => /^(journal|supervisor)\.db(-wal)?$/.test(name))
    .reduce((sum, name) => sum + sizeOf(join(dataDirectory, name)), 0);
}

export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Removes what an update has laid down and can do without: nothing that somebody else has filled
 * the disk with. `storesToo`: the copies of the stores are not needed any more.
 */
export function makeRoom(
  dataDirectory: string,
  { storesToo }: { readonly storesToo: boolean },
): void {
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

/** Throws {@link UpdateError} when there is less. */
export function requireRoom(folder: string, bytes: number, free = freeBytes(folder)): void {
  if (free >= bytes) return;
  const [has, wants] = [free, bytes].map((one) => Math.ceil(one / MEGABYTE));
  throw new UpdateError("no-room", `${wants} MB are needed to take a version, ${has} MB are free`);
}

/** Of a file, or of all files of a folder; 0: nothing is there. */
function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.size ?? 0;
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + sizeOf(join(entry.parentPath, entry.name)), 0);
}
