import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { Output } from "../output.ts";
import { crontab } from "./crontab.ts";
import { type Change, keepAliveEntry, refuseOtherUser, type Schedule } from "./entry.ts";
import { taskScheduler } from "./task-scheduler.ts";

/** The scheduler of this machine. */
export function machineSchedule(): Schedule {
  return process.platform === "win32" ? taskScheduler : crontab;
}

const words: Record<Change, string> = {
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
  output.row("keep-alive", "good", words[change], line ?? `nothing of it in the ${schedule.name}`);
  return exitCodes.ok;
}
