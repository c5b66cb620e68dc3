import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";
import { isoTime } from "../shared/time.ts";

/**
 * A stop that an operator asked for is written down, so that the keep-alive leaves it alone, also
 * after a reboot, until the next start (docs/design.md 9.2).
 */
const STOP_FILE = "stopped";

export function recordStop(dataDirectory: string, nowMs: number): void {
  const file = join(openRunDirectory(dataDirectory), STOP_FILE);
  try {
    writeFileSync(file, isoTime(nowMs));
  } catch (error) {
    // On a full disk it is there all the same, empty.
    if (!existsSync(file)) throw error;
  }
}

export function forgetStop(dataDirectory: string): void {
  rmSync(join(dataDirectory, "run", STOP_FILE), { force: true });
}

/** When it was asked for, or undefined when the programs are meant to run. */
export function deliberateStop(dataDirectory: string): string | undefined {
  const file = join(dataDirectory, "run", STOP_FILE);
  if (!existsSync(file)) return undefined;
  return readFileSync(file, "utf8") || statSync(file).mtime.toISOString();
}
