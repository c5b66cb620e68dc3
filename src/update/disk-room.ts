import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { UpdateError } from "./errors.ts";

const MEGABYTE = 1_000_000;
/** A payment goes on needing some. */
const MARGIN_BYTES = 50 * MEGABYTE;
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
  const stores = readdirSync(dataDirectory)
    .filter((name) => /^(journal|supervisor)\.db(-wal)?$/.test(name))
    .reduce((sum, name) => sum + sizeOf(join(dataDirectory, name)), 0);
  return Math.ceil(programs + archiveBytes + stores * STORE_COPIES + MARGIN_BYTES);
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
