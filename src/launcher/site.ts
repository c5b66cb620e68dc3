import type { Installation } from "../shared/process/installation.ts";
import type { Clock } from "../shared/time.ts";
import type { Output } from "./output.ts";
import { waitForLaunchLock } from "./processes/launch-lock.ts";

/** The surroundings that every command works on. */
export interface Site {
  readonly installation: Installation;
  readonly clock: Clock;
  readonly output: Output;
  /** Of a launcher that runs the programs itself: whether they all run and nothing stops them. */
  readonly ownProgramsRun?: () => boolean;
}

/** Another launcher waits at most as long as a start or a stop may take. */
const LOCK_WITHIN_MS = 120_000;

/** Runs `work` while no other launcher starts or stops anything of this installation. */
export async function alone<T>(site: Site, work: () => Promise<T>): Promise<T> {
  const { installation, clock, output } = site;
  const lock = await waitForLaunchLock(installation.dataDirectory, clock, LOCK_WITHIN_MS, () =>
    output.note("Another launcher is at work here; waiting for it ..."),
  );
  try {
    return await work();
  } finally {
    lock.release();
  }
}
