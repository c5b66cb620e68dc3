import { type ChildProcess, execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
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
const LAST_OUTPUT_MS = 1_000;
const READY_CHECK_MS = 5_000;
/** A program that ends sooner has ended while it started. */
const STARTING_MS = 10_000;
const PREFIX_COLUMNS = 10;

interface Child {
  readonly spec: ProgramSpec;
  readonly process: ChildProcess;
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number>;
}

/**
 * Runs both programs as children of this process, for a terminal or a service manager: their output
 * mixed line by line, signals passed on, tp-manager stopped first. Ends when one of them does, with
 * its exit code. Keeping them alive is then the service manager's work. Takes new versions itself,
 * and ends after it: the launcher of the version that is named has to come (docs/updates.md 4.4).
 */
export async function runForeground(context: CommandContext): Promise<number> {
  const { dataDirectory } = context.installation;
  const specs = programSpecs(dataDirectory);
  // Before anything is started: no signal may leave a child running.
  const { promise: signalled, resolve: onSignal } = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT", "SIGBREAK", "SIGHUP"] as const) {
    process.on(signal, () => onSignal());
  }
  const children = await withLaunchLock(context, async () => {
    await finishUpdateFirst(context);
    await refuseSecondCopy(context, specs);
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
  // `launch.sh stop` from elsewhere is as good as a signal.
  const asked = stopping !== undefined || deliberateStop(dataDirectory) !== undefined;
  // A fault of one program is often a fault of the other, which gets the time to print its own.
  const all = Promise.all(children.map(({ ended }) => ended));
  const ranMs = context.clock.monotonicMs() - startedMs;
  if (!asked) await within(context.clock, "last output", lastOutputMs(ranMs), all);
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
  const work = new UpdateWork({ ...context, ownProgramsRun: isUp }, ended.signal);
  const watched = beatWatchdog(context, () => work.isOn, left.signal);
  try {
    const first = await Promise.race(children.map((child) => child.ended));
    ended.abort();
    return { first, hasSwitched: await work.hasSwitched };
  } finally {
    ended.abort();
    left.abort();
    await watched;
  }
}

/** Looks for a version that waits, as long as the programs run, and takes it. */
class UpdateWork {
  /** Whether a version is being taken now. */
  isOn = false;
  /** True if an update has ended the programs. */
  readonly hasSwitched: Promise<boolean>;

  constructor(context: CommandContext, over: AbortSignal) {
    this.hasSwitched = this.#run(context, over);
  }

  async #run(context: CommandContext, over: AbortSignal): Promise<boolean> {
    while (!over.aborted) {
      await sleep(context.clock, "version", READY_CHECK_MS, over).catch(() => undefined);
      if (over.aborted || !existsSync(readyFileOf(context.installation.dataDirectory))) continue;
      this.isOn = true;
      const { takeReadyHere } = await import("../update/take-version.ts");
      if (await takeReadyHere(context)) return true;
      this.isOn = false;
    }
    return false;
  }
}

/** The programs that the update has started are no children of ours. */
async function leaveAfterUpdate(context: CommandContext, isAsked: boolean): Promise<number> {
  const { dataDirectory } = context.installation;
  await withLaunchLock(context, async () => {
    for (const spec of programSpecs(dataDirectory)) {
      await stopProgram(spec, context.clock);
    }
  });
  context.output.note("an update was ended: the launcher of the version that is named runs next");
  return isAsked ? exitCodes.ok : exitCodes.unavailable;
}

function isRunning({ process: child }: Child): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** How long the other program may take to print its fault: on a slow machine it starts later. */
function lastOutputMs(ranMs: number): number {
  return ranMs < STARTING_MS ? Math.max(LAST_OUTPUT_MS, ranMs) : LAST_OUTPUT_MS;
}

/** An update that was cut off leaves programs of its own: here they have to be children. */
async function finishUpdateFirst(context: CommandContext): Promise<void> {
  const isCutOff = wasCutOff(context.installation.dataDirectory);
  const elsewhere = await finishUpdate(context);
  if (isCutOff || elsewhere !== undefined) await stopHere(context, true);
  if (elsewhere === undefined) return;
  throw new ProgramExit(exitCodes.unavailable, "another version is named: it runs next");
}

async function refuseSecondCopy(
  context: CommandContext,
  specs: readonly ProgramSpec[],
): Promise<void> {
  for (const spec of specs) {
    const { state } = await programState(spec, context.clock, ANSWER_WITHIN_MS);
    if (state === "stopped") continue;
    throw new ProgramExit(
      exitCodes.alreadyRunning,
      `${spec.name} is already running: stop it first (./launch.sh stop)`,
    );
  }
}

function startChild(spec: ProgramSpec): Child {
  const launch = { ...spec, args: [...spec.args, "--foreground"] };
  const child = spawnProcess(launch, { stdio: ["ignore", "pipe", "pipe"] });
  if (child.stdout) prefixLines(spec.name, child.stdout, process.stdout);
  if (child.stderr) prefixLines(spec.name, child.stderr, process.stderr);
  return {
    spec,
    process: child,
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      // "close": after the last line of its output.
      child.once("close", (code) => resolve(code ?? exitCodes.internal));
    }),
  };
}

function prefixLines(name: string, from: NodeJS.ReadableStream, to: NodeJS.WritableStream): void {
  createInterface({ input: from }).on("line", (line) => {
    to.write(`${name.padEnd(PREFIX_COLUMNS)} | ${line}\n`);
  });
}

async function stopInOrder(children: readonly Child[], context: CommandContext): Promise<void> {
  for (const one of children) {
    const { spec, process: child, ended } = one;
    if (isRunning(one)) {
      // Windows knows no SIGTERM for other processes; the message asks for the same.
      if (process.platform !== "win32") child.kill("SIGTERM");
      // A program that does not answer must not outlive us: its output would go nowhere.
      else await askStop(spec, context.clock, ANSWER_WITHIN_MS).catch(() => child.kill());
    }
    await ended;
  }
}

const BEAT_WITHIN_MS = 5_000;
/** A store that is brought to a new form keeps a program from answering at its start. */
const MIGRATION_MS = 300_000;
/** sd_watchdog_enabled(3) asks for two beats in the time; asking takes a while itself. */
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

async function doAnswer({ installation, clock }: CommandContext): Promise<boolean> {
  const asked = programSpecs(installation.dataDirectory).map((spec) =>
    askStatus(spec, clock, BEAT_WITHIN_MS),
  );
  const answers = await Promise.allSettled(asked);
  return answers.every(({ status }) => status === "fulfilled");
}

function beat({ output }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    execFile("systemd-notify", ["WATCHDOG=1"], { timeout: BEAT_WITHIN_MS }, (error) => {
      if (error) output.fault(`systemd-notify: ${error.message}`);
      resolve();
    });
  });
}
