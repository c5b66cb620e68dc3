import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { win32 } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { runSystemTool, toolFault } from "../processes/system-tool.ts";
import { type KeepAliveEntry, refuseControlCharacters, type Schedule } from "./entry.ts";

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
      throw refused(error);
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
      throw refused(error);
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
  const command = [script, ...args].map((word, i) => (i === 1 ? word : `"${word}"`)).join(" ");
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

function escaped(words: string): string {
  return words
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function currentUser(): string {
  const { USERDOMAIN: domain = ".", USERNAME: name = "" } = process.env;
  return `${domain}\\${name}`;
}

function refused(error: unknown): ProgramExit {
  return new ProgramExit(
    exitCodes.unavailable,
    `the Task Scheduler has refused: ${toolFault(error)}\n` +
      'open a command prompt with "Run as administrator", as the programs\' own user, and ' +
      "run this again",
  );
}
