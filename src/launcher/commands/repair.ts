import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { type Installation, installationAt } from "../../shared/process/installation.ts";
import { isFull, storageFault } from "../../shared/store/storage-fault.ts";
import { type Clock, systemClock } from "../../shared/time.ts";
import { isDelivery, readyFileOf } from "../../shared/version-files.ts";
import { createOutput, duration, goOnWithoutReader } from "../output.ts";
import { closeDataFolder } from "../processes/data-access.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import {
  failed,
  isCrashLoop,
  isPaused,
  type KeepAliveMemory,
  kindWithoutCode,
  noTrouble,
  pauseMs,
  readMemory,
  STABLE_MS,
  type Trouble,
  writeMemory,
} from "../processes/keep-alive-memory.ts";
import { tryLaunchLock } from "../processes/launch-lock.ts";
import { type ProgramPart, programParts } from "../processes/part.ts";
import { probe } from "../processes/probe.ts";
import { findProcesses } from "../processes/process-table.ts";
import { READY_WITHIN_MS, startProgram } from "../processes/start-programs.ts";
import { stopProcess } from "../processes/stop-program.ts";
import { finishUpdate } from "./operate.ts";

/** Looks in a row without an answer after which a process counts as hung. */
const MISSED_MAX = 2;
const LOG_BYTES_MAX = 1024 * 1024;

interface Outcome {
  /** undefined: nothing is left to remember. */
  readonly trouble: Trouble | undefined;
  readonly exitCode: number;
}

/**
 * Relaunches what is dead and replaces what is hung, with a growing pause after repeated failures.
 * A launcher that comes while another one is at work leaves the repair to that one. Answers the
 * exit code.
 */
export async function repair(dataDirectory: string, answerWithinMs: number): Promise<number> {
  goOnWithoutReader();
  try {
    return await repairAlone(dataDirectory, answerWithinMs);
  } catch (error) {
    const storage = storageFault(error, dataDirectory);
    process.stderr.write(`keep-alive: ${storage ?? (error as Error).stack}\n`);
    return storage === undefined ? exitCodes.internal : exitCodes.unavailable;
  }
}

async function repairAlone(dataDirectory: string, answerWithinMs: number): Promise<number> {
  const lock = tryLaunchLock(dataDirectory);
  if (!lock) return exitCodes.ok;
  try {
    // Looked at again: both may have changed before we held the lock.
    if (deliberateStop(dataDirectory) !== undefined) return exitCodes.ok;
    const elsewhere = await finishUpdate({
      installation: installationAt(dataDirectory),
      clock: systemClock,
      output: createOutput(),
    });
    if (elsewhere !== undefined) return elsewhere;
    return await repairAndUpdate(dataDirectory, answerWithinMs);
  } finally {
    lock.release();
  }
}

/** A version that has just come and crashes goes back; one that is ready is taken. */
async function repairAndUpdate(dataDirectory: string, answerWithinMs: number): Promise<number> {
  const installation = installationAt(dataDirectory);
  const round = new Round(installation, systemClock, answerWithinMs);
  const exitCode = await round.run();
  if (isDelivery && round.crashing !== undefined) {
    const { goBackFromCrashes } = await import("../update/back.ts");
    const site = { installation, clock: systemClock, output: createOutput() };
    if (await goBackFromCrashes(site, round.crashing)) return exitCodes.ok;
  }
  if (exitCode === exitCodes.ok && existsSync(readyFileOf(dataDirectory))) {
    const { takeReadyBeside } = await import("../update/ready.ts");
    await takeReadyBeside(installation, systemClock);
  }
  return exitCode;
}

class Round {
  readonly #installation: Installation;
  readonly #clock: Clock;
  readonly #answerWithinMs: number;
  readonly #run: string;
  #unlogged = false;
  #closing: Promise<void> | undefined;
  /** A program that ends or hangs again and again by its own fault, in words. */
  crashing: string | undefined;

  constructor(installation: Installation, clock: Clock, answerWithinMs: number) {
    this.#installation = installation;
    this.#clock = clock;
    this.#answerWithinMs = answerWithinMs;
    this.#run = openRunDirectory(installation.dataDirectory);
  }

  async run(): Promise<number> {
    const memory = readMemory(this.#run, {
      bootMs: Math.round(this.#clock.now() - uptime() * 1_000),
      configMs: modifiedMs(this.#installation.configFile),
    });
    const parts = programParts(this.#installation.dataDirectory);
    const outcomes = await Promise.all(
      parts.map(async (part) => ({
        name: part.name,
        ...(await this.#look(part, memory.programs[part.name] ?? noTrouble)),
      })),
    );
    for (const { name, trouble } of outcomes) {
      // Also at a look without a new failure: a payment may have kept the version from going back.
      if (trouble && isCrashLoop(trouble)) {
        this.crashing = `${name} failed ${trouble.failures} times (${trouble.kind})`;
      }
      if (trouble) memory.programs[name] = trouble;
      else delete memory.programs[name];
    }
    this.#keep(memory);
    return outcomes.find(({ exitCode }) => exitCode !== exitCodes.ok)?.exitCode ?? exitCodes.ok;
  }

  /** A full disk takes the pauses away, but not the looks. */
  #keep(memory: KeepAliveMemory): void {
    try {
      writeMemory(this.#run, memory);
    } catch (error) {
      this.#tell(
        storageFault(error, this.#installation.dataDirectory) ??
          `not kept: ${(error as Error).message}`,
      );
    }
  }

  async #look(part: ProgramPart, before: Trouble): Promise<Outcome> {
    const nowMs = this.#clock.now();
    const result = await probe(this.#run, part.name, this.#answerWithinMs);
    if (result === "answers") {
      const stable = Math.abs(nowMs - before.launchedMs) > STABLE_MS;
      return { trouble: stable ? undefined : { ...before, missed: 0 }, exitCode: exitCodes.ok };
    }
    if (findProcesses(part).length > 0) return await this.#silent(part, before);
    const diedYoung = before.launchedMs > 0 && nowMs - before.launchedMs < STABLE_MS;
    const trouble = diedYoung ? failed(before, this.#kind("died"), nowMs) : before;
    return await this.#launch(part, trouble, "was not running");
  }

  /** A process is there and does not answer: starting, stopping, or hung. */
  async #silent(part: ProgramPart, before: Trouble): Promise<Outcome> {
    const missed = before.missed + 1;
    if (missed < MISSED_MAX) {
      this.#tell(`${part.name} does not answer; replaced when it does not at the next look either`);
      return { trouble: { ...before, missed }, exitCode: exitCodes.unavailable };
    }
    const stopped = await stopProcess(part, this.#clock);
    if (stopped === "still-running") {
      this.#tell(`${part.name} is hung and cannot be ended; is it another user's process?`);
      return { trouble: { ...before, missed }, exitCode: exitCodes.unavailable };
    }
    const trouble = failed(before, this.#kind("hung"), this.#clock.now());
    return await this.#launch(part, trouble, `was hung (${missed} looks without an answer)`);
  }

  /** Once, also when both programs are launched. */
  #closeFolder(): Promise<void> {
    this.#closing ??= closeDataFolder(this.#installation).then((fault) => {
      if (fault !== undefined) this.#tell(fault);
    });
    return this.#closing;
  }

  #kind(kind: Parameters<typeof kindWithoutCode>[0]): string {
    return kindWithoutCode(kind, isFull(this.#installation.dataDirectory));
  }

  async #launch(part: ProgramPart, before: Trouble, why: string): Promise<Outcome> {
    if (isPaused(before, this.#clock.now())) {
      return { trouble: before, exitCode: exitCodes.unavailable };
    }
    await this.#closeFolder();
    const started = await startProgram(part, this.#installation, this.#clock, READY_WITHIN_MS);
    const nowMs = this.#clock.now();
    switch (started.result) {
      case "started":
      case "already-running":
        this.#tell(`${part.name} ${why}: relaunched, pid ${started.pid}`);
        return {
          trouble: { ...before, missed: 0, launchedMs: nowMs },
          exitCode: exitCodes.ok,
        };
      case "silent":
        this.#tell(`${part.name} ${why}: relaunched, but does not answer`);
        return {
          trouble: failed(before, this.#kind("silent"), nowMs),
          exitCode: exitCodes.unavailable,
        };
      case "ended": {
        const trouble = failed(before, `exit ${started.exitCode}`, nowMs);
        const pause = pauseMs(trouble.kind, trouble.failures);
        const next = pause === 0 ? "at the next look" : `in ${duration(pause)}`;
        this.#tell(
          `${part.name} ${why}; its launch failed with code ${started.exitCode}` +
            ` (${trouble.failures} in a row), tried again ${next}:\n${started.reason}`,
        );
        return { trouble, exitCode: started.exitCode };
      }
    }
  }

  /**
   * To whoever looks on (cron sends it as mail) and to logs/keep-alive.log. A full disk must not
   * keep a program from being relaunched.
   */
  #tell(text: string): void {
    process.stdout.write(`${text}\n`);
    const { logDirectory } = this.#installation;
    const file = join(logDirectory, "keep-alive.log");
    const stamp = new Date(this.#clock.now()).toISOString();
    try {
      mkdirSync(logDirectory, { recursive: true });
      if (sizeOf(file) > LOG_BYTES_MAX) renameSync(file, `${file}.1`);
      appendFileSync(file, `${stamp} ${text.replaceAll("\n", "\n  ")}\n`, { mode: 0o640 });
    } catch (error) {
      if (!this.#unlogged) process.stdout.write(`not logged: ${(error as Error).message}\n`);
      this.#unlogged = true;
    }
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function modifiedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
