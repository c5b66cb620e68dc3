import { readFileSync } from "node:fs";
import type { Config } from "../shared/config/config.ts";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { type Installation, versionNumber } from "../shared/process/installation.ts";
import { systemClock } from "../shared/time.ts";
import { installationRoot } from "../shared/version-files.ts";
import { type CheckSettings, checkForUpdate, type Found } from "./check-for-update.ts";
import { readSwitch } from "./switch-record.ts";
import { tryUpdateLock, whenWanted } from "./update-lock.ts";

type UpdateConfig = Pick<Config, "UPDATE_URL" | "UPDATE_CHANNEL" | "UPDATE_CA_FILE">;

/**
 * Checks for an update with the installation's setup file. undefined: somebody else checks or
 * takes one, or wants to before this check has ended. Throws {@link ProgramExit} when the setup
 * file names no server, or no readable certificates; rejects as {@link checkForUpdate} does.
 */
export async function lookNow(
  { dataDirectory }: Installation,
  { UPDATE_URL: url, UPDATE_CHANNEL: channel, UPDATE_CA_FILE: caFile }: UpdateConfig,
  how: CheckSettings["how"],
  tell: CheckSettings["tell"],
): Promise<Found | undefined> {
  if (url === undefined) {
    throw new ProgramExit(exitCodes.configuration, "nobody is asked: UPDATE_URL is not set");
  }
  // A switch that was cut off is ended by the next launcher, whose lock it is.
  const lock = readSwitch(dataDirectory) ? undefined : tryUpdateLock(dataDirectory);
  if (!lock) return undefined;
  const over = new AbortController();
  const wanted = whenWanted(dataDirectory, systemClock, over.signal);
  try {
    if (readSwitch(dataDirectory)) return undefined;
    return await checkForUpdate({
      signal: wanted,
      dataDirectory,
      url,
      channel,
      how,
      tell,
      ca: caFile === undefined ? undefined : certificatesIn(caFile),
      root: installationRoot,
      clock: systemClock,
      version: versionNumber,
    });
  } catch (error) {
    if (wanted.aborted) return undefined;
    throw error;
  } finally {
    over.abort();
    lock.release();
  }
}

function certificatesIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = `UPDATE_CA_FILE cannot be read: ${(error as Error).message}`;
    throw new ProgramExit(exitCodes.configuration, why);
  }
}

/** For people. */
export function wordsOf({ version, notes, isReady }: Found): string {
  if (version === undefined) return "there is no newer version for this installation";
  const more = notes === "" ? "" : ` (${notes})`;
  return `${version} is ${isReady ? "ready" : "offered"}${more}`;
}
