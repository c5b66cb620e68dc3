import { existsSync } from "node:fs";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import { isDelivery, probationMarkOf, underWayFileOf } from "../../shared/version-files.ts";
import { simulatorSpecs, startSimulator } from "../demo/settings.ts";
import type { CommandContext } from "../output.ts";
import { closeDataFolder } from "../processes/data-access.ts";
import { forgetStop } from "../processes/deliberate-stop.ts";
import { forgetFailures } from "../processes/keep-alive-memory.ts";
import { withLaunchLock } from "../processes/locks.ts";
import {
  findProcesses,
  type ProcessSpec,
  programSpecs,
  refuseOtherUser,
} from "../processes/process-table.ts";
import { type Started, startPrograms, stopProcess, stopProgram } from "../processes/programs.ts";
import { stopHere, stopTexts } from "./stop.ts";

export async function start(context: CommandContext): Promise<number> {
  refuseOtherUser(context.dataDirectory);
  return await withLaunchLock(context, () => startHere(context));
}

export async function restart(context: CommandContext): Promise<number> {
  refuseOtherUser(context.dataDirectory);
  return await withLaunchLock(context, async () => {
    const stopped = await stopHere(context);
    return stopped === exitCodes.ok ? await startHere(context) : stopped;
  });
}

/**
 * Starts the programs that do not run, a demo's simulators first, and returns the exit code. If a
 * start fails, whatever this call has started is stopped again. The caller holds the launch lock.
 */
export async function startHere(context: CommandContext): Promise<number> {
  const { dataDirectory, clock, output } = context;
  forgetStop(dataDirectory);
  forgetFailures(openRunDirectory(dataDirectory));
  const elsewhere = await finishUpdate(context);
  if (elsewhere !== undefined) return elsewhere;
  await closeFolder(context);
  const simulators = await startSimulators(context);
  const results = await startPrograms(context);
  reportStart(results, context);
  const failure = results.find(({ exitCode }) => exitCode !== exitCodes.ok);
  if (!failure) {
    await reportWarnings(context);
    return exitCodes.ok;
  }
  const ours = results.filter(({ isOurs }) => isOurs).map(({ program }) => program);
  const programs = programSpecs(dataDirectory).filter(({ name }) => ours.includes(name));
  const stops = [
    ...programs.map((spec) => [spec.name, () => stopProgram(spec, clock)] as const),
    ...simulators.map((spec) => [spec.name, () => stopProcess(spec, clock)] as const),
  ];
  for (const [name, stop] of stops) {
    output.row(name, "warn", stopTexts[await stop()].state, "because the start failed");
  }
  return failure.exitCode;
}

/** Closes the data folder to other users at the first start on Windows; prints why that failed. */
export async function closeFolder({ dataDirectory, output }: CommandContext): Promise<void> {
  const fault = await closeDataFolder(dataDirectory);
  if (fault !== undefined) output.row("data folder", "warn", "warning", fault);
}

export function wasCutOff(dataDirectory: string): boolean {
  return [underWayFileOf, probationMarkOf].some((file) => existsSync(file(dataDirectory)));
}

/**
 * Ends an update that was cut off; if the file `current`, which names the version to run, is lost,
 * writes it again. Must be called before any program is started. Returns an exit code if another
 * version has to run, because only the launcher of that version can start it.
 */
export async function finishUpdate(context: CommandContext): Promise<number | undefined> {
  if (wasCutOff(context.dataDirectory)) {
    const { finishSwitch } = await import("../update/switch.ts");
    const elsewhere = await finishSwitch(context);
    if (elsewhere !== undefined) return elsewhere;
  }
  if (!isDelivery) return undefined;
  const { leaveToReader, switchSiteOf } = await import("../update/versions.ts");
  return await leaveToReader(switchSiteOf(context), versionNumber);
}

/** Prints the warnings about the setup file here, because nobody would look for them in a log. */
async function reportWarnings(context: CommandContext): Promise<void> {
  const { checkConfig } = await import("../doctor/check-config.ts");
  const warnings = checkConfig(context).findings.filter(({ verdict }) => verdict === "warn");
  for (const { values } of warnings) {
    context.output.row("setup file", "warn", "warning", String(values["detail"]));
  }
}

async function startSimulators(context: CommandContext): Promise<ProcessSpec[]> {
  const started = await Promise.all(
    simulatorSpecs(context.dataDirectory).map(async (spec) => {
      const [running] = findProcesses(spec);
      return { spec, running, pid: running ?? (await startSimulator(spec, context)) };
    }),
  );
  for (const { spec, running, pid } of started) {
    context.output.row(spec.name, "good", running ? "already running" : "started", `pid ${pid}`);
  }
  return started.filter(({ running }) => running === undefined).map(({ spec }) => spec);
}

const startTexts = {
  started: ["good", "started"],
  "already-running": ["good", "already running"],
  silent: ["bad", "not answering"],
  ended: ["bad", "failed"],
} as const;

function reportStart(results: readonly Started[], { output, logDirectory }: CommandContext): void {
  const printed = new Set<string>();
  for (const { program, result, pid = "-", exitCode, reason } of results) {
    const hasEnded = result === "ended";
    const [mood, state] = startTexts[result];
    output.row(program, mood, state, hasEnded ? `exit code ${exitCode}` : `pid ${pid}`);
    if (result === "silent") {
      output.fault(`${program} has not answered in time; its log is in ${logDirectory}`);
    }
    if (!hasEnded) continue;
    // Both programs read the same setup file, so a fault that both report is printed once.
    const lines = reason.replace(new RegExp(`^${program}: `, "gm"), "").split("\n");
    const unseen = lines.filter((line) => !printed.has(line));
    const again = lines.filter((line) => line.startsWith(" ") && printed.has(line)).length;
    const shared = again > 0 ? [`  and ${again} of those above`] : [];
    if (unseen.length > 0) output.fault([...unseen, ...shared].join("\n"));
    for (const line of lines) printed.add(line);
  }
}
