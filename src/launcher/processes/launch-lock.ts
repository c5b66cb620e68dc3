import { join } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { type ExclusiveLock, takeExclusiveLock } from "../../shared/process/exclusive-lock.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { type Clock, sleep } from "../../shared/time.ts";

/** How often a waiting launcher looks again. */
const RETRY_EVERY_MS = 200;

/**
 * One launcher at a time starts or stops the programs of a data folder. undefined: another launcher
 * holds the lock.
 */
export function tryLaunchLock(dataDirectory: string): ExclusiveLock | undefined {
  return takeExclusiveLock(join(openRunDirectory(dataDirectory), "launcher.lock"), 0);
}

/** Waits for another launcher to finish; says so when it waits. Throws 75 after `withinMs`. */
export async function waitForLaunchLock(
  dataDirectory: string,
  clock: Clock,
  withinMs: number,
  onWait: () => void,
): Promise<ExclusiveLock> {
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
