/**
 * Imported by the settings of vitest before anything asks for a temporary folder. Every commit of a
 * program waits for the disk, a thousand times in a run, and a disk of the memory makes none wait.
 * What a test kills is a process, never the machine: its files are as whole there. The folder is
 * chosen only where TMPDIR says nothing, so `TMPDIR=/tmp npm cit` runs on the disk.
 */
import { accessSync, constants, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const FOLDER = "/dev/shm";
/** Five times what a whole run has there at its fullest. */
const FREE_BYTES_MIN = 4 * 2 ** 30;

if (process.env["TMPDIR"] === undefined && isRoomy(FOLDER)) process.env["TMPDIR"] = FOLDER;

/** For programs that run many short lives of a database, and no test around them. */
export const memoryFolder = tmpdir();

/** A disk of the memory (Linux) that takes a whole run, its programs included. */
function isRoomy(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    const freeBytes = Math.min(bavail * bsize, process.availableMemory());
    return freeBytes >= FREE_BYTES_MIN && mayRunPrograms(folder);
  } catch {
    return false; // another system
  }
}

/** proc(5): the device, the folder, the type and the options of a mount. */
function mayRunPrograms(folder: string): boolean {
  const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
  const mount = mounts.map((line) => line.split(" ")).findLast(([, at]) => at === folder);
  return mount?.[2] === "tmpfs" && !mount[3]?.split(",").includes("noexec");
}
