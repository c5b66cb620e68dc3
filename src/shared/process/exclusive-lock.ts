import { truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Program } from "../ipc/contract.ts";
import { exitCodes, ProgramExit } from "./exit-codes.ts";

/** sqlite.org, result codes; the upper bits hold the extended code. */
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

export interface ExclusiveLock {
  release(): void;
}

/**
 * A lock of the operating system on a small file, by way of SQLite, which has such locks on every
 * system: the lock goes when the process goes, however that happens, so none is ever left behind.
 * Nothing is ever written, so a full disk keeps nobody from the lock. undefined: another process
 * has held the lock for the whole of `timeoutMs`.
 */
export function takeExclusiveLock(file: string, timeoutMs: number): ExclusiveLock | undefined {
  for (let attempt = 1; ; attempt++) {
    const database = new DatabaseSync(file, { timeout: timeoutMs });
    try {
      database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return { release: () => database.close() };
    } catch (error) {
      database.close();
      const code = ((error as { errcode?: number }).errcode ?? 0) % 256;
      if (code === SQLITE_BUSY) return undefined;
      const damaged = code === SQLITE_NOTADB || code === SQLITE_CORRUPT;
      if (!damaged || attempt > 1) throw error;
      // The file holds bytes of a power cut or of another program. The file is emptied and not
      // removed: a process that has taken the lock meanwhile keeps it.
      truncateSync(file);
    }
  }
}

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
