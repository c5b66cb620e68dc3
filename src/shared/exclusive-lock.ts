import { truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** sqlite.org, result codes; the upper bits hold the extended code. */
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

export interface ExclusiveLock {
  release(): void;
}

/**
 * A lock of the operating system on a small file, by way of SQLite, which has it on every system:
 * it goes when the process goes, however that happens, so it is never left behind. Nothing is ever
 * written, so a full disk keeps nobody from it. undefined: somebody else has held it for the whole
 * of `timeoutMs`.
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
      // What a power cut or somebody else has put there. Emptied and not removed: should another
      // process have taken the lock meanwhile, it keeps it.
      truncateSync(file);
    }
  }
}
