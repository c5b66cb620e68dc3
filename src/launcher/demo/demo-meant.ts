import { defaultDataDirectory } from "../../shared/version-files.ts";
import { programParts } from "../part.ts";
import { findProcesses } from "../process-table.ts";
import { demoParts } from "./demo-parts.ts";
import { readDemoSetup } from "./demo-settings.ts";

/** Whether that folder is a demo's that runs, and the installation itself does not run. */
export function isDemoMeant(folder: string): boolean {
  return readDemoSetup(folder) !== undefined && !anyRuns(defaultDataDirectory) && anyRuns(folder);
}

function anyRuns(dataDirectory: string): boolean {
  const parts = [...programParts(dataDirectory), ...demoParts(dataDirectory)];
  return parts.some((part) => findProcesses(part).length > 0);
}
