import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { installationAt } from "../../shared/process/installation.ts";
import { isFull, storageFault } from "../../shared/store/storage-fault.ts";
import { systemClock } from "../../shared/time.ts";
import { isDelivery, readyFileOf } from "../../shared/version-files.ts";
import { type CommandContext, createOutput, duration } from "../output.ts";
import { closeDataFolder } from "../processes/data-access.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import {
  type FailureRecord,
  failed,
  isCrashLoop,
  isPaused,
  type KeepAliveMemory,
  kindWithoutCode,
  noFailure,
  pauseMs,
  readMemory,
  STABLE_MS,
  writeMemory,
} from "../processes/keep-alive-memory.ts";
import { tryLaunchLock } from "../processes/locks.ts";
import { probe } from "../processes/probe.ts";
import { findProcesses, type ProgramSpec, programSpecs } from "../processes/process-table.ts";
import { startProgram, stopProcess } from "../processes/programs.ts";
import { finishUpdate } from "./start.ts";

/** Probes in a row without an answer after which a process counts as hung. */
const MISSED_MAX = 2;
const LOG_BYTES_MAX = 1024 * 1024;

interface Outcome {
  /** undefined: nothing is left to remember. */
  readonly record: FailureRecord | undefined;
  readonly exitCode: number;
}

/**
 * Relaunches what is dead and replaces what is hung, with a growing pause after repeated failures.
 * A launcher that comes while another one is at work leaves the repair to that one. Answers the
 * exit code.
 */
export async function repair(dataDirectory: string, answerWithinMs: number): Promise<number> {
  const installation = installationAt(dataDirectory);
  const context = { installation, clock: systemClock, output: createOutput() };
  try {
    const lock = tryLaunchLock(dataDirectory);
    if (!lock) return exitCodes.ok;
    try {
      // Looked at again: both may have changed before we held the lock.
      if (deliberateStop(dataDirectory) !== undefined) return exitCodes.ok;
      return (await finishUpdate(context)) ?? (await repairAndUpdate(context, answerWithinMs));
    } finally {
      lock.release();
    }
  } catch (error) {
    const storage = storageFault(error, dataDirectory);
    process.stderr.write(`keep-alive: ${storage ?? (error as Error).stack}\n`);
    return storage === undefined ? exitCodes.internal : exitCodes.unavailable;
  }
}

/** A version that has just come and crashes goes back; one that is ready is taken. */
async function repairAndUpdate(context: CommandContext, answerWithinMs: number): Promise<number> {
  const repair = new Repair(context, answerWithinMs);
  const exitCode = await repair.run();
  if (isDelivery && repair.crashing !== undefined) {
    const { goBackFromCrashes } = await import("../update/take-version.ts");
    if (await goBackFromCrashes(context, repair.crashing)) return exitCodes.ok;
  }
  if (exitCode === exitCodes.ok && existsSync(readyFileOf(context.installation.dataDirectory))) {
    const { startTakingReady } = await import("../update/take-version.ts");
    await startTakingReady(context);
  }
  return exitCode;
}

class Repair {
  readonly #context: CommandContext;
  readonly #answerWithinMs: number;
  readonly #run: string;
  #unlogged = false;
  #closing: Promise<void> | undefined;
  /** A program that ends or hangs again and again by its own fault, in words. */
  crashing: string | undefined;

  constructor(context: CommandContext, answerWithinMs: number) {
    this.#context = context;
    this.#answerWithinMs = answerWithinMs;
    this.#run = openRunDirectory(context.installation.dataDirectory);
  }

  async run(): Promise<number> {
    const { installation, clock } = this.#context;
    const memory = readMemory(this.#run, {
      bootMs: Math.round(clock.now() - uptime() * 1_000),
      configMs: statSync(installation.configFile, { throwIfNoEntry: false })?.mtimeMs ?? 0,
    });
    const outcomes = await Promise.all(
      programSpecs(installation.dataDirectory).map(async (spec) => ({
        name: spec.name,
        ...(await this.#repair(spec, memory.programs[spec.name] ?? noFailure)),
      })),
    );
    for (const { name, record } of outcomes) {
      // Also without a new failure: a payment may have kept the version from going back.
      if (record && isCrashLoop(record)) {
        this.crashing = `${name} failed ${record.failures} times (${record.kind})`;
      }
      if (record) memory.programs[name] = record;
      else delete memory.programs[name];
    }
    this.#keep(memory);
    return outcomes.find(({ exitCode }) => exitCode !== exitCodes.ok)?.exitCode ?? exitCodes.ok;
  }

  /** A full disk takes the pauses away, but not the probes. */
  #keep(memory: KeepAliveMemory): void {
    try {
      writeMemory(this.#run, memory);
    } catch (error) {
      const storage = storageFault(error, this.#context.installation.dataDirectory);
      this.#report(storage ?? `not kept: ${(error as Error).message}`);
    }
  }

  async #repair(spec: ProgramSpec, before: FailureRecord): Promise<Outcome> {
    const nowMs = this.#context.clock.now();
    const result = await probe(this.#run, spec.name, this.#answerWithinMs);
    if (result === "answers") {
      const stable = Math.abs(nowMs - before.launchedMs) > STABLE_MS;
      return { record: stable ? undefined : { ...before, missed: 0 }, exitCode: exitCodes.ok };
    }
    if (findProcesses(spec).length > 0) return await this.#replace(spec, before);
    const diedYoung = before.launchedMs > 0 && nowMs - before.launchedMs < STABLE_MS;
    const record = diedYoung ? this.#failed(before, "died", nowMs) : before;
    return await this.#launch(spec, record, "was not running");
  }

  /** A process is there and does not answer: starting, stopping, or hung. */
  async #replace(spec: ProgramSpec, before: FailureRecord): Promise<Outcome> {
    const { clock } = this.#context;
    const missed = before.missed + 1;
    const wait = { record: { ...before, missed }, exitCode: exitCodes.unavailable };
    if (missed < MISSED_MAX) {
      this.#report(
        `${spec.name} does not answer; replaced when it does not at the next check either`,
      );
      return wait;
    }
    if ((await stopProcess(spec, clock)) === "still-running") {
      this.#report(`${spec.name} is hung and cannot be ended; is it another user's process?`);
      return wait;
    }
    const record = this.#failed(before, "hung", clock.now());
    return await this.#launch(spec, record, `was hung (${missed} checks without an answer)`);
  }

  /** Counts a failure whose exit code nobody knows. */
  #failed(before: FailureRecord, kind: "died" | "hung" | "silent", nowMs: number): FailureRecord {
    const { dataDirectory } = this.#context.installation;
    return failed(before, kindWithoutCode(kind, isFull(dataDirectory)), nowMs);
  }

  /** Once, also when both programs are launched. */
  #closeFolder(): Promise<void> {
    this.#closing ??= closeDataFolder(this.#context.installation).then((fault) => {
      if (fault !== undefined) this.#report(fault);
    });
    return this.#closing;
  }

  async #launch(spec: ProgramSpec, before: FailureRecord, why: string): Promise<Outcome> {
    const { installation, clock } = this.#context;
    if (isPaused(before, clock.now())) return { record: before, exitCode: exitCodes.unavailable };
    await this.#closeFolder();
    const started = await startProgram(spec, installation, clock);
    const nowMs = clock.now();
    switch (started.result) {
      case "started":
      case "already-running": {
        this.#report(`${spec.name} ${why}: relaunched, pid ${started.pid}`);
        const record = { ...before, missed: 0, launchedMs: nowMs };
        return { record, exitCode: exitCodes.ok };
      }
      case "silent": {
        this.#report(`${spec.name} ${why}: relaunched, but does not answer`);
        const record = this.#failed(before, "silent", nowMs);
        return { record, exitCode: exitCodes.unavailable };
      }
      case "ended": {
        const record = failed(before, `exit ${started.exitCode}`, nowMs);
        const pause = pauseMs(record.kind, record.failures);
        const next = pause === 0 ? "at the next check" : `in ${duration(pause)}`;
        this.#report(
          `${spec.name} ${why}; its launch failed with code ${started.exitCode}` +
            ` (${record.failures} in a row), tried again ${next}:\n${started.reason}`,
        );
        return { record, exitCode: started.exitCode };
      }
    }
  }

  /**
   * Writes a line to standard output, which cron sends as mail, and to logs/keep-alive.log. A full
   * disk does not keep a program from being relaunched.
   */
  #report(text: string): void {
    process.stdout.write(`${text}\n`);
    const { logDirectory } = this.#context.installation;
    const file = join(logDirectory, "keep-alive.log");
    const stamp = new Date(this.#context.clock.now()).toISOString();
    try {
      mkdirSync(logDirectory, { recursive: true });
      const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes > LOG_BYTES_MAX) renameSync(file, `${file}.1`);
      appendFileSync(file, `${stamp} ${text.replaceAll("\n", "\n  ")}\n`, { mode: 0o640 });
    } catch (error) {
      if (!this.#unlogged) process.stdout.write(`not logged: ${(error as Error).message}\n`);
      this.#unlogged = true;
    }
  }
}
