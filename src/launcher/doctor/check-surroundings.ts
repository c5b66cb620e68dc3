import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { ProgramExit } from "../../shared/exit-codes.ts";
import type { Installation } from "../../shared/installation.ts";
import { type Clock, isoTime } from "../../shared/time.ts";
import { readDataAccess } from "../data-access.ts";
import { quoted } from "../schedule/crontab.ts";
import { keepAliveEntry, scriptPath } from "../schedule/entry.ts";
import { machineSchedule } from "../schedule/schedule.ts";
import { toolFault } from "../system-tool.ts";
import { bad, doubtful, type Finding, good, inTwo } from "./finding.ts";

const MEGABYTE = 1024 * 1024;
const DISK_FAIL_BYTES = 50 * MEGABYTE;
const DISK_WARN_BYTES = 500 * MEGABYTE;

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const says = `${process.version} (${process.execPath})`;
  if (major > 22 || (major === 22 && minor >= 18)) return good("node", says);
  return bad("node", says, "remove node_modules and run ./launch.sh: it installs the right one");
}

export function checkDataFolder({ dataDirectory }: Installation): Finding[] {
  try {
    // X: a folder that can be entered.
    accessSync(dataDirectory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      bad(
        "data folder",
        (error as Error).message,
        "create it, or give it to the user who runs the connector (chown -R)",
      ),
    ];
  }
  return [good("data folder", dataDirectory), checkDisk(dataDirectory)];
}

/** Of Windows; where files have modes the configuration's own check looks at them. */
export async function checkDataAccess(installation: Installation): Promise<Finding[]> {
  const { dataDirectory } = installation;
  if (process.platform !== "win32" || !existsSync(dataDirectory)) return [];
  try {
    const { inherits, others, isOpen, isOurs, close } = await readDataAccess(installation);
    const names = others.map((sid) => ` ${sid}`).join(",");
    const reset = `as an administrator: icacls "${dataDirectory}" /reset, then ${close}`;
    if (isOpen)
      return [bad("access", `everybody may use the data folder (${names.trim()})`, reset)];
    if (inherits) return [bad("access", "the rights of the folder above hold here too", close)];
    if (!isOurs) return [doubtful("access", "the user who runs this is not named", close)];
    if (others.length > 0) return [doubtful("access", `besides the three also${names}`, reset)];
    return [good("access", "this user, the system and the administrators only")];
  } catch (error) {
    const todo = "look yourself: in the folder's properties, under Security";
    return [doubtful("access", `not known who may use the data folder: ${toolFault(error)}`, todo)];
  }
}

function checkDisk(folder: string): Finding {
  const { bavail, bsize, files, ffree } = statfsSync(folder);
  const free = bavail * bsize;
  const says = `${Math.floor(free / MEGABYTE)} MB free`;
  const todo = "make room: without it no payment can be written, and none is taken";
  if (files > 0 && ffree < 1_000) return bad("disk", `${says}, but no room for more files`, todo);
  if (free < DISK_FAIL_BYTES) return bad("disk", says, todo);
  return free < DISK_WARN_BYTES ? doubtful("disk", says, todo) : good("disk", says);
}

/** Long before this version was made: a machine without a battery for its clock. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);
const SKEW_WARN_MS = 60_000;

/** `gatewayMs`: the gateway's own time, when it was asked just now. */
export function checkClock(clock: Clock, gatewayMs: number | undefined): Finding {
  const nowMs = clock.now();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const says = `${isoTime(nowMs)}, time zone ${zone}`;
  const todo = "let the machine set its clock from the network (timedatectl set-ntp true)";
  if (nowMs < EARLIEST_MS) return bad("clock", `${says} is in the past`, todo);
  if (gatewayMs === undefined) return good("clock", `${says} (not compared: no gateway)`);
  const skewMs = Math.abs(nowMs - gatewayMs);
  if (skewMs <= SKEW_WARN_MS) return good("clock", `${says}, as the gateway's`);
  const seconds = Math.round(skewMs / 1_000);
  return doubtful("clock", `${says}, ${seconds} s away from the gateway's`, todo);
}

export async function checkSchedule({ dataDirectory }: Installation): Promise<Finding> {
  const entry = keepAliveEntry(dataDirectory);
  const windows = process.platform === "win32";
  const args = entry.args.map((word) => (windows ? `"${word}"` : quoted(word)));
  const program = windows ? "always-up.cmd" : "./always-up.sh";
  const install = [program, "--install", ...args].join(" ");
  const unit = systemdUnitOfOurs();
  try {
    const line = await machineSchedule().find(entry);
    if (line !== undefined && unit !== undefined) {
      const says = `${unit} and the keep-alive both look after the connector`;
      return doubtful("schedule", says, "keep one of them: ./always-up.sh --uninstall");
    }
    if (line !== undefined && process.platform === "linux" && !cronRuns()) {
      const todo = "start it: sudo systemctl enable --now cron";
      return doubtful("schedule", `${line}, but cron itself does not run`, todo);
    }
    if (line !== undefined) return good("schedule", line);
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
    if (unit === undefined) return doubtful("schedule", ...inTwo(error.message, install));
  }
  if (unit !== undefined) return good("schedule", unit);
  return doubtful("schedule", "nothing relaunches what dies or hangs", install);
}

/** A unit that runs our launch.sh, whatever its name. */
function systemdUnitOfOurs(): string | undefined {
  const folder = "/etc/systemd/system";
  const script = scriptPath("launch").replaceAll("%", "%%").replaceAll("$", "$$$$");
  return entriesOf(folder)
    .filter((name) => name.endsWith(".service"))
    .map((name) => join(folder, name))
    .find((file) => readText(file).includes(script));
}

function cronRuns(): boolean {
  return entriesOf("/proc").some((pid) =>
    /^(f?cron|crond|anacron|busybox)\n$/.test(
      /^\d+$/.test(pid) ? readText(`/proc/${pid}/comm`) : "",
    ),
  );
}

const policyFolders = [
  "/etc/opt/chrome/policies/managed",
  "/etc/chromium/policies/managed",
  "/etc/opt/edge/policies/managed",
];
/** Chrome and Edge ask the person at the screen before a page may call this machine. */
const POLICY = "LocalNetworkAccessAllowedForUrls";

/** Which web pages may call the local API, and whether a kiosk's browser would let them. */
export function checkBrowsers(
  allowedOrigins: readonly string[],
  folders: readonly string[] = policyFolders,
): Finding {
  if (allowedOrigins.length === 0) {
    return good("browser", "no web page may call the local API (ALLOWED_ORIGINS is empty)");
  }
  const texts = folders.flatMap((folder) =>
    entriesOf(folder).map((name) => readText(join(folder, name))),
  );
  const says = `pages of ${allowedOrigins.join(", ")} may call the local API`;
  if (texts.some((text) => text.includes(POLICY))) return good("browser", `${says}; ${POLICY} set`);
  return doubtful(
    "browser",
    says,
    `set the enterprise policy ${POLICY} to them, or Chrome and Edge ask at the screen`,
  );
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no such folder on this machine
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // gone meanwhile, or not for us to read
  }
}
