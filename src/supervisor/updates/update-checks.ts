import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { ProgramContext } from "../../shared/program/lifecycle.ts";
import { readOr } from "../../shared/read-or.ts";
import { isDelivery, programFile } from "../../shared/version-files.ts";
import { checkTime, installationId, readState } from "../../update/update-state.ts";
import { startDailyCheck } from "./daily-checks.ts";

/** The longest time of a check; the next night continues a download on a slow line. */
const CHECK_LIMIT_MS = 4 * 3_600_000;

/**
 * Starts the daily checks for an update (docs/updates.md 4.4). A check runs in a separate program,
 * whose end frees its memory. The launcher installs the version that a check has found.
 */
export function startUpdateChecks(
  { config, installation, clock, onStop }: ProgramContext,
  log: AlarmLog,
): void {
  if (!isDelivery) return;
  if (config.UPDATE_URL === undefined) {
    log.info("the connector looks for no updates, because UPDATE_URL is not set");
    return;
  }
  const { dataDirectory } = installation;
  const at = timeOfChecks(config.UPDATE_TIME, dataDirectory, log);
  log.info({ channel: config.UPDATE_CHANNEL }, `the connector looks for updates each day at ${at}`);
  const check = (): Promise<void> => checkInItsOwnProgram(dataDirectory, log);
  // If the stored state of updates cannot be read, no earlier check counts.
  const lastMs = (): number | null => readOr(null, () => readState(dataDirectory).checkedMs);
  const daily = startDailyCheck({ at, lastMs, check, clock });
  onStop("checks for updates", () => daily.stop());
}

/** Returns this installation's time of day for checks; UPDATE_TIME if no id can be stored. */
export function timeOfChecks(updateTime: string, dataDirectory: string, log: AlarmLog): string {
  try {
    return checkTime(updateTime, installationId(dataDirectory));
  } catch (error) {
    log.warn({ err: error }, "could not store an installation id; updates are due at UPDATE_TIME");
    return updateTime;
  }
}

/**
 * Runs the program that checks for an update and logs its outcome; never rejects. A failure becomes
 * an alarm only if it lasts, which the stored state of updates shows.
 */
export async function checkInItsOwnProgram(
  dataDirectory: string,
  log: AlarmLog,
  script = () => programFile("update-check"),
): Promise<void> {
  let end: (() => void) | undefined;
  try {
    const args = [script(), "--data", dataDirectory];
    const options = { timeout: CHECK_LIMIT_MS, windowsHide: true };
    const running = promisify(execFile)(process.execPath, args, options);
    end = () => void running.child.kill();
    process.once("exit", end);
    const { stdout, stderr } = await running;
    logLines(stderr, log);
    log.info(`update: ${stdout.trim()}`);
  } catch (error) {
    const { code, stderr, message } = error as { code?: number; stderr?: string; message: string };
    if (code === exitCodes.alreadyRunning) log.info("another program checks for updates");
    else logLines(stderr?.trim() || message, log);
  } finally {
    if (end) process.off("exit", end);
  }
}

function logLines(lines: string, log: AlarmLog): void {
  for (const line of lines.split("\n").filter(Boolean)) {
    const [, alarm] = /^alarm: (.*)$/.exec(line) ?? [];
    if (alarm === undefined) log.warn(`update: ${line}`);
    else log.error({ alarm: "update-metadata" }, alarm);
  }
}
