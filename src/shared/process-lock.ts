import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { exitCodes, ProgramExit } from "./exit-codes.ts";
import type { Program } from "./ipc/contract.ts";

export interface ProcessLock {
  release(): void;
}

/**
 * Takers that come at the same moment hold each other off; this long they try again, so that one of
 * them wins. Also what a second instance waits before it is told.
 */
const CONTENTION_MS = 500;

/** sqlite.org, result codes; the upper bits hold the extended code. */
const SQLITE_BUSY = 5;

/**
 * Makes this process the only one of its kind for a data folder. The lock is a write lock of the
 * operating system on a small database file: it goes when the process goes, however that happens,
 * and needs no pid that could be stale. Throws {@link ProgramExit} 75 when another one holds it.
 */
export function acquireProcessLock(runDirectory: string, program: Program): ProcessLock {
  const database = new DatabaseSync(join(runDirectory, `${program}.lock`), {
    timeout: CONTENTION_MS,
  });
  try {
    // In memory: nothing is written, so a full disk keeps nobody from it.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) {
      throw new ProgramExit(exitCodes.alreadyRunning, `${program} is already running`);
    }
    throw error;
  }
  return { release: () => database.close() };
}
