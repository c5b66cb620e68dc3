import { join } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import {
  acquireProcessLock,
  type ExclusiveLock,
  takeExclusiveLock,
} from "../../shared/process/exclusive-lock.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { poll } from "../../shared/time.ts";
import type { CommandContext } from "../output.ts";
import { programNames } from "./process-table.ts";

/** How long a launcher waits for another launcher, in ms; a start or a stop is shorter. */
const LOCK_WITHIN_MS = 130_000;
const RETRY_EVERY_MS = 200;

/** Returns the lock for starting or stopping the programs; undefined: another launcher holds it. */
export function tryLaunchLock(dataDirectory: string): ExclusiveLock | undefined {
  return takeExclusiveLock(join(openRunDirectory(dataDirectory), "launcher.lock"), 0);
}

/** Runs `work` under the launch lock. Throws {@link ProgramExit} 75 if it is held for too long. */
export async function withLaunchLock<T>(
  { dataDirectory, clock, output }: CommandContext,
  work: () => Promise<T>,
): Promise<T> {
  let waits = false;
  const lock = await poll(clock, "launch lock", RETRY_EVERY_MS, LOCK_WITHIN_MS, () => {
    const taken = tryLaunchLock(dataDirectory);
    if (!taken && !waits) output.note("Another ./launch.sh command runs here; waiting for it ...");
    waits = true;
    return taken;
  });
  if (!lock) {
    const why = "another launcher is still at work on this data folder: wait for it, or stop it";
    throw new ProgramExit(exitCodes.alreadyRunning, why);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Runs `work` while no program can start. Throws {@link ProgramExit} 75 if a program runs. */
export function withProgramLocks(dataDirectory: string, work: () => void): void {
  const run = openRunDirectory(dataDirectory);
  const locks: ExclusiveLock[] = [];
  try {
    for (const name of programNames) locks.push(acquireProcessLock(run, name));
    work();
  } finally {
    for (const lock of locks) lock.release();
  }
}
