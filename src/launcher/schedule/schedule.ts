import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { win32 } from "node:path";
import { text } from "node:stream/consumers";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { defaultDataDirectory } from "../../shared/version-files.ts";
import type { Output } from "../output.ts";
import { runSystemTool, toolFault, userName } from "../processes/system-tool.ts";
import {
  type Change,
  type KeepAliveEntry,
  keepAliveEntry,
  refuseControlCharacters,
  refuseOtherUser,
  type Schedule,
} from "./entry.ts";

/** The scheduler of this machine. */
export function machineSchedule(): Schedule {
  return process.platform === "win32" ? taskScheduler : crontab;
}

const changeTexts: Record<Change, string> = {
  installed: "installed",
  "already-installed": "was installed already",
  removed: "removed",
  "was-not-installed": "was not installed",
};

/** `always-up --install` and `--uninstall`; answers the exit code. Throws ProgramExit. */
export async function changeSchedule(
  what: "install" | "uninstall",
  dataDirectory: string,
  output: Output,
): Promise<number> {
  const entry = keepAliveEntry(dataDirectory);
  const schedule = machineSchedule();
  refuseOtherUser(dataDirectory);
  const change = await schedule[what](entry);
  const line = await schedule.find(entry);
  const details = line ?? `nothing of it in the ${schedule.name}`;
  output.row("keep-alive", "good", changeTexts[change], details);
  return exitCodes.ok;
}

const EVERY_TWO_MINUTES = "*/2 * * * *";
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

/** The crontab of the user. Every line that is not ours stays as it is, byte by byte. */
export const crontab: Schedule = {
  name: `crontab of ${userName()}`,
  async install(entry) {
    refuseControlCharacters([entry.script, ...entry.args, entry.runtimeFolder ?? ""]);
    const wanted = bytes(crontabLine(entry));
    const lines = await readLines();
    const own = lines.filter((line) => isOwn(line, entry));
    if (own.length === 1 && own[0] === wanted) return "already-installed";
    await writeLines([...lines.filter((line) => !isOwn(line, entry)), wanted]);
    if ((await readLines()).includes(wanted)) return "installed";
    throw refused("the line is not in the crontab after it was written");
  },
  async uninstall(entry) {
    const lines = await readLines();
    const others = lines.filter((line) => !isOwn(line, entry));
    if (others.length === lines.length) return "was-not-installed";
    await writeLines(others);
    return "removed";
  },
  async find(entry) {
    return (await readLines()).find((line) => isOwn(line, entry));
  },
};

/** crontab(5): a % ends the command unless a backslash stands before it, also within quotes. */
export function crontabLine({ script, args, runtimeFolder }: KeepAliveEntry): string {
  const path = runtimeFolder === undefined ? [] : [`PATH=${quoted(runtimeFolder)}:${SYSTEM_PATH}`];
  const command = [...path, quoted(script), ...args.map(quoted)].join(" ");
  return `${EVERY_TWO_MINUTES} ${command.replaceAll("%", "\\%")}`;
}

/** As a word of the shell; plain where nothing in it needs quoting. */
export function quoted(text: string): string {
  return /^[\w@+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A line that runs our always-up.sh for the same data folder, also one written by hand. */
function isOwn(line: string, { script, dataDirectory }: KeepAliveEntry): boolean {
  const command = Buffer.from(line.trim(), "latin1").toString("utf8");
  if (command.startsWith("#")) return false;
  const args = shellArguments(command.replaceAll("\\%", "%"));
  const at = args.indexOf(script);
  if (at < 0) return false;
  const data = args.indexOf("--data", at);
  return (data < 0 ? defaultDataDirectory : args[data + 1]) === dataDirectory;
}

/** The words of a command as a shell reads them: quotes group, a backslash takes the next as is. */
function shellArguments(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g)].map(([arg]) =>
    arg.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_all, single, double, escaped) =>
      String(single ?? double?.replace(/\\(.)/g, "$1") ?? escaped),
    ),
  );
}

/** A crontab may hold bytes that are no UTF-8; latin1 carries each of them through unchanged. */
function bytes(line: string): string {
  return Buffer.from(line, "utf8").toString("latin1");
}

async function readLines(): Promise<string[]> {
  const { code, out, err } = await runCrontab(["-l"]);
  // crontab(1), and busybox, which names the missing file instead.
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
    `crontab has refused: ${why.trim()}\n` +
      "ask the administrator (/etc/cron.allow), or use ./launch.sh systemd-unit",
  );
}

async function runCrontab(args: readonly string[], input = "") {
  // The callers read its messages: they must not be translated.
  const child = spawn("crontab", args, { env: { ...process.env, LC_ALL: "C" } });
  child.stdin.on("error", () => undefined); // crontab may end without reading; its exit code counts
  child.stdin.end(Buffer.from(input, "latin1"));
  child.stdout.setEncoding("latin1");
  try {
    const [[code], out, err] = await Promise.all([
      once(child, "close") as Promise<[number | null]>,
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code, out, err };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // EACCES also comes from a folder of PATH that this user may not enter, after su for example.
    if (!["ENOENT", "EACCES"].includes(code)) throw error;
    throw new ProgramExit(
      exitCodes.unavailable,
      code === "ENOENT"
        ? "there is no crontab on this machine\n" +
            "install it (on Debian: sudo apt-get install cron), or let systemd keep the programs " +
            "running: ./launch.sh systemd-unit"
        : `${userName()} may not run crontab, or a folder of PATH\n` +
            "log in as this user (su - USER) and ask again; else ./launch.sh systemd-unit",
    );
  }
}

/** The Task Scheduler of Windows. */
export const taskScheduler: Schedule = {
  name: "Task Scheduler",
  async install(entry) {
    refuseControlCharacters([entry.script, ...entry.args]);
    const known = (await this.find(entry)) !== undefined;
    const file = win32.join(openRunDirectory(entry.dataDirectory), "keep-alive-task.xml");
    // schtasks reads UTF-16 with its byte order mark, whatever the machine's code page.
    writeFileSync(file, `\ufeff${taskXml(entry, currentUser())}`, "utf16le");
    try {
      await runSystemTool("schtasks", "/Create", "/TN", taskName(entry), "/XML", file, "/F");
    } catch (error) {
      throw taskRefused(error);
    } finally {
      rmSync(file, { force: true });
    }
    return known ? "already-installed" : "installed";
  },
  async uninstall(entry) {
    if ((await this.find(entry)) === undefined) return "was-not-installed";
    try {
      await runSystemTool("schtasks", "/Delete", "/TN", taskName(entry), "/F");
    } catch (error) {
      throw taskRefused(error);
    }
    return "removed";
  },
  async find(entry) {
    const name = taskName(entry);
    // Its messages are in the machine's language, so only the exit code counts.
    return await runSystemTool("schtasks", "/Query", "/TN", name).then(
      () => name,
      () => undefined,
    );
  },
};

/** One per data folder. */
export function taskName({ dataDirectory }: KeepAliveEntry): string {
  const folder = dataDirectory.toLowerCase();
  const mark = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  return `Unattended terminal connector ${mark}`;
}

/**
 * Every day, every 5 minutes of it. S4U: whether the user is logged on or not, without a stored
 * password. Priority 5: the scheduler's own 7 would let the programs run below everything else.
 */
export function taskXml({ script, args }: KeepAliveEntry, user: string): string {
  const command = [script, ...args].map((arg, i) => (i === 1 ? arg : `"${arg}"`)).join(" ");
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Relaunches the card terminal connector when it is dead or hung.</Description>
  </RegistrationInfo>
  <Triggers>
    <CalendarTrigger>
      <Repetition>
        <Interval>PT5M</Interval>
        <Duration>P1D</Duration>
        <StopAtDurationEnd>false</StopAtDurationEnd>
      </Repetition>
      <StartBoundary>2020-01-01T00:00:00</StartBoundary>
      <Enabled>true</Enabled>
      <ScheduleByDay><DaysInterval>1</DaysInterval></ScheduleByDay>
    </CalendarTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${escaped(user)}</UserId>
      <LogonType>S4U</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <IdleSettings>
      <StopOnIdleEnd>false</StopOnIdleEnd>
      <RestartOnIdle>false</RestartOnIdle>
    </IdleSettings>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>true</Enabled>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT30M</ExecutionTimeLimit>
    <Priority>5</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>%SystemRoot%\\System32\\cmd.exe</Command>
      <Arguments>/d /c ${escaped(`"${command}"`)}</Arguments>
      <WorkingDirectory>${escaped(win32.dirname(script))}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function currentUser(): string {
  const { USERDOMAIN: domain = ".", USERNAME: name = "" } = process.env;
  return `${domain}\\${name}`;
}

function taskRefused(error: unknown): ProgramExit {
  return new ProgramExit(
    exitCodes.unavailable,
    `the Task Scheduler has refused: ${toolFault(error)}\n` +
      'open a command prompt with "Run as administrator", as the programs\' own user, and ' +
      "run this again",
  );
}
