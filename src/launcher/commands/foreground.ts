import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { sleep, within } from "../../shared/time.ts";
import { readyFileOf } from "../../shared/version-files.ts";
import type { CommandContext } from "../output.ts";
import { deliberateStop, forgetStop } from "../processes/deliberate-stop.ts";
import { spawnProcess } from "../processes/launch-process.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { type ProgramSpec, programSpecs } from "../processes/process-table.ts";
import {
  askStatus,
  askStop,
  MIGRATION_MS,
  programState,
  stopProgram,
} from "../processes/programs.ts";
import { closeFolder, finishUpdate, wasCutOff } from "./start.ts";
import { stopHere } from "./stop.ts";

const ANSWER_WITHIN_MS = 3_000;
/** How long a program may take to print its fault after the other program has ended. */
const LAST_OUTPUT_MS = 1_000;
const READY_CHECK_MS = 5_000;
/** A program that ends within this time after its start counts as one that could not start. */
const STARTING_MS = 10_000;
const PREFIX_COLUMNS = 10;

type Child = ReturnType<typeof startChild>;

/**
 * Runs both programs as children of this process, for a terminal or a service manager, and returns
 * an exit code when a program ends; a service manager then starts the launcher again. Prints the
 * output of both programs line by line, and stops tp-manager first. After an update this launcher
 * ends, because the launcher of the new version has to run (docs/updates.md 4.4).
 */
export async function runForeground(context: CommandContext): Promise<number> {
  const { dataDirectory } = context;
  const specs = programSpecs(dataDirectory);
  // Signals are caught before a program is started, so that no signal leaves a child running.
  const { promise: signalled, resolve: onSignal } = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT", "SIGBREAK", "SIGHUP"] as const) {
    process.on(signal, () => onSignal());
  }
  const children = await withLaunchLock(context, async () => {
    await finishUpdateFirst(context);
    for (const spec of specs) {
      const { state } = await programState(spec, context.clock, ANSWER_WITHIN_MS);
      const why = `${spec.name} is already running: stop it first (./launch.sh stop)`;
      if (state !== "stopped") throw new ProgramExit(exitCodes.alreadyRunning, why);
    }
    forgetStop(dataDirectory);
    await closeFolder(context);
    return specs.map(startChild);
  });
  const startedMs = context.clock.monotonicMs();
  let stopping: Promise<void> | undefined;
  const stopAll = (): void => {
    stopping ??= stopInOrder(children, context);
  };
  void signalled.then(stopAll);
  const isUp = (): boolean => stopping === undefined && children.every(isRunning);
  const { first, hasSwitched } = await untilOneEnds(context, children, isUp);
  if (hasSwitched) return await leaveAfterUpdate(context, stopping !== undefined);
  // `launch.sh stop` records a stop, which has the same effect as a stop signal to this process.
  const asked = stopping !== undefined || deliberateStop(dataDirectory) !== undefined;
  // Both programs often have the same fault, so the program that still runs gets time to print it.
  const all = Promise.all(children.map(({ ended }) => ended));
  const ranMs = context.clock.monotonicMs() - startedMs;
  // On a slow machine a start takes longer to fail, so the limit is at least the run time so far.
  const isFailedStart = first === exitCodes.configuration || ranMs < STARTING_MS;
  const limitMs = isFailedStart ? Math.max(LAST_OUTPUT_MS, ranMs) : LAST_OUTPUT_MS;
  if (!asked) await within(context.clock, "last output", limitMs, all);
  stopAll();
  await stopping;
  const codes = await all;
  // Without a stop even exit code 0 is a failure: the service manager starts the launcher again.
  if (!asked) return first === exitCodes.ok ? exitCodes.unavailable : first;
  return codes.find((code) => code !== exitCodes.ok) ?? exitCodes.ok;
}

/** Resolves when a program has ended; if an update ended it, when that update is over. */
async function untilOneEnds(
  context: CommandContext,
  children: readonly Child[],
  isUp: () => boolean,
) {
  const [ended, left] = [new AbortController(), new AbortController()];
  let isUpdating = false;
  const switched = takeVersions({ ...context, ownProgramsRun: isUp }, ended.signal, (isOn) => {
    isUpdating = isOn;
  });
  const watched = beatWatchdog(context, () => isUpdating, left.signal);
  try {
    const first = await Promise.race(children.map((child) => child.ended));
    ended.abort();
    return { first, hasSwitched: await switched };
  } finally {
    ended.abort();
    left.abort();
    await watched;
  }
}

/**
 * Installs each new version that is ready; returns true when an installation ended the programs.
 * Calls `onWork` with true when an update begins, with false when it left the programs running. A
 * fault that stays the same is printed once.
 */
export async function takeVersions(
  context: CommandContext,
  over: AbortSignal,
  onWork: (isOn: boolean) => void,
): Promise<boolean> {
  let lastFault: string | undefined;
  while (!over.aborted) {
    await sleep(context.clock, "version", READY_CHECK_MS, over).catch(() => undefined);
    if (over.aborted || !existsSync(readyFileOf(context.dataDirectory))) {
      lastFault = undefined;
      continue;
    }
    onWork(true);
    const { takeReadyHere } = await import("../update/take-version.ts");
    const { hasSwitched, fault } = await takeReadyHere(context);
    if (fault !== undefined && fault !== lastFault) context.output.fault(fault);
    lastFault = fault;
    if (hasSwitched) return true;
    onWork(false);
  }
  return false;
}

/** Stops the programs that the update has started, because they are no children of this process. */
async function leaveAfterUpdate(context: CommandContext, isAsked: boolean): Promise<number> {
  await withLaunchLock(context, async () => {
    for (const spec of programSpecs(context.dataDirectory)) await stopProgram(spec, context.clock);
  });
  context.output.note("the update has ended; the launcher of the installed version runs next");
  return isAsked ? exitCodes.ok : exitCodes.unavailable;
}

function isRunning({ process: child }: Child): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Ends an update that was cut off, and stops the programs that are no children of this process. */
async function finishUpdateFirst(context: CommandContext): Promise<void> {
  const isCutOff = wasCutOff(context.dataDirectory);
  const elsewhere = await finishUpdate(context);
  if (isCutOff || elsewhere !== undefined) await stopHere(context, true);
  if (elsewhere === undefined) return;
  throw new ProgramExit(exitCodes.unavailable, "another version was installed and runs next");
}

function startChild(spec: ProgramSpec) {
  const launch = { ...spec, args: [...spec.args, "--foreground"] };
  const child = spawnProcess(launch, { stdio: ["ignore", "pipe", "pipe"] });
  if (child.stdout) prefixLines(spec.name, child.stdout, process.stdout);
  if (child.stderr) prefixLines(spec.name, child.stderr, process.stderr);
  // The event "close" comes after the last line of the output.
  const closed = once(child, "close") as Promise<[number | null]>;
  const ended = closed.then(([code]): number => code ?? exitCodes.internal);
  return { spec, process: child, ended };
}

function prefixLines(name: string, from: NodeJS.ReadableStream, to: NodeJS.WritableStream): void {
  createInterface({ input: from }).on("line", (line) => {
    to.write(`${name.padEnd(PREFIX_COLUMNS)} | ${line}\n`);
  });
}

async function stopInOrder(children: readonly Child[], context: CommandContext): Promise<void> {
  for (const one of children) {
    const { spec, process: child, ended } = one;
    // Windows has no SIGTERM for other processes, so a message asks the program to stop. A program
    // that does not answer is killed, because its output is lost when this process has ended.
    if (isRunning(one) && process.platform !== "win32") child.kill("SIGTERM");
    else if (isRunning(one)) {
      await askStop(spec, context.clock, ANSWER_WITHIN_MS).catch(() => child.kill());
    }
    await ended;
  }
}

const BEAT_WITHIN_MS = 5_000;
/** The number of reports in one watchdog interval; sd_watchdog_enabled(3) recommends two. */
const BEATS = 4;
const MICROSECONDS = 1_000;

/**
 * Reports to systemd that both programs answer, as often as the unit demands (docs/design.md 9.5).
 * While a program hangs, no report is sent, and systemd restarts the service. The tool
 * systemd-notify sends the report, because Node.js has no Unix datagram sockets. `isAtWork`:
 * whether an update has stopped the programs.
 */
export async function beatWatchdog(
  context: CommandContext,
  isAtWork: () => boolean,
  over: AbortSignal,
): Promise<void> {
  const limitMs = Number(process.env["WATCHDOG_USEC"]) / MICROSECONDS;
  if (!process.env["NOTIFY_SOCKET"] || !(limitMs > 0)) return;
  const { clock, output } = context;
  const begunMs = clock.monotonicMs();
  let haveAnswered = false;
  while (!over.aborted) {
    const answer = await doAnswer(context);
    haveAnswered ||= answer;
    const isStarting = !haveAnswered && clock.monotonicMs() - begunMs < MIGRATION_MS;
    if (answer || isStarting || isAtWork()) {
      const options = { timeout: BEAT_WITHIN_MS };
      const beat = promisify(execFile)("systemd-notify", ["WATCHDOG=1"], options);
      await beat.catch((error: Error) => output.fault(`systemd-notify: ${error.message}`));
    }
    await sleep(clock, "watchdog", limitMs / BEATS, over).catch(() => undefined);
  }
}

async function doAnswer({ dataDirectory, clock }: CommandContext): Promise<boolean> {
  const asked = programSpecs(dataDirectory).map((spec) => askStatus(spec, clock, BEAT_WITHIN_MS));
  const answers = await Promise.allSettled(asked);
  return answers.every(({ status }) => status === "fulfilled");
}
