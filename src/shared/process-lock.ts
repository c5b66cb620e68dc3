import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { exitCodes, ProgramExit } from "./exit-codes.ts";
import type { Program } from "./ipc/contract.ts";

export interface ProcessLock {
  release(): void;
}

/**
 * Makes this process the only one of its kind for a data folder. The lock is a write lock of the
 * operating system on a small database file: it goes when the process goes, however that happens,
 * and needs no pid that could be stale. Throws {@link ProgramExit} 75 when another one holds it.
 */
export function acquireProcessLock(runDirectory: string, program: Program): ProcessLock {
  const database = new DatabaseSync(join(runDirectory, `${program}.lock`), { timeout: 0 });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    // SQLITE_BUSY 5: held by another process (sqlite.org, result codes).
    if ((error as { errcode?: number }).errcode === 5) {
      throw new ProgramExit(exitCodes.alreadyRunning, `${program} is already running`);
    }
    throw error;
  }
  return { release: () => database.close() };
}
