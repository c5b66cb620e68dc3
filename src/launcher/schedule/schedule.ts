import { type ExecFileException, execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { win32 } from "node:path";
import { promisify } from "node:util";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { assetFile, defaultDataDirectory, installationRoot } from "../../shared/version-files.ts";
import { type CommandContext, filled, shellArgument } from "../output.ts";
import { runSystemTool, toolFault, userName } from "../processes/system-tool.ts";
import texts from "../texts-en.json" with { type: "json" };
import {
  dataArguments,
  type KeepAliveEntry,
  keepAliveEntry,
  refuseControlCharacters,
  refuseOtherUser,
  runtimeFolder,
  type Schedule,
  scriptPath,
} from "./entry.ts";

export function machineSchedule(): Schedule {
  return process.platform === "win32" ? taskScheduler : crontab;
}

/** Carries out `always-up --install` or `--uninstall` and returns the exit code. */
export async function changeSchedule(
  what: "install" | "uninstall",
  { dataDirectory, output }: CommandContext,
): Promise<number> {
  const entry = keepAliveEntry(dataDirectory);
  const schedule = machineSchedule();
  refuseOtherUser(dataDirectory);
  try {
    const change = await schedule[what](entry);
    const line = await schedule.find(entry);
    output.row("keep-alive", "good", change, line ?? `the ${schedule.name} has no entry for it`);
  } catch (error) {
    if (what === "install" || error !== noCrontab) throw error;
    output.row("keep-alive", "good", "was not installed", texts.crontab.missing[0] ?? "");
  }
  return exitCodes.ok;
}

const noCrontab = new ProgramExit(exitCodes.unavailable, texts.crontab.missing.join("\n"));

const EVERY_TWO_MINUTES = "*/2 * * * *";
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

/** The crontab of the user. Every line of other programs stays as it is, byte by byte. */
export const crontab: Schedule = {
  name: `crontab of ${userName()}`,
  async install(entry) {
    refuseControlCharacters([entry.script, ...entry.args, entry.runtimeFolder ?? ""]);
    // Lines are decoded as latin1, so that bytes that are no UTF-8 stay unchanged.
    const wanted = Buffer.from(crontabLine(entry), "utf8").toString("latin1");
    const lines = await readLines();
    const own = lines.filter((line) => isOwn(line, entry));
    if (own.length === 1 && own[0] === wanted) return "was installed already";
    await writeLines([...lines.filter((line) => !isOwn(line, entry)), wanted]);
    if ((await readLines()).includes(wanted)) return "installed";
    throw refused("the new line is missing in the crontab, although crontab reported no error");
  },
  async uninstall(entry) {
    const lines = await readLines();
    const others = lines.filter((line) => !isOwn(line, entry));
    if (others.length === lines.length) return "was not installed";
    await writeLines(others);
    return "removed";
  },
  async find(entry) {
    const line = (await readLines()).find((one) => isOwn(one, entry));
    return line === undefined ? undefined : utf8Of(line);
  },
};

/** Returns the line for the crontab, in which % needs a backslash (crontab(5)). */
export function crontabLine({ script, args, runtimeFolder }: KeepAliveEntry): string {
  const path =
    runtimeFolder === undefined ? [] : [`PATH=${shellArgument(runtimeFolder)}:${SYSTEM_PATH}`];
  const command = [...path, shellArgument(script), ...args.map(shellArgument)].join(" ");
  return `${EVERY_TWO_MINUTES} ${command.replaceAll("%", "\\%")}`;
}

/** Whether a crontab line, even one written by hand, runs always-up.sh for the same data folder. */
function isOwn(line: string, { script, dataDirectory }: KeepAliveEntry): boolean {
  const command = utf8Of(line.trim());
  if (command.startsWith("#")) return false;
  const args = shellArguments(command.replaceAll("\\%", "%"));
  const at = args.indexOf(script);
  if (at < 0) return false;
  const data = args.indexOf("--data", at);
  return (data < 0 ? defaultDataDirectory : args[data + 1]) === dataDirectory;
}

/** Returns the arguments of a command as a shell reads them, without quotes and backslashes. */
function shellArguments(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g)].map(([arg]) =>
    arg.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_all, single, double, escaped) =>
      String(single ?? double?.replace(/\\(.)/g, "$1") ?? escaped),
    ),
  );
}

function utf8Of(line: string): string {
  return Buffer.from(line, "latin1").toString("utf8");
}

async function readLines(): Promise<string[]> {
  const { code, out, err } = await runCrontab(["-l"]);
  // For a user without a crontab, crontab(1) prints "no crontab for", busybox "no such file".
  if (code !== 0 && /no crontab for|no such file/i.test(err)) return [];
  if (code !== 0) throw refused(err);
  const lines = out.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

async function writeLines(lines: readonly string[]): Promise<void> {
  const { code, err } = await runCrontab(["-"], lines.map((line) => `${line}\n`).join(""));
  if (code !== 0) throw refused(err);
}

function refused(why: string): ProgramExit {
  return new ProgramExit(
    exitCodes.unavailable,
    `the program crontab refused: ${why.trim()}\n` +
      "ask the administrator (/etc/cron.allow), or use ./launch.sh systemd-unit",
  );
}

async function runCrontab(args: readonly string[], input = "") {
  // The callers compare the messages of crontab, so the messages must not be translated.
  const options = { env: { ...process.env, LC_ALL: "C" }, encoding: "latin1" } as const;
  const running = promisify(execFile)("crontab", args, options);
  // crontab may end without reading its input, and only its exit code says whether it failed.
  running.child.stdin?.on("error", () => undefined).end(input, "latin1");
  try {
    const { stdout, stderr } = await running;
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as ExecFileException;
    // EACCES also means that this user may not enter a folder of PATH, for example after su.
    if (code === "ENOENT" || code === "EACCES") throw notToBeRun(code);
    if (typeof code === "string") throw error;
    return { code, out: stdout, err: stderr };
  }
}

function notToBeRun(code: "ENOENT" | "EACCES"): ProgramExit {
  if (code === "ENOENT") return noCrontab;
  const [why, todo] = texts.crontab.forbidden;
  return new ProgramExit(exitCodes.unavailable, `${userName()} ${why}\n${todo}`);
}

export const taskScheduler: Schedule = {
  name: "Task Scheduler",
  async install(entry) {
    refuseControlCharacters([entry.script, ...entry.args]);
    const known = (await this.find(entry)) !== undefined;
    const file = win32.join(openRunDirectory(entry.dataDirectory), "keep-alive-task.xml");
    const { USERDOMAIN: domain = ".", USERNAME: name = "" } = process.env;
    const xml = taskXml(entry, `${domain}\\${name}`);
    // schtasks reads UTF-16 with a byte order mark, independent of the machine's code page.
    writeFileSync(file, `\ufeff${xml}`, "utf16le");
    try {
      await schtasks("/Create", "/TN", taskName(entry), "/XML", file, "/F");
    } finally {
      rmSync(file, { force: true });
    }
    return known ? "was installed already" : "installed";
  },
  async uninstall(entry) {
    if ((await this.find(entry)) === undefined) return "was not installed";
    await schtasks("/Delete", "/TN", taskName(entry), "/F");
    return "removed";
  },
  async find(entry) {
    const name = taskName(entry);
    // The messages of schtasks are in the machine's language, so only its exit code is used.
    return await runSystemTool("schtasks", "/Query", "/TN", name).then(
      () => name,
      () => undefined,
    );
  },
};

/** Returns the name of the task, which differs for each data folder. */
export function taskName({ dataDirectory }: KeepAliveEntry): string {
  const folder = dataDirectory.toLowerCase();
  const mark = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  return `Unattended terminal connector ${mark}`;
}

/**
 * Returns the task in XML, made from keep-alive-task.xml. With the logon type S4U the task also
 * runs when the user is not logged on, without a stored password. The task's priority is set,
 * because with the scheduler's default, 7, the programs would run after all others.
 */
export function taskXml({ script, args }: KeepAliveEntry, user: string): string {
  const command = [script, ...args].map((arg, i) => (i === 1 ? arg : `"${arg}"`)).join(" ");
  const values = { user, command: `"${command}"`, folder: win32.dirname(script) };
  const template = readFileSync(assetFile("launcher/schedule/keep-alive-task.xml"), "utf8");
  return filled(template, (name) => escaped(values[name as keyof typeof values]));
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

async function schtasks(...args: string[]): Promise<void> {
  await runSystemTool("schtasks", ...args).catch((error: unknown) => {
    const why = [`the Task Scheduler has refused: ${toolFault(error)}`, texts.taskRefused];
    throw new ProgramExit(exitCodes.unavailable, why.join("\n"));
  });
}

/**
 * Returns a systemd unit that keeps both programs running, with how to install the unit, made from
 * terminal-connector.service. systemd restarts the programs after each exit code except that of a
 * wrong configuration. The unit takes away each right that the programs do not need
 * (systemd.exec(5), docs/design.md 9.5). Four settings cannot be used: MemoryDenyWriteExecute,
 * because Node.js makes code; PrivateDevices and DevicePolicy, because a serial port that is
 * plugged in later would stay closed; PrivateTmp, because the sockets of a data folder with a long
 * path are temporary files; RemoveIPC, because the kiosk's software may run as the same user.
 */
export function systemdUnit(dataDirectory: string): string {
  const args = dataArguments(dataDirectory);
  const command = [scriptPath("launch"), "--foreground", ...args];
  const folder = runtimeFolder();
  refuseControlCharacters([...command, folder ?? ""]);
  const withData = (line: string): string => [line, ...args.map(shellArgument)].join(" ");
  const search = unitText(`PATH=${folder}:/usr/local/bin:/usr/bin:/bin`);
  const values: Readonly<Record<string, string>> = {
    uninstall: withData("./always-up.sh --uninstall"),
    stop: withData("./launch.sh stop"),
    print: withData("./launch.sh systemd-unit"),
    // systemd accepts a user's number in place of a name, for a user who has no name.
    user: userName().replace(/^user /, ""),
    environment: folder === undefined ? "" : `Environment=${search}\n`,
    command: command.map(unitText).join(" "),
    configuration: String(exitCodes.configuration),
    writable: [...new Set([installationRoot, dataDirectory])].map(path).join(" "),
  };
  const template = readFileSync(assetFile("launcher/schedule/terminal-connector.service"), "utf8");
  return filled(template, (name) => values[name] ?? "").trimEnd();
}

/** Returns a path for a systemd unit: quoted, and with % doubled (systemd.exec(5)). */
function path(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/** Quotes an argument: %, $ and the backslash are special (systemd.service(5), "Command lines"). */
function unitText(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}
