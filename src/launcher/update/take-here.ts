import { readSwitch } from "../../update/switch-record.ts";
import type { Site } from "../site.ts";
import { isToBeTaken } from "./ready.ts";

/**
 * Takes the version that waits, in a launcher that runs the programs itself: a service manager ends
 * what is started beside it (docs/updates.md 4.4). Answers whether the programs were stopped for
 * it, so that a launcher of the version that is named has to come.
 */
export async function takeReadyHere(site: Site): Promise<boolean> {
  const { installation, clock, output, ownProgramsRun } = site;
  if (!isToBeTaken(installation, clock)) return false;
  const { update } = await import("./update.ts");
  try {
    await update(site, { what: "apply" });
    return ownProgramsRun?.() === false;
  } catch (error) {
    output.fault(`no version is taken now: ${(error as Error).message}`);
    const step = stepOf(installation.dataDirectory);
    return step !== undefined && step !== "testing";
  }
}

/** A record that is damaged is for the next launcher. */
function stepOf(dataDirectory: string): string | undefined {
  try {
    return readSwitch(dataDirectory)?.step;
  } catch {
    return "damaged";
  }
}
