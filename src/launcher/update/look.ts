import { loadConfig } from "../../shared/config/config.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Site } from "../site.ts";

/**
 * Asks the server for a version; "fetch" lays it beside the present one too. Loads what verifies
 * signatures only here. Answers the exit code.
 */
export async function lookFor(
  { installation, output }: Site,
  how: "ask" | "fetch",
): Promise<number> {
  const { lookNow, wordsOf } = await import("../../update/look-now.ts");
  const { config } = loadConfig(installation.configFile, "supervisor");
  try {
    const found = await lookNow(installation, config, how, (message) => output.note(message));
    if (!found) {
      throw new ProgramExit(exitCodes.alreadyRunning, "another update is at work here");
    }
    output.row("update", "good", found.version ?? "none", wordsOf(found));
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof ProgramExit) throw error;
    throw new ProgramExit(exitCodes.unavailable, (error as Error).message, { cause: error });
  }
}
