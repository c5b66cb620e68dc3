import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import {
  DISK_FREE_MIN_BYTES,
  type Finding,
  finding,
  inTwo,
} from "../../shared/catalog/findings.ts";
import { ProgramExit } from "../../shared/process/exit-codes.ts";
import { readOr } from "../../shared/read-or.ts";
import { type Clock, isoTime, localTimeZone } from "../../shared/time.ts";
import { installationRoot } from "../../shared/version-files.ts";
import { shellArgument } from "../output.ts";
import { readDataAccess } from "../processes/data-access.ts";
import { toolFault } from "../processes/system-tool.ts";
import { keepAliveEntry, scriptPath } from "../schedule/entry.ts";
import { machineSchedule } from "../schedule/schedule.ts";

const MEGABYTE = 1024 * 1024;
const DISK_WARN_BYTES = 500 * MEGABYTE;

export function checkNode(): Finding {
  const isRight = /^(22\.(22\.[2-9]|2[3-9]|[3-9]\d)|24\.(1[5-9]|[2-9]\d)|2[5-9]|[3-9]\d)/.test(
    process.versions.node,
  );
  const values = { version: process.version, path: process.execPath };
  return finding(isRight ? "node-right" : "node-old", values);
}

export function checkDataFolder(dataDirectory: string): Finding[] {
  try {
    accessSync(dataDirectory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [finding("data-folder-closed", { detail: (error as Error).message })];
  }
  return [finding("data-folder-right", { folder: dataDirectory }), checkDisk(dataDirectory)];
}

/** Checks on Windows who may use the data folder; elsewhere the setup file's mode is checked. */
export async function checkDataAccess(dataDirectory: string): Promise<Finding[]> {
  if (process.platform !== "win32" || !existsSync(dataDirectory)) return [];
  try {
    const { inherits, others, isOpen, isOurs, close } = await readDataAccess(dataDirectory);
    const values = { names: others.join(", ") || "Everyone", folder: dataDirectory, close };
    if (isOpen) return [finding("access-open", values)];
    if (inherits) return [finding("access-inherited", { close })];
    if (!isOurs) return [finding("access-not-ours", { close })];
    return [others.length > 0 ? finding("access-others", values) : finding("access-right", {})];
  } catch (error) {
    return [finding("access-unknown", { detail: toolFault(error) })];
  }
}

function checkDisk(folder: string): Finding {
  const { bavail, bsize, files, ffree } = statfsSync(folder);
  const bytes = bavail * bsize;
  const values = { free: Math.floor(bytes / MEGABYTE) };
  if (files > 0 && ffree < 1_000) return finding("disk-no-files", values);
  if (bytes < DISK_FREE_MIN_BYTES) return finding("disk-full", values);
  return finding(bytes < DISK_WARN_BYTES ? "disk-low" : "disk-right", values);
}

/** An earlier time shows that the clock is not set: without a battery it starts in the past. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);
const SKEW_WARN_MS = 60_000;

/** Checks this machine's clock. `gatewayMs`: the gateway's time; undefined: it has not answered. */
export function checkClock(clock: Clock, gatewayMs: number | undefined): Finding {
  const nowMs = clock.now();
  const values = { at: isoTime(nowMs), zone: localTimeZone() };
  if (nowMs < EARLIEST_MS) return finding("clock-past", values);
  if (gatewayMs === undefined) return finding("clock-alone", values);
  const skewMs = Math.abs(nowMs - gatewayMs);
  if (skewMs <= SKEW_WARN_MS) return finding("clock-right", values);
  return finding("clock-away", { ...values, seconds: Math.round(skewMs / 1_000) });
}

export async function checkSchedule(dataDirectory: string): Promise<Finding> {
  const entry = keepAliveEntry(dataDirectory);
  const program = process.platform === "win32" ? "always-up.cmd" : "./always-up.sh";
  const install = [program, "--install", ...entry.args.map(shellArgument)].join(" ");
  const unit = systemdUnitOfOurs();
  try {
    const line = await machineSchedule().find(entry);
    if (line !== undefined && unit !== undefined) return finding("schedule-twice", { unit });
    if (line !== undefined && process.platform === "linux" && !cronRuns()) {
      return finding("schedule-no-cron", { entry: line });
    }
    if (line !== undefined) return finding("schedule-right", { entry: line });
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
    if (unit === undefined) return finding("schedule-unknown", inTwo(error.message, install));
  }
  if (unit !== undefined) return finding("schedule-right", { entry: unit });
  return finding("schedule-missing", { install });
}

function systemdUnitOfOurs(): string | undefined {
  const script = scriptPath("launch").replaceAll("%", "%%").replaceAll("$", "$$$$");
  // The unit of a package lies elsewhere, is linked when enabled, and starts root's launch.sh.
  const marks = [script, `"${installationRoot}"`];
  return ["/etc/systemd/system", "/etc/systemd/system/multi-user.target.wants"]
    .flatMap((folder) => entriesOf(folder).map((name) => join(folder, name)))
    .filter((file) => file.endsWith(".service"))
    .find((file) => marks.some((mark) => readText(file).includes(mark)));
}

function cronRuns(): boolean {
  const pids = entriesOf("/proc").filter((name) => /^\d+$/.test(name));
  return pids.some((pid) =>
    /^(f?cron|crond|anacron|busybox)\n$/.test(readText(`/proc/${pid}/comm`)),
  );
}

const policyFolders = [
  "/etc/opt/chrome/policies/managed",
  "/etc/chromium/policies/managed",
  "/etc/opt/edge/policies/managed",
];
/** The browser policy by which Chrome and Edge let a web page call this machine without asking. */
const POLICY = "LocalNetworkAccessAllowedForUrls";

/** Checks whether a browser here lets the allowed web pages call the local API. */
export function checkBrowsers(
  allowedOrigins: readonly string[],
  folders: readonly string[] = policyFolders,
): Finding {
  if (allowedOrigins.length === 0) return finding("browser-none", {});
  const texts = folders.flatMap((folder) =>
    entriesOf(folder).map((name) => readText(join(folder, name))),
  );
  const isSet = texts.some((text) => text.includes(POLICY));
  const values = { origins: allowedOrigins.join(", "), policy: POLICY };
  return finding(isSet ? "browser-right" : "browser-asks", values);
}

/** Returns the names in a folder; empty if the folder is missing or this user may not read it. */
export function entriesOf(folder: string): string[] {
  return readOr([], () => readdirSync(folder));
}

/** Returns the text of a file; "" if the file is missing or this user may not read it. */
export function readText(file: string): string {
  return readOr("", () => readFileSync(file, "utf8"));
}
