import { existsSync } from "node:fs";
import { join } from "node:path";
import { exitCodes, ProgramExit } from "../shared/exit-codes.ts";
import {
  defaultDataDirectory,
  type Installation,
  installationAt,
  versionNumber,
} from "../shared/installation.ts";
import { storageFault } from "../shared/storage-fault.ts";
import { systemClock } from "../shared/time.ts";
import { type LauncherArguments, readArguments, usage } from "./arguments.ts";
import { demoParts } from "./demo/demo-parts.ts";
import { readDemoPorts } from "./demo/demo-settings.ts";
import { restart, type Site, start, stop } from "./operate.ts";
import { createOutput, type Output } from "./output.ts";
import { programParts } from "./part.ts";
import { findProcesses } from "./process-table.ts";
import { type InstallationStatus, printStatus, readStatus } from "./status.ts";

export const demoDataDirectory = join(defaultDataDirectory, "demo");

/** Carries out one command of an operator; answers the exit code. */
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

/** Throws ProgramExit. */
async function launch(given: LauncherArguments, output: Output): Promise<number> {
  const at = (fallback: string): Site => ({
    installation: installationAt(given.data ?? fallback),
    clock: systemClock,
    output,
  });
  switch (given.command) {
    case "help":
      output.text(usage);
      return exitCodes.ok;
    case "version":
      output.text(versionNumber);
      return exitCodes.ok;
    case "start":
      return await start(at(defaultDataDirectory));
    case "stop":
      return await stop(at(meant()));
    case "restart":
      return await restart(at(meant()));
    case "status":
      return showStatus(await readStatus(at(meant()).installation, systemClock), given, output);
    case "foreground": {
      const { runForeground } = await import("./foreground.ts");
      return await runForeground(at(defaultDataDirectory));
    }
    case "demo": {
      const { runDemo } = await import("./demo/demo.ts");
      return await runDemo(at(demoDataDirectory));
    }
    case "doctor": {
      const { runDoctor } = await import("./doctor/doctor.ts");
      return await runDoctor(at(meant()), given);
    }
    case "audit": {
      const { showAudit } = await import("./audit.ts");
      return await showAudit(at(meant()), given);
    }
    case "restore": {
      const { restore, restorable } = await import("./restore.ts");
      const store = restorable.find((one) => one === given.subject);
      return await restore(at(meant()), { store, day: given.from });
    }
    case "stores": {
      const { stores } = await import("./stores.ts");
      return await stores(at(meant()), given.subject === "accept");
    }
    case "systemd-unit": {
      const { systemdUnit } = await import("./schedule/systemd-unit.ts");
      output.text(systemdUnit(at(defaultDataDirectory).installation.dataDirectory));
      return exitCodes.ok;
    }
    case "keep-alive": {
      if (given.schedule) {
        const { changeSchedule } = await import("./schedule/schedule.ts");
        const { dataDirectory } = at(defaultDataDirectory).installation;
        return await changeSchedule(given.schedule, dataDirectory, output);
      }
      const { keepAlive } = await import("./keep-alive.ts");
      return await keepAlive(
        at(defaultDataDirectory).installation.dataDirectory,
        given.answerWithinMs,
      );
    }
  }
}

/**
 * The demo's folder when the demo runs and the installation itself does not (docs/design.md 9.1).
 */
function meant(): string {
  if (!existsSync(demoDataDirectory) || readDemoPorts(demoDataDirectory) === undefined) {
    return defaultDataDirectory;
  }
  if (anyRuns(installationAt(defaultDataDirectory))) return defaultDataDirectory;
  return anyRuns(installationAt(demoDataDirectory)) ? demoDataDirectory : defaultDataDirectory;
}

function anyRuns({ dataDirectory }: Installation): boolean {
  const parts = [...programParts(dataDirectory), ...demoParts(dataDirectory)];
  return parts.some((part) => findProcesses(part).length > 0);
}

function showStatus(
  status: InstallationStatus,
  { json }: LauncherArguments,
  output: Output,
): number {
  if (!json) return printStatus(status, output);
  output.text(JSON.stringify(status, null, 2));
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}
