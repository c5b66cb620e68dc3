import { setPriority } from "node:os";
import { parseArgs } from "node:util";
import { loadConfig } from "../shared/config/config.ts";
import { exitCodes } from "../shared/process/exit-codes.ts";
import { installationAt } from "../shared/process/installation.ts";
import { lookNow, wordsOf } from "./look-now.ts";

/**
 * A program of its own, started by the supervisor at its time: `update-check --data DIR` looks for
 * an update and lays it beside the present version. Its memory is gone with it. The end stands on
 * standard output, for the supervisor's log, and a line on standard error that begins with "alarm:"
 * is one; 75: somebody else is at work.
 */

/** Whatever else the machine does goes first. */
const LOW_PRIORITY = 10;

setPriority(LOW_PRIORITY);
const { values } = parseArgs({ options: { data: { type: "string" } } });
const installation = installationAt(values.data ?? "");
const { config } = loadConfig(installation.configFile, "supervisor");
try {
  const found = await lookNow(installation, config, "fetch", (message) =>
    process.stderr.write(`alarm: ${message}\n`),
  );
  if (found === undefined) process.exitCode = exitCodes.alreadyRunning;
  else process.stdout.write(`${wordsOf(found)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = exitCodes.unavailable;
}
