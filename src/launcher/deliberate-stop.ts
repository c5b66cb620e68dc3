import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";
import { isoTime } from "../shared/time.ts";
import { stopMarks } from "./keep-alive.ts";

/**
 * A stop that an operator asked for is written down, so that the keep-alive leaves it alone, also
 * after a reboot, until the next start (docs/design.md 9.2).
 */
export function recordStop(dataDirectory: string, nowMs: number): void {
  openRunDirectory(dataDirectory); // the folder of a first stop is made with it
  const [file] = stopMarks(dataDirectory);
  try {
    writeFileSync(file, isoTime(nowMs));
  } catch (error) {
    // On a full disk it is there all the same, empty.
    if (!existsSync(file)) throw error;
  }
}

export function forgetStop(dataDirectory: string): void {
  for (const file of stopMarks(dataDirectory)) rmSync(file, { force: true });
}

/** When it was asked for, or undefined when the programs are meant to run. */
export function deliberateStop(dataDirectory: string): string | undefined {
  const file = stopMarks(dataDirectory).find(existsSync);
  if (file === undefined) return undefined;
  return readFileSync(file, "utf8") || statSync(file).mtime.toISOString();
}
