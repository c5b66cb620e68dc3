import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { exitCodes, ProgramExit } from "../shared/exit-codes.ts";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";
import { type Clock, sleep } from "../shared/time.ts";

export interface LaunchLock {
  release(): void;
}

/** How often a waiting launcher looks again. */
const RETRY_EVERY_MS = 200;

/**
 * One launcher at a time starts or stops the programs of a data folder. As with the programs' own
 * lock (process-lock.ts) it is a lock of the operating system, so it cannot be left behind.
 * undefined: another launcher holds it.
 */
export function tryLaunchLock(dataDirectory: string): LaunchLock | undefined {
  const file = join(openRunDirectory(dataDirectory), "launcher.lock");
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // In memory: nothing is written, so a full disk keeps nobody from it.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    // SQLITE_BUSY 5: held by another process (sqlite.org, result codes).
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === 5) return undefined;
    throw error;
  }
}

/** Waits for another launcher to finish; says so when it waits. Throws 75 after `withinMs`. */
export async function waitForLaunchLock(
  dataDirectory: string,
  clock: Clock,
  withinMs: number,
  onWait: () => void,
): Promise<LaunchLock> {
  const endMs = clock.monotonicMs() + withinMs;
  for (let first = true; ; first = false) {
    const lock = tryLaunchLock(dataDirectory);
    if (lock) return lock;
    if (first) onWait();
    if (clock.monotonicMs() >= endMs) {
      throw new ProgramExit(
        exitCodes.alreadyRunning,
        "another launcher is still at work on this data folder: wait for it, or stop it",
      );
    }
    await sleep(clock, "launch lock", RETRY_EVERY_MS);
  }
}
