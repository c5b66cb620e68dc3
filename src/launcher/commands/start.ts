import { existsSync } from "node:fs";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { type Installation, versionNumber } from "../../shared/process/installation.ts";
import { isDelivery, probationMarkOf, underWayFileOf } from "../../shared/version-files.ts";
import { simulatorSpecs, startSimulator } from "../demo/settings.ts";
import type { CommandContext, Output } from "../output.ts";
import { closeDataFolder } from "../processes/data-access.ts";
import { forgetStop } from "../processes/deliberate-stop.ts";
import { forgetFailures } from "../processes/keep-alive-memory.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { findProcesses, type ProcessSpec, programSpecs } from "../processes/process-table.ts";
import {
  type Started,
  type Stopped,
  startPrograms,
  stopProcess,
  stopProgram,
} from "../processes/programs.ts";
import { stopTexts } from "./stop.ts";

export function start(context: CommandContext): Promise<number> {
  return withLaunchLock(context, () => startHere(context));
}

/**
 * Starts what does not run, simulators first where there are some. When a program fails, those that
 * this call has started are stopped again. The caller holds the launch lock.
 */
export async function startHere(context: CommandContext): Promise<number> {
  const { installation, clock, output } = context;
  forgetStop(installation.dataDirectory);
  forgetFailures(openRunDirectory(installation.dataDirectory));
  const elsewhere = await finishUpdate(context);
  if (elsewhere !== undefined) return elsewhere;
  await closeFolder(context);
  const simulators = await startSimulators(context);
  const results = await startPrograms(installation, clock);
  reportStart(results, installation, output);
  const failure = results.find(({ result }) => result === "ended" || result === "silent");
  if (!failure) {
    await reportWarnings(installation, output);
    return exitCodes.ok;
  }
  const report = ({ name }: ProcessSpec, stopped: Stopped): void =>
    output.row(name, "warn", stopTexts[stopped].state, "because the start failed");
  const ours = results.filter((one) => one.result === "started" || ("ours" in one && one.ours));
  for (const spec of programSpecs(installation.dataDirectory)) {
    if (!ours.some(({ program }) => program === spec.name)) continue;
    report(spec, await stopProgram(spec, clock));
  }
  for (const spec of simulators) report(spec, await stopProcess(spec, clock));
  return failure.result === "ended" ? failure.exitCode : exitCodes.unavailable;
}

/** On Windows, at the first start; what keeps it from being done keeps nothing from running. */
export async function closeFolder({ installation, output }: CommandContext): Promise<void> {
  const fault = await closeDataFolder(installation);
  if (fault === undefined) return;
  output.row("data folder", "warn", "warning", fault);
}

/** Whether an update has left something that a launcher has to bring to its end. */
export function wasCutOff(dataDirectory: string): boolean {
  return [underWayFileOf, probationMarkOf].some((file) => existsSync(file(dataDirectory)));
}

/**
 * Before anything is started: an update that was cut off, or a file `current` that is lost, decides
 * which version runs. An exit code: it is not this launcher's.
 */
export async function finishUpdate(context: CommandContext): Promise<number | undefined> {
  if (wasCutOff(context.installation.dataDirectory)) {
    const { finishSwitch } = await import("../update/switch.ts");
    const elsewhere = await finishSwitch(context);
    if (elsewhere !== undefined) return elsewhere;
  }
  if (!isDelivery) return undefined;
  const { leaveToReader } = await import("../update/version-programs.ts");
  const { switchSiteOf } = await import("../update/version-programs.ts");
  return await leaveToReader(context, switchSiteOf(context), versionNumber);
}

/** Reports faults that keep nothing from running, and that nobody would look for in a log. */
async function reportWarnings(installation: Installation, output: Output): Promise<void> {
  const { checkConfig } = await import("../doctor/check-config.ts");
  for (const { verdict, says } of checkConfig(installation).findings) {
    if (verdict === "warn") output.row("setup file", "warn", "warning", says);
  }
}

/** Answers those that this call has started. */
async function startSimulators(context: CommandContext): Promise<ProcessSpec[]> {
  const { installation, clock, output } = context;
  const started = await Promise.all(
    simulatorSpecs(installation.dataDirectory).map(async (spec) => {
      const [running] = findProcesses(spec);
      return { spec, running, pid: running ?? (await startSimulator(spec, installation, clock)) };
    }),
  );
  for (const { spec, running, pid } of started) {
    output.row(spec.name, "good", running ? "already running" : "started", `pid ${pid}`);
  }
  return started.filter(({ running }) => running === undefined).map(({ spec }) => spec);
}

function reportStart(
  results: readonly Started[],
  installation: Installation,
  output: Output,
): void {
  const printed = new Set<string>();
  for (const started of results) {
    const { program } = started;
    switch (started.result) {
      case "started":
        output.row(program, "good", "started", `pid ${started.pid}`);
        break;
      case "already-running":
        output.row(program, "good", "already running", `pid ${started.pid}`);
        break;
      case "silent":
        output.row(program, "bad", "not answering", `pid ${started.pid ?? "-"}`);
        output.fault(`${program} has not answered in time; see ${installation.logDirectory}`);
        break;
      case "ended": {
        output.row(program, "bad", "failed", `exit code ${started.exitCode}`);
        // Both read the same setup file: a fault they share is shown once.
        const prefix = new RegExp(`^${program}: `, "gm");
        const lines = started.reason.replace(prefix, "").split("\n");
        const unseen = lines.filter((line) => !printed.has(line));
        const shared = unseen.length < lines.length ? ["  and what stands above already"] : [];
        if (unseen.length > 0) output.fault([...unseen, ...shared].join("\n"));
        for (const line of lines) printed.add(line);
      }
    }
  }
}
