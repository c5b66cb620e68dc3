import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { inspect, parseArgs } from "node:util";
import { type Config, loadConfig } from "../config/config.ts";
import type { ConfigPart } from "../config/config-field.ts";
import type { Program } from "../ipc/contract.ts";
import { openRunDirectory } from "../ipc/run-directory.ts";
import { acquireProcessLock } from "../process/exclusive-lock.ts";
import { exitCodes, ProgramExit } from "../process/exit-codes.ts";
import { createLogger, type RootLogger } from "../process/logger.ts";
import { announcePresence } from "../process/presence.ts";
import { keepHeapSmall } from "../process/small-heap.ts";
import { storageFault } from "../store/storage-fault.ts";
import { type Clock, systemClock } from "../time.ts";
import { defaultDataDirectory } from "../version-files.ts";
import { type Installation, installationAt } from "./installation.ts";
import { beginRun, type StartedAfter } from "./last-run.ts";

export function logFileOf({ logDirectory }: Installation, program: Program): string {
  return join(logDirectory, `${program}.log`);
}

export interface ProgramContext {
  readonly config: Config;
  readonly installation: Installation;
  readonly runDirectory: string;
  readonly log: RootLogger;
  readonly clock: Clock;
  readonly startedAfter: StartedAfter;
  /** Registers a part of the program to close at a stop; the part opened last is closed first. */
  onStop(name: string, close: () => void | Promise<void>): void;
  /** Begins the orderly stop; later calls change nothing. */
  requestStop(why: string): void;
}

declare global {
  interface ImportMeta {
    /** Keeps the compiled code of a bundled program (scripts/delivery/compiled-program.ts). */
    readonly keepCompiled?: () => void;
  }
}

interface ProgramExtras {
  /** The section of the setup file with the settings of the terminal drivers. */
  readonly added?: ConfigPart;
  /** Opens and migrates the database, checks that it is not damaged, and closes it. */
  readonly checkStore?: (installation: Installation) => void;
}

/**
 * Runs one of the two programs: arguments, configuration, lock, logger, `start`, signals, ordered
 * stop, exit code (docs/design.md 9.4). A configuration fault ends with 78 and its reason on
 * standard error and in the log; an unexpected error ends with 70 after it has been logged. A stop
 * that takes longer than `stopDeadlineMs` is cut: the next start recovers. With `--check` the
 * program only checks the setup file and the database. It migrates the database, so the data folder
 * must hold copies (docs/updates.md 4.1).
 */
export async function runProgram(
  program: Program,
  stopDeadlineMs: number,
  start: (context: ProgramContext) => Promise<void>,
  { added, checkStore = () => {} }: ProgramExtras = {},
): Promise<void> {
  let log: RootLogger | undefined;
  let installation: Installation | undefined;
  try {
    const { data, foreground, check } = readArguments(program);
    installation = installationAt(data);
    log = openLog(program, installation, foreground);
    const { config, warnings } = loadConfig(installation.configFile, program, added);
    log.level = config.LOG_LEVEL;
    for (const warning of warnings) log.warn(warning);
    if (check) {
      checkStore(installation);
      log.info("this version can read the setup file and the database");
      process.exit(exitCodes.ok);
    }
    const given = { config, installation, log, clock: systemClock };
    await runUntilStopped(program, stopDeadlineMs, given, start);
    process.exit(exitCodes.ok);
  } catch (fault) {
    const error = storageExit(fault, installation) ?? fault;
    const known = error instanceof ProgramExit;
    if (fault instanceof ProgramExit) log?.fatal(fault.message);
    else log?.fatal({ err: fault }, known ? error.message : "stopped by a fault");
    process.stderr.write(`${program}: ${known ? error.message : inspect(error)}\n`);
    process.exit(known ? error.exitCode : exitCodes.internal);
  }
}

/** Returns the exit code and reason for a full or unwritable disk; undefined: another fault. */
function storageExit(cause: unknown, installation?: Installation): ProgramExit | undefined {
  const text = installation && storageFault(cause, installation.dataDirectory);
  return text === undefined ? undefined : new ProgramExit(exitCodes.unavailable, text, { cause });
}

function readArguments(program: Program) {
  try {
    const { values } = parseArgs({
      options: {
        data: { type: "string", default: defaultDataDirectory },
        foreground: { type: "boolean", default: false },
        check: { type: "boolean", default: false },
      },
    });
    return values;
  } catch (error) {
    throw new ProgramExit(
      exitCodes.usage,
      `${(error as Error).message}\nusage: ${program} [--data DIR] [--foreground | --check]`,
    );
  }
}

function openLog(program: Program, installation: Installation, foreground: boolean): RootLogger {
  // A closed standard output must not end a running payment; the log file has every line.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  return createLogger({
    program,
    level: "debug",
    file: logFileOf(installation, program),
    ...(foreground ? { stream: process.stdout } : {}),
  });
}

async function runUntilStopped(
  program: Program,
  stopDeadlineMs: number,
  given: Omit<ProgramContext, "runDirectory" | "startedAfter" | "onStop" | "requestStop">,
  start: (context: ProgramContext) => Promise<void>,
): Promise<void> {
  const { log, clock, installation } = given;
  const runDirectory = openRunDirectory(installation.dataDirectory);
  if (process.platform !== "linux") announcePresence(join(runDirectory, program));
  const lock = acquireProcessLock(runDirectory, program);
  const { startedAfter, end } = beginRun(runDirectory, program, clock);
  const parts: Part[] = [];
  const { promise: stopRequested, resolve: stop } = Promise.withResolvers<void>();
  const { promise: broken, reject: fail } = Promise.withResolvers<never>();
  let stopping = false;
  // The time limit counts from the request to stop, so that a start that hangs ends as well.
  const requestStop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    log.info(`stopping: ${why}`);
    clock.startTimer("stop deadline", stopDeadlineMs, () => {
      log.error(`the program has not stopped within ${stopDeadlineMs} ms and is ended now`);
      process.exit(exitCodes.internal);
    });
    stop();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGBREAK"] as const) process.on(signal, requestStop);
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
  process.on("SIGHUP", () => log.info("SIGHUP was ignored: the program needs no terminal window"));
  const context: ProgramContext = {
    ...given,
    runDirectory,
    startedAfter,
    onStop: (...part) => void parts.push(part),
    requestStop,
  };
  await Promise.race([start(context), broken]);
  if (!stopping) log.info({ pid: process.pid, startedAfter }, `${program} is ready`);
  // Node.js writes its compile cache only at an orderly end; written now, it survives a power cut.
  flushCompileCache();
  import.meta.keepCompiled?.();
  keepHeapSmall();
  await Promise.race([stopRequested, broken]);
  const failed = await Promise.race([closeAll(parts, log), broken]);
  end();
  lock.release();
  if (failed.length > 0) {
    throw new ProgramExit(exitCodes.internal, `stopped, but failed to close ${failed.join(", ")}`);
  }
  log.info(`${program} has stopped`);
}

type Part = Parameters<ProgramContext["onStop"]>;

/** Closes all parts, the last one first, even if one fails. Returns the names of failed parts. */
async function closeAll(parts: Part[], log: RootLogger): Promise<string[]> {
  const failed: string[] = [];
  for (let part = parts.pop(); part; part = parts.pop()) {
    const [name, close] = part;
    log.debug(`closing ${name}`);
    try {
      await close();
    } catch (error) {
      log.error({ err: error }, `a part of the program failed to close: ${name}`);
      failed.push(name);
    }
  }
  return failed;
}
