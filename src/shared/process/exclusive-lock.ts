import { truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Program } from "../ipc/contract.ts";
import { resultOf, sqlite } from "../store/storage-fault.ts";
import { exitCodes, ProgramExit } from "./exit-codes.ts";

export interface ExclusiveLock {
  release(): void;
}

/**
 * Takes a lock of the operating system on a small file, by SQLite, which has such locks on every
 * system. The lock ends with the process, however that ends, and writes nothing, so that a full
 * disk does not prevent it. undefined: another process held the lock for all of `timeoutMs`.
 */
export function takeExclusiveLock(file: string, timeoutMs: number): ExclusiveLock | undefined {
  for (let attempt = 1; ; attempt++) {
    const database = new DatabaseSync(file, { timeout: timeoutMs });
    try {
      database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return { release: () => database.close() };
    } catch (error) {
      database.close();
      const result = resultOf(error);
      if (result === sqlite.busy) return undefined;
      const damaged = result === sqlite.noDatabase || result === sqlite.corrupt;
      if (!damaged || attempt > 1) throw error;
      // The file holds bytes of a power cut or of another program. The file is emptied and not
      // removed: a process that has taken the lock meanwhile keeps it.
      truncateSync(file);
    }
  }
}

/**
 * How long a process tries to get the lock: of several that start together and first refuse each
 * other, one gets it within this time.
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
