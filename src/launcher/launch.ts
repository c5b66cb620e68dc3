import { existsSync } from "node:fs";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { installationAt, versionNumber } from "../shared/program/installation.ts";
import { storageFault } from "../shared/store/storage-fault.ts";
import { systemClock } from "../shared/time.ts";
import { defaultDataDirectory, demoDataDirectory } from "../shared/version-files.ts";
import { type LauncherArguments, readArguments, usage } from "./arguments.ts";
import { keepAlive } from "./commands/keep-alive.ts";
import { type CommandContext, createOutput, type Output } from "./output.ts";

/** Carries out one command of an operator and returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const output = createOutput();
  let given: LauncherArguments | undefined;
  try {
    given = readArguments(args);
    return await launch(given, output);
  } catch (error) {
    if (error instanceof ProgramExit) {
      output.fault(error.message);
      return error.exitCode;
    }
    const { dataDirectory } = installationAt(given?.data ?? defaultDataDirectory);
    const storage = storageFault(error, dataDirectory);
    output.fault(storage ?? String((error as Error).stack));
    return storage === undefined ? exitCodes.internal : exitCodes.unavailable;
  }
}

async function launch(given: LauncherArguments, output: Output): Promise<number> {
  const at = (dataDirectory: string): CommandContext => {
    return { ...installationAt(given.data ?? dataDirectory), clock: systemClock, output };
  };
  const own = at(defaultDataDirectory);
  const demo = at(demoDataDirectory);
  const target = async (): Promise<CommandContext> => at(await targetDirectory());
  switch (given.command) {
    case "help":
      output.note(usage);
      return exitCodes.ok;
    case "version":
      output.text(versionNumber);
      return exitCodes.ok;
    case "start":
      return await (await import("./commands/start.ts")).start(own);
    case "stop":
      return await (await import("./commands/stop.ts")).stop(await target());
    case "restart":
      return await (await import("./commands/start.ts")).restart(await target());
    case "status":
      return await (await import("./commands/status.ts")).showStatus(await target(), given.json);
    case "foreground":
      return await (await import("./commands/foreground.ts")).runForeground(own);
    case "demo":
      return await (await import("./commands/demo.ts")).runDemo(demo, given.protocol);
    case "kiosk":
      return (await import("./commands/kiosk.ts")).kioskAddress(await target());
    case "simulate":
      return await (await import("./commands/simulate.ts")).simulate(demo, given.simulate);
    case "doctor":
      return await (await import("./doctor/doctor.ts")).runDoctor(await target(), given);
    case "audit":
      return await (await import("./commands/audit.ts")).showAudit(await target(), given);
    case "restore":
      return await (await import("./commands/restore.ts")).restore(await target(), given);
    case "stores":
      return await (await import("./commands/stores.ts")).stores(await target(), given);
    case "update":
      return await (await import("./commands/update.ts")).update(own, given);
    case "systemd-unit":
      output.text((await import("./schedule/schedule.ts")).systemdUnit(own.dataDirectory));
      return exitCodes.ok;
    case "keep-alive":
      if (!given.schedule) return await keepAlive(own.dataDirectory, given.answerWithinMs);
      return await (await import("./schedule/schedule.ts")).changeSchedule(given.schedule, own);
  }
}

/** Returns the demo's data folder if the demo runs alone, else the default (docs/design.md 9.1). */
async function targetDirectory(): Promise<string> {
  if (!existsSync(demoDataDirectory)) return defaultDataDirectory;
  const { isDemoTarget } = await import("./demo/settings.ts");
  return isDemoTarget(demoDataDirectory) ? demoDataDirectory : defaultDataDirectory;
}
