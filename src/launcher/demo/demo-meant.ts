import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { defaultDataDirectory } from "../../shared/version-files.ts";
import { programParts } from "../processes/part.ts";
import { findProcesses } from "../processes/process-table.ts";
import { demoParts } from "./demo-parts.ts";
import { readDemoSetup } from "./demo-settings.ts";

/**
 * Whether that folder is a demo's that runs, and the installation itself does not run. A demo of
 * another user cannot be looked at: where nothing else is set up it is meant all the same, so that
 * nobody hears of an installation that stands still.
 */
export function isDemoMeant(folder: string, installation = defaultDataDirectory): boolean {
  if (isForbidden(folder)) return !existsSync(join(installation, "config.txt"));
  return readDemoSetup(folder) !== undefined && !anyRuns(installation) && anyRuns(folder);
}

function isForbidden(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

function anyRuns(dataDirectory: string): boolean {
  const parts = [...programParts(dataDirectory), ...demoParts(dataDirectory)];
  return parts.some((part) => findProcesses(part).length > 0);
}
