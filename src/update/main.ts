import { setPriority } from "node:os";
import { parseArgs } from "node:util";
import { loadConfig } from "../shared/config/config.ts";
import { exitCodes } from "../shared/process/exit-codes.ts";
import { installationAt } from "../shared/program/installation.ts";
import { checkNow, checkText } from "./check-for-update.ts";

/**
 * `update-check --data DIR` checks for an update and unpacks it next to the present version. The
 * supervisor starts the check as a process of its own, so that its memory is freed at the end.
 * Standard output has the result for the supervisor's log; each line on standard error that begins
 * with "alarm:" is an alarm. Exit code 75: another process checks for an update or installs one.
 */

/** The niceness of the check, so that the other programs of the machine run first. */
const LOW_PRIORITY = 10;

setPriority(LOW_PRIORITY);
const { values } = parseArgs({ options: { data: { type: "string" } } });
const installation = installationAt(values.data ?? "");
const { config } = loadConfig(installation.configFile, "supervisor");
try {
  const found = await checkNow(installation, config, "fetch", {
    alarm: (message) => process.stderr.write(`alarm: ${message}\n`),
    warn: (message) => process.stderr.write(`${message}\n`),
  });
  if (found === undefined) process.exitCode = exitCodes.alreadyRunning;
  else process.stdout.write(`${checkText(found)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = exitCodes.unavailable;
}
