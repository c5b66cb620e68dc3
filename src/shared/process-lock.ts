import { join } from "node:path";
import { type ExclusiveLock, takeExclusiveLock } from "./exclusive-lock.ts";
import { exitCodes, ProgramExit } from "./exit-codes.ts";
import type { Program } from "./ipc/contract.ts";

/**
 * Takers that come at the same moment hold each other off; this long they try again, so that one of
 * them wins. Also what a second instance waits before it is told.
 */
const CONTENTION_MS = 500;

/**
 * Makes this process the only one of its kind for a data folder, without a pid that could be stale.
 * Throws {@link ProgramExit} 75 when another one holds the lock.
 */
export function acquireProcessLock(runDirectory: string, program: Program): ExclusiveLock {
  const lock = takeExclusiveLock(join(runDirectory, `${program}.lock`), CONTENTION_MS);
  if (lock) return lock;
  throw new ProgramExit(exitCodes.alreadyRunning, `${program} is already running`);
}
