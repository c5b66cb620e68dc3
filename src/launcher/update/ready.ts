import type { Installation } from "../../shared/process/installation.ts";
import type { Clock } from "../../shared/time.ts";
import { isDelivery, programFile } from "../../shared/version-files.ts";
import { tryUpdateLock } from "../../update/update-lock.ts";
import { readHold, readReady } from "../../update/update-state.ts";
import { launchDetached } from "../processes/launch-process.ts";

/** Whether a version waits that may be taken now. */
export function isToBeTaken({ dataDirectory }: Installation, clock: Clock): boolean {
  if (!isDelivery || !readReady(dataDirectory)) return false;
  return readHold(dataDirectory, clock.now()) === undefined;
}

/**
 * Lets a launcher of its own take the version that waits, because it may have to wait for an idle
 * moment longer than a keep-alive may live (docs/updates.md 4.4). Its words are in logs/update.out.
 */
export async function takeReadyBeside(installation: Installation, clock: Clock): Promise<void> {
  const { dataDirectory, logDirectory } = installation;
  if (!isToBeTaken(installation, clock)) return;
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return; // it is being taken
  lock.release();
  const args = ["update", "--apply", "--data", dataDirectory];
  const script = programFile("launcher");
  await launchDetached({ name: "update", script, args }, logDirectory);
}
