import { existsSync } from "node:fs";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { installationAt, versionNumber } from "../shared/process/installation.ts";
import { storageFault } from "../shared/store/storage-fault.ts";
import { systemClock } from "../shared/time.ts";
import { defaultDataDirectory, demoDataDirectory } from "../shared/version-files.ts";
import { type LauncherArguments, readArguments, usage } from "./arguments.ts";
import { createOutput, type Output } from "./output.ts";
import type { Site } from "./site.ts";

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

/** Loads what the command needs, and no more. Throws ProgramExit. */
async function launch(given: LauncherArguments, output: Output): Promise<number> {
  const at = (fallback: string): Site => ({
    installation: installationAt(given.data ?? fallback),
    clock: systemClock,
    output,
  });
  switch (given.command) {
    case "help":
      output.note(usage);
      return exitCodes.ok;
    case "version":
      output.text(versionNumber);
      return exitCodes.ok;
    case "start":
    case "stop":
    case "restart": {
      const operate = await import("./commands/operate.ts");
      const data = given.command === "start" ? defaultDataDirectory : await meant();
      return await operate[given.command](at(data));
    }
    case "status":
      return await showStatus(at(await meant()), given);
    case "foreground": {
      const { runForeground } = await import("./commands/foreground.ts");
      return await runForeground(at(defaultDataDirectory));
    }
    case "demo": {
      const { runDemo } = await import("./demo/demo.ts");
      return await runDemo(at(demoDataDirectory), given.protocol);
    }
    case "kiosk":
      return (await import("./commands/kiosk.ts")).kioskAddress(at(await meant()));
    case "simulate":
      return await simulated(at(demoDataDirectory), given);
    case "doctor": {
      const { runDoctor } = await import("./doctor/doctor.ts");
      return await runDoctor(at(await meant()), given);
    }
    case "audit": {
      const { showAudit } = await import("./commands/audit.ts");
      return await showAudit(at(await meant()), given);
    }
    case "restore":
      return await restored(at(await meant()), given);
    case "stores":
      return await storesOf(at(await meant()), given);
    case "update": {
      const { update } = await import("./update/update.ts");
      return await update(at(defaultDataDirectory), given.update);
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
      const { keepAlive } = await import("./commands/keep-alive.ts");
      return await keepAlive(
        at(defaultDataDirectory).installation.dataDirectory,
        given.answerWithinMs,
      );
    }
  }
}

async function restored(site: Site, { subject, from }: LauncherArguments): Promise<number> {
  const { restore, restorable } = await import("./commands/restore.ts");
  const store = restorable.find((one) => one === subject);
  return await restore(site, { store, day: from });
}

async function storesOf(site: Site, { subject }: LauncherArguments): Promise<number> {
  const { stores } = await import("./commands/stores.ts");
  return await stores(site, subject === "accept");
}

async function simulated(site: Site, given: LauncherArguments): Promise<number> {
  const { simulate } = await import("./demo/simulate.ts");
  return await simulate(site, given.simulate);
}

/**
 * The demo's folder when the demo runs and the installation itself does not (docs/design.md 9.1).
 */
async function meant(): Promise<string> {
  if (!existsSync(demoDataDirectory)) return defaultDataDirectory;
  const { isDemoMeant } = await import("./demo/demo-meant.ts");
  return isDemoMeant(demoDataDirectory) ? demoDataDirectory : defaultDataDirectory;
}

async function showStatus(
  { installation, clock, output }: Site,
  { json }: LauncherArguments,
): Promise<number> {
  const { printStatus, readStatus } = await import("./commands/status.ts");
  const status = await readStatus(installation, clock);
  if (!json) return printStatus(status, output);
  output.text(JSON.stringify(status, null, 2));
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}
