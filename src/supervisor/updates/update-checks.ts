import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { ProgramContext } from "../../shared/process/lifecycle.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { isDelivery, programFile } from "../../shared/version-files.ts";
import { checkTime, installationId, readState } from "../../update/update-state.ts";
import { DailyLook } from "./daily-look.ts";

/** A large runtime over a slow line; what came is taken up again the next night. */
const CHECK_LIMIT_MS = 4 * 3_600_000;

/**
 * Looks for an update each day about UPDATE_TIME (docs/updates.md 4.4), in a program of its own,
 * because what verifies signatures needs memory that is given back then. Only the launcher takes
 * what was found.
 */
export function startUpdateChecks(
  { config, installation, clock, onStop }: ProgramContext,
  log: Logger,
): void {
  if (!isDelivery) return;
  if (config.UPDATE_URL === undefined) {
    log.info("no updates are looked for: UPDATE_URL is not set");
    return;
  }
  const { dataDirectory } = installation;
  const at = timeOfLooks(config.UPDATE_TIME, dataDirectory, log);
  log.info({ channel: config.UPDATE_CHANNEL }, `updates are looked for each day at ${at}`);
  const script = programFile("update-check");
  const look = (): Promise<void> =>
    lookInItsOwnProgram(script, dataDirectory, log).catch((error: unknown) =>
      log.warn({ err: error }, "no update could be looked for"),
    );
  const lastMs = (): number | null => lastLookMs(dataDirectory);
  const daily = new DailyLook({ at, lastMs, look, clock });
  onStop("looks for updates", () => daily.stop());
}

/** A state that cannot be read tells of no look. */
function lastLookMs(dataDirectory: string): number | null {
  try {
    return readState(dataDirectory).checkedMs;
  } catch {
    return null;
  }
}

/** A disk that cannot keep the installation's id costs the spread, never the program's start. */
export function timeOfLooks(updateTime: string, dataDirectory: string, log: Logger): string {
  try {
    return checkTime(updateTime, installationId(dataDirectory));
  } catch (error) {
    log.warn({ err: error }, "the installation's id cannot be kept: looks come at UPDATE_TIME");
    return updateTime;
  }
}

/** The end is in the state of updates too; a failure is an alarm only when it lasts. */
export async function lookInItsOwnProgram(
  script: string,
  dataDirectory: string,
  log: Logger,
): Promise<void> {
  const words = [script, "--data", dataDirectory];
  const options = { timeout: CHECK_LIMIT_MS, windowsHide: true };
  const running = promisify(execFile)(process.execPath, words, options);
  const end = (): boolean => running.child.kill();
  process.once("exit", end);
  try {
    const { stdout, stderr } = await running;
    tell(stderr, log);
    log.info(`update: ${stdout.trim()}`);
  } catch (error) {
    const { code, stderr, message } = error as { code?: number; stderr?: string; message: string };
    if (code === exitCodes.alreadyRunning) return void log.info("update: somebody else is at work");
    tell(stderr?.trim() || message, log);
  } finally {
    process.off("exit", end);
  }
}

function tell(lines: string, log: Logger): void {
  for (const line of lines.split("\n").filter(Boolean)) {
    const [, alarm] = /^alarm: (.*)$/.exec(line) ?? [];
    if (alarm === undefined) log.warn(`update: ${line}`);
    else log.error({ alarm: "update-metadata" }, alarm);
  }
}
