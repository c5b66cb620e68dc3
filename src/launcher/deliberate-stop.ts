import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";

/**
 * A stop that an operator asked for is written down, so that the keep-alive leaves it alone, also
 * after a reboot, until the next start (DESIGN 9).
 */
export const STOP_FILE = "stopped";

export function recordStop(dataDirectory: string, nowMs: number): void {
  writeFileSync(join(openRunDirectory(dataDirectory), STOP_FILE), new Date(nowMs).toISOString());
}

export function forgetStop(dataDirectory: string): void {
  rmSync(join(dataDirectory, "run", STOP_FILE), { force: true });
}

/** When it was asked for, or undefined when the programs are meant to run. */
export function deliberateStop(dataDirectory: string): string | undefined {
  const file = join(dataDirectory, "run", STOP_FILE);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
