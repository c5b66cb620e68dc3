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
 * Locks a small file by SQLite, which can use the locks of every operating system. The lock ends
 * with the process in any case. It needs no write, so that a full disk does not prevent it.
 * undefined: another process held the lock for all of `timeoutMs`.
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
      // The file was damaged by a power cut or another program. It is emptied and not removed,
      // because a process that has locked the file meanwhile must keep its lock.
      truncateSync(file);
    }
  }
}

/** For how long a process tries to get the lock; if several start together, one gets it. */
const CONTENTION_MS = 500;

/**
 * Takes the lock that makes this process the only one of its program for a data folder. Throws
 * {@link ProgramExit} 75 if another process holds the lock.
 */
export function acquireProcessLock(runDirectory: string, program: Program): ExclusiveLock {
  const lock = takeExclusiveLock(join(runDirectory, `${program}.lock`), CONTENTION_MS);
  if (lock) return lock;
  throw new ProgramExit(exitCodes.alreadyRunning, `${program} is already running`);
}
