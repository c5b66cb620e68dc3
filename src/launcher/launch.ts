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
  /** Returns the demo if it runs alone, else the installation (docs/design.md 9.1). */
  const target = async (): Promise<CommandContext> => {
    if (!existsSync(demoDataDirectory)) return own;
    const { isDemoTarget } = await import("./demo/settings.ts");
    return isDemoTarget(demoDataDirectory) ? demo : own;
  };
  const commands: Record<LauncherArguments["command"], () => number | Promise<number>> = {
    help: () => {
      output.note(usage);
      return exitCodes.ok;
    },
    version: () => {
      output.text(versionNumber);
      return exitCodes.ok;
    },
    start: async () =>
      (await import("./commands/start.ts")).start(
        existsSync(own.configFile) ? own : await target(),
      ),
    stop: async () => (await import("./commands/stop.ts")).stop(await target()),
    restart: async () => (await import("./commands/start.ts")).restart(await target()),
    status: async () =>
      (await import("./commands/status.ts")).showStatus(await target(), given.json),
    foreground: async () => (await import("./commands/foreground.ts")).runForeground(own),
    demo: async () => (await import("./commands/demo.ts")).runDemo(demo, given.protocol),
    kiosk: async () => (await import("./commands/kiosk.ts")).kioskAddress(await target()),
    simulate: async () => (await import("./commands/simulate.ts")).simulate(demo, given.simulate),
    configure: async () => (await import("./commands/configure.ts")).configure(own),
    doctor: async () => (await import("./doctor/doctor.ts")).runDoctor(await target(), given),
    audit: async () => (await import("./commands/audit.ts")).showAudit(await target(), given),
    backup: async () => (await import("./commands/backup.ts")).backup(await target(), given),
    restore: async () => (await import("./commands/restore.ts")).restore(await target(), given),
    stores: async () => (await import("./commands/stores.ts")).stores(await target(), given),
    update: async () => (await import("./commands/update.ts")).update(own, given),
    fleet: async () => (await import("./fleet/enrol.ts")).enrol(own, given),
    "systemd-unit": async () => {
      output.text((await import("./schedule/schedule.ts")).systemdUnit(own.dataDirectory));
      return exitCodes.ok;
    },
    "keep-alive": async () => {
      if (!given.schedule) return await keepAlive(own.dataDirectory, given.answerWithinMs);
      return (await import("./schedule/schedule.ts")).changeSchedule(given.schedule, own);
    },
  };
  return await commands[given.command]();
}
