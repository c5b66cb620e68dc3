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
import { askStatus, askStop, programState, stopProgram } from "../processes/programs.ts";
import { closeFolder, finishUpdate, wasCutOff } from "./start.ts";
import { stopHere } from "./stop.ts";

const ANSWER_WITHIN_MS = 3_000;
/** The time that the other program has to print its fault when one has ended. */
const LAST_OUTPUT_MS = 1_000;
/** The pause between two checks for a version that waits. */
const READY_CHECK_MS = 5_000;
/** A program that ends sooner after the start has failed to start. */
const STARTING_MS = 10_000;
const PREFIX_COLUMNS = 10;

type Child = ReturnType<typeof startChild>;

/**
 * Runs both programs as children of this process, for a terminal or a service manager: their output
 * mixed line by line, signals passed on, tp-manager stopped first. Ends when one of them does, with
 * its exit code. Keeping them alive is then the service manager's work. Takes new versions itself,
 * and ends after it: the launcher of the version that is named has to come (docs/updates.md 4.4).
 */
export async function runForeground(context: CommandContext): Promise<number> {
  const { dataDirectory } = context;
  const specs = programSpecs(dataDirectory);
  // Set before anything is started, so that no signal leaves a child running.
  const { promise: signalled, resolve: onSignal } = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT", "SIGBREAK", "SIGHUP"] as const) {
    process.on(signal, () => onSignal());
  }
  const children = await withLaunchLock(context, async () => {
    await finishUpdateFirst(context);
    for (const spec of specs) await refuseSecondCopy(context, spec);
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
  // `launch.sh stop` asks for the same as a signal.
  const asked = stopping !== undefined || deliberateStop(dataDirectory) !== undefined;
  // A fault of one program is often a fault of the other one, which gets the time to print it.
  const all = Promise.all(children.map(({ ended }) => ended));
  const ranMs = context.clock.monotonicMs() - startedMs;
  // On a slow machine the other program starts later.
  const limitMs = ranMs < STARTING_MS ? Math.max(LAST_OUTPUT_MS, ranMs) : LAST_OUTPUT_MS;
  if (!asked) await within(context.clock, "last output", limitMs, all);
  stopAll();
  await stopping;
  const codes = await all;
  // A program that ends without a stop has failed, with any exit code: the service is restarted.
  if (!asked) return first === exitCodes.ok ? exitCodes.unavailable : first;
  return codes.find((code) => code !== exitCodes.ok) ?? exitCodes.ok;
}

/** Resolves when a program has ended, or an update that has ended them is over. */
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
 * Takes each version that waits, as long as the programs run; true if an update has ended them.
 * `onWork` is called when an update begins and when it is over without that.
 */
async function takeVersions(
  context: CommandContext,
  over: AbortSignal,
  onWork: (isOn: boolean) => void,
): Promise<boolean> {
  while (!over.aborted) {
    await sleep(context.clock, "version", READY_CHECK_MS, over).catch(() => undefined);
    if (over.aborted || !existsSync(readyFileOf(context.dataDirectory))) continue;
    onWork(true);
    const { takeReadyHere } = await import("../update/take-version.ts");
    if (await takeReadyHere(context)) return true;
    onWork(false);
  }
  return false;
}

/** Stops what the update has started, which are no children of ours; answers the exit code. */
async function leaveAfterUpdate(context: CommandContext, isAsked: boolean): Promise<number> {
  await withLaunchLock(context, async () => {
    for (const spec of programSpecs(context.dataDirectory)) await stopProgram(spec, context.clock);
  });
  context.output.note("an update was ended: the launcher of the version that is named runs next");
  return isAsked ? exitCodes.ok : exitCodes.unavailable;
}

function isRunning({ process: child }: Child): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Ends an update that was cut off and stops its programs: they have to be children of ours. */
async function finishUpdateFirst(context: CommandContext): Promise<void> {
  const isCutOff = wasCutOff(context.dataDirectory);
  const elsewhere = await finishUpdate(context);
  if (isCutOff || elsewhere !== undefined) await stopHere(context, true);
  if (elsewhere === undefined) return;
  throw new ProgramExit(exitCodes.unavailable, "another version is named: it runs next");
}

async function refuseSecondCopy({ clock }: CommandContext, spec: ProgramSpec): Promise<void> {
  if ((await programState(spec, clock, ANSWER_WITHIN_MS)).state === "stopped") return;
  throw new ProgramExit(
    exitCodes.alreadyRunning,
    `${spec.name} is already running: stop it first (./launch.sh stop)`,
  );
}

function startChild(spec: ProgramSpec) {
  const launch = { ...spec, args: [...spec.args, "--foreground"] };
  const child = spawnProcess(launch, { stdio: ["ignore", "pipe", "pipe"] });
  if (child.stdout) prefixLines(spec.name, child.stdout, process.stdout);
  if (child.stderr) prefixLines(spec.name, child.stderr, process.stderr);
  // "close" comes after the last line of the output.
  const closed = once(child, "close") as Promise<[number | null]>;
  /** The exit code, once the program has ended. */
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
    // Windows knows no SIGTERM for other processes; the message asks for the same. A program that
    // does not answer must not outlive us: its output would go nowhere.
    if (isRunning(one) && process.platform !== "win32") child.kill("SIGTERM");
    else if (isRunning(one)) {
      await askStop(spec, context.clock, ANSWER_WITHIN_MS).catch(() => child.kill());
    }
    await ended;
  }
}

const BEAT_WITHIN_MS = 5_000;
/** The longest start of a program: the migration of a store keeps it from answering. */
const MIGRATION_MS = 300_000;
/** The reports in systemd's time limit, twice as many as sd_watchdog_enabled(3) asks for. */
const BEATS = 4;
const MICROSECONDS = 1_000;

/**
 * Reports to systemd that both programs answer, as often as its unit asks for (docs/design.md 9.5).
 * When a program hangs the report does not come, and systemd restarts the service. Node.js has no
 * sockets of that kind, so systemd's own program sends it. `isAtWork`: an update has the programs
 * stopped.
 */
export async function beatWatchdog(
  context: CommandContext,
  isAtWork: () => boolean,
  over: AbortSignal,
): Promise<void> {
  const limitMs = Number(process.env["WATCHDOG_USEC"]) / MICROSECONDS;
  if (!process.env["NOTIFY_SOCKET"] || !(limitMs > 0)) return;
  const { clock } = context;
  const begunMs = clock.monotonicMs();
  let haveAnswered = false;
  while (!over.aborted) {
    const answer = await doAnswer(context);
    haveAnswered ||= answer;
    const isStarting = !haveAnswered && clock.monotonicMs() - begunMs < MIGRATION_MS;
    if (answer || isStarting || isAtWork()) await beat(context);
    await sleep(clock, "watchdog", limitMs / BEATS, over).catch(() => undefined);
  }
}

async function doAnswer({ dataDirectory, clock }: CommandContext): Promise<boolean> {
  const asked = programSpecs(dataDirectory).map((spec) => askStatus(spec, clock, BEAT_WITHIN_MS));
  const answers = await Promise.allSettled(asked);
  return answers.every(({ status }) => status === "fulfilled");
}

async function beat({ output }: CommandContext): Promise<void> {
  const options = { timeout: BEAT_WITHIN_MS };
  await promisify(execFile)("systemd-notify", ["WATCHDOG=1"], options).catch((error: Error) =>
    output.fault(`systemd-notify: ${error.message}`),
  );
}
