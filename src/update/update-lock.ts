import { join } from "node:path";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";
import { type ExclusiveLock, takeExclusiveLock } from "../shared/process/exclusive-lock.ts";
import { type Clock, sleep } from "../shared/time.ts";

/** A check for an update notices so soon that somebody waits, also on a slow line. */
const WANTED_EVERY_MS = 500;
/** Longer than a check for an update needs to end. */
const GIVEN_WITHIN_MS = 5_000;
const TRY_EVERY_MS = 50;
/** A check that asks whether somebody waits holds this lock for a moment. */
const CONTENTION_MS = 500;

/** Held while an update is looked for or taken, also while the programs run on meanwhile. */
export function tryUpdateLock(dataDirectory: string): ExclusiveLock | undefined {
  return takeExclusiveLock(join(openRunDirectory(dataDirectory), "update.lock"), 0);
}

/**
 * The update lock, also while somebody looks for an update: a look may last hours on a slow line,
 * gives way, and takes up later what it has loaded. undefined: a version is being taken.
 */
export async function takeUpdateLock(
  dataDirectory: string,
  clock: Clock,
): Promise<ExclusiveLock | undefined> {
  const free = tryUpdateLock(dataDirectory);
  if (free) return free;
  const wanted = takeExclusiveLock(wantedIn(dataDirectory), CONTENTION_MS);
  if (!wanted) return undefined;
  try {
    const endMs = clock.monotonicMs() + GIVEN_WITHIN_MS;
    for (;;) {
      const lock = tryUpdateLock(dataDirectory);
      if (lock || clock.monotonicMs() >= endMs) return lock;
      await sleep(clock, "update lock", TRY_EVERY_MS);
    }
  } finally {
    wanted.release();
  }
}

/** A lock and no file: when whoever waits has ended, nobody waits any more. */
const wantedIn = (dataDirectory: string): string =>
  join(openRunDirectory(dataDirectory), "update-wanted.lock");

/** Aborts when somebody waits for the update lock, which the caller holds; until `over`. */
export function whenWanted(dataDirectory: string, clock: Clock, over: AbortSignal): AbortSignal {
  const given = new AbortController();
  const look = async (): Promise<void> => {
    while (!given.signal.aborted) {
      await sleep(clock, "update wanted", WANTED_EVERY_MS, over);
      const free = takeExclusiveLock(wantedIn(dataDirectory), 0);
      if (free) free.release();
      else given.abort();
    }
  };
  look().catch(() => undefined); // over
  return given.signal;
}
