import { statSync } from "node:fs";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import { compareVersions } from "../../update/offer-policy.ts";
import { newestTaken, readSwitch, takeUpdateLock, writeReady } from "../../update/update-state.ts";
import type { CommandContext } from "../output.ts";
import { refused, stageFrom, versionIn } from "./versions.ts";

const WRITABLE_BY_OTHERS = 0o022;

/**
 * Makes the version of a package ready, so that the launcher takes it like a download: tested, in
 * an idle moment, on probation (docs/packages.md). A version that is not above all that this
 * installation ever took is left. Returns the exit code. Throws {@link ProgramExit} if the folder
 * is not root's, because only root vouches for a package.
 */
export async function offerPackage(context: CommandContext, folder: string): Promise<number> {
  const { dataDirectory, clock, output } = context;
  const { uid, mode } = statSync(folder);
  if (uid !== 0 || mode & WRITABLE_BY_OTHERS) throw refused(`${folder} is not root's alone`);
  const offered = versionIn(folder);
  const newest = newestTaken(dataDirectory, versionNumber);
  if (compareVersions(offered, newest) <= 0) {
    output.note(`the package has version ${offered}; ${newest} was taken already`);
    return exitCodes.ok;
  }
  const lock = await takeUpdateLock(dataDirectory, clock);
  try {
    if (!lock || readSwitch(dataDirectory)) {
      throw new ProgramExit(exitCodes.alreadyRunning, "another update is running here");
    }
    writeReady(dataDirectory, stageFrom(folder, versionNumber), clock.now());
  } finally {
    lock?.release();
  }
  output.note(`version ${offered} of the package is ready; the service takes it when it is idle`);
  return exitCodes.ok;
}
