import { join } from "node:path";
import { type ExclusiveLock, takeExclusiveLock } from "../shared/exclusive-lock.ts";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";

/** Held while an update is looked for or taken, also while the programs run on meanwhile. */
export function tryUpdateLock(dataDirectory: string): ExclusiveLock | undefined {
  return takeExclusiveLock(join(openRunDirectory(dataDirectory), "update.lock"), 0);
}
