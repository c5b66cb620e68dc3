import { existsSync } from "node:fs";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { type Installation, versionNumber } from "../../shared/process/installation.ts";
import { isDelivery, probationMarkOf, underWayFileOf } from "../../shared/version-files.ts";
import { demoParts } from "../demo/demo-parts.ts";
import { startSimulator } from "../demo/simulators.ts";
import type { Mood, Output } from "../output.ts";
import { closeDataFolder } from "../processes/data-access.ts";
import { forgetStop, recordStop } from "../processes/deliberate-stop.ts";
import { forgetTrouble } from "../processes/keep-alive-memory.ts";
import { type Part, type PartName, programParts } from "../processes/part.ts";
import { findProcesses } from "../processes/process-table.ts";
import { READY_WITHIN_MS, type Started, startPrograms } from "../processes/start-programs.ts";
import { type Stopped, stopProcess, stopProgram } from "../processes/stop-program.ts";
import { alone, type Site } from "../site.ts";

const BECAUSE = "because the start failed";

export function start(site: Site): Promise<number> {
  return alone(site, () => startHere(site));
}

export function stop(site: Site): Promise<number> {
  openRunDirectory(site.installation.dataDirectory); // the data folder of a first stop is made
  // Before waiting for the lock: a keep-alive at work leaves the other program alone then.
  recordStop(site.installation.dataDirectory, site.clock.now());
  return alone(site, async () => {
    // Once more, should the launcher we waited for have been a start.
    recordStop(site.installation.dataDirectory, site.clock.now());
    return await stopHere(site);
  });
}

export function restart(site: Site): Promise<number> {
  return alone(site, async () => {
    const stopped = await stopHere(site);
    if (stopped !== exitCodes.ok) return stopped;
    return await startHere(site);
  });
}

/**
 * Starts what does not run, simulators first where there are some. When a program fails, those that
 * this call has started are stopped again. The caller holds the launch lock.
 */
export async function startHere(site: Site): Promise<number> {
  const { installation, clock, output } = site;
  const run = openRunDirectory(installation.dataDirectory);
  forgetStop(installation.dataDirectory);
  forgetTrouble(run);
  const elsewhere = await finishUpdate(site);
  if (elsewhere !== undefined) return elsewhere;
  await closeFolder(site);
  const simulators = await startSimulators(site);
  const results = await startPrograms(installation, clock, READY_WITHIN_MS);
  reportStart(results, installation, output);
  const failure = results.find(({ result }) => result === "ended" || result === "silent");
  if (!failure) {
    await reportWarnings(installation, output);
    return exitCodes.ok;
  }
  await stopStarted(site, results);
  for (const part of simulators) {
    const stopped = await stopProcess(part, clock);
    output.row(part.name, "warn", stoppedInWords[stopped].state, BECAUSE);
  }
  return failure.result === "ended" ? failure.exitCode : exitCodes.unavailable;
}

/** On Windows, at the first start; what keeps it from being done keeps nothing from running. */
export async function closeFolder({ installation, output }: Site): Promise<void> {
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
export async function finishUpdate(site: Site): Promise<number | undefined> {
  if (wasCutOff(site.installation.dataDirectory)) {
    const { finishSwitch } = await import("../update/finish.ts");
    const elsewhere = await finishSwitch(site);
    if (elsewhere !== undefined) return elsewhere;
  }
  if (!isDelivery) return undefined;
  const { leaveToReader } = await import("../update/stores-reader.ts");
  const { placeOf } = await import("../update/version-programs.ts");
  return await leaveToReader(site, placeOf(site), versionNumber);
}

/** Troubles that keep nothing from running, and that nobody would look for in a log. */
async function reportWarnings(installation: Installation, output: Output): Promise<void> {
  const { checkConfig } = await import("../doctor/check-config.ts");
  for (const { verdict, says } of checkConfig(installation).findings) {
    if (verdict === "warn") output.row("setup file", "warn", "warning", says);
  }
}

/** Answers those that this call has started. */
async function startSimulators({ installation, clock, output }: Site): Promise<Part[]> {
  const started = await Promise.all(
    demoParts(installation.dataDirectory).map(async (part) => {
      const [running] = findProcesses(part);
      return { part, running, pid: running ?? (await startSimulator(part, installation, clock)) };
    }),
  );
  for (const { part, running, pid } of started) {
    output.row(part.name, "good", running ? "already running" : "started", `pid ${pid}`);
  }
  return started.filter(({ running }) => running === undefined).map(({ part }) => part);
}

function reportStart(
  results: readonly Started[],
  installation: Installation,
  output: Output,
): void {
  const shown = new Set<string>();
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
        const lines = started.reason.split("\n").map((line) => unprefixed(line, program));
        const unseen = lines.filter((line) => !shown.has(line));
        const shared = unseen.length < lines.length ? ["  and what stands above already"] : [];
        if (unseen.length > 0) output.fault([...unseen, ...shared].join("\n"));
        for (const line of lines) shown.add(line);
      }
    }
  }
}

function unprefixed(line: string, program: PartName): string {
  return line.startsWith(`${program}: `) ? line.slice(program.length + 2) : line;
}

async function stopStarted(site: Site, results: readonly Started[]): Promise<void> {
  const { installation, clock, output } = site;
  const run = openRunDirectory(installation.dataDirectory);
  for (const part of programParts(installation.dataDirectory)) {
    const started = results.find(({ program }) => program === part.name);
    const ours = started?.result === "started" || (started?.result === "silent" && started.ours);
    if (!ours) continue;
    const stopped = await stopProgram(part, run, clock, () => undefined);
    output.row(part.name, "warn", stoppedInWords[stopped].state, BECAUSE);
  }
}

interface StoppedWords {
  readonly mood: Mood;
  readonly state: string;
  readonly details: string;
}

const stoppedInWords: Record<Stopped, StoppedWords> = {
  stopped: { mood: "good", state: "stopped", details: "" },
  killed: { mood: "warn", state: "killed", details: "it did not end by itself" },
  "was-not-running": { mood: "plain", state: "was not running", details: "" },
  "still-running": {
    mood: "bad",
    state: "still running",
    details: "it cannot be ended: is it another user's process?",
  },
};

/**
 * Stops tp-manager, then the supervisor, then the simulators. The caller holds the launch lock.
 * `quiet`: says nothing of what did not run.
 */
export async function stopHere(site: Site, quiet = false): Promise<number> {
  const { installation, clock, output } = site;
  const run = openRunDirectory(installation.dataDirectory);
  const results: Stopped[] = [];
  const report = (name: PartName, stopped: Stopped): void => {
    const { mood, state, details } = stoppedInWords[stopped];
    if (!quiet || stopped !== "was-not-running") output.row(name, mood, state, details);
    results.push(stopped);
  };
  for (const part of programParts(installation.dataDirectory)) {
    const onSlow = (): void =>
      output.row(part.name, "plain", "is stopping", "what is running is brought to its end");
    report(part.name, await stopProgram(part, run, clock, onSlow));
  }
  const simulators = demoParts(installation.dataDirectory);
  const stopped = await Promise.all(simulators.map((part) => stopProcess(part, clock)));
  for (const [i, part] of simulators.entries()) report(part.name, stopped[i] ?? "stopped");
  return results.includes("still-running") ? exitCodes.internal : exitCodes.ok;
}
