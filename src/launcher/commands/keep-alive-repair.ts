import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { installationAt } from "../../shared/program/installation.ts";
import { isFull, storageFault } from "../../shared/store/storage-fault.ts";
import { isoTime, systemClock } from "../../shared/time.ts";
import { isDelivery, readyFileOf } from "../../shared/version-files.ts";
import { type CommandContext, createOutput, duration } from "../output.ts";
import { closeDataFolder } from "../processes/data-access.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import {
  type FailureRecord,
  failed,
  isCrashLoop,
  isPaused,
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

/** The number of unanswered status requests in a row after which a process counts as hung. */
const MISSED_MAX = 2;
/** The size in bytes at which logs/keep-alive.log is renamed and a new log begins. */
const LOG_BYTES_MAX = 1024 * 1024;

/**
 * Launches a program that does not run, and replaces a program that hangs, with a growing pause
 * after repeated failures. Does nothing while another launcher is at work. Returns the exit code.
 */
export async function repair(dataDirectory: string, answerWithinMs: number): Promise<number> {
  const context = {
    ...installationAt(dataDirectory),
    clock: systemClock,
    output: createOutput(),
  };
  try {
    const lock = tryLaunchLock(dataDirectory);
    if (!lock) return exitCodes.ok;
    try {
      // An operator may have stopped the programs while this process waited for the launch lock.
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

async function repairAndUpdate(context: CommandContext, answerWithinMs: number): Promise<number> {
  const repair = new Repair(context, answerWithinMs);
  const exitCode = await repair.run();
  if (isDelivery && repair.crashing !== undefined) {
    const { goBackFromCrashes } = await import("../update/take-version.ts");
    if (await goBackFromCrashes(context, repair.crashing)) return exitCodes.ok;
  }
  if (exitCode === exitCodes.ok && existsSync(readyFileOf(context.dataDirectory))) {
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
  /** The name of a program that keeps failing by its own fault, with the number of its failures. */
  crashing: string | undefined;

  constructor(context: CommandContext, answerWithinMs: number) {
    this.#context = context;
    this.#answerWithinMs = answerWithinMs;
    this.#run = openRunDirectory(context.dataDirectory);
  }

  async run(): Promise<number> {
    const { dataDirectory, configFile, clock } = this.#context;
    const memory = readMemory(this.#run, {
      bootMs: Math.round(clock.now() - uptime() * 1_000),
      configMs: statSync(configFile, { throwIfNoEntry: false })?.mtimeMs ?? 0,
    });
    const outcomes = await Promise.all(
      programSpecs(dataDirectory).map(async (spec) => ({
        name: spec.name,
        ...(await this.#repair(spec, memory.programs[spec.name] ?? noFailure)),
      })),
    );
    for (const { name, record } of outcomes) {
      // A crash loop counts even without a new failure, because a payment can have prevented the
      // return to the previous version in an earlier run.
      if (record && isCrashLoop(record)) {
        this.crashing = `${name} failed ${record.failures} times (${record.kind})`;
      }
      if (record) memory.programs[name] = record;
      else delete memory.programs[name];
    }
    try {
      writeMemory(this.#run, memory);
    } catch (error) {
      // On a full disk the failures cannot be stored, but the programs are still checked.
      const storage = storageFault(error, dataDirectory);
      this.#report(storage ?? `could not store the failures: ${(error as Error).message}`);
    }
    return outcomes.find(({ exitCode }) => exitCode !== exitCodes.ok)?.exitCode ?? exitCodes.ok;
  }

  async #repair(spec: ProgramSpec, before: FailureRecord) {
    const nowMs = this.#context.clock.now();
    if ((await probe(this.#run, spec.name, this.#answerWithinMs)) === "answers") {
      const stable = Math.abs(nowMs - before.launchedMs) > STABLE_MS;
      return { record: stable ? undefined : { ...before, missed: 0 }, exitCode: exitCodes.ok };
    }
    if (findProcesses(spec).length > 0) return await this.#replace(spec, before);
    const diedYoung = before.launchedMs > 0 && nowMs - before.launchedMs < STABLE_MS;
    const record = diedYoung ? this.#failed(before, "died", nowMs) : before;
    return await this.#launch(spec, record, "was not running");
  }

  /** Replaces a process after two unanswered requests; after one it may be starting or stopping. */
  async #replace(spec: ProgramSpec, before: FailureRecord) {
    const { clock } = this.#context;
    const missed = before.missed + 1;
    const wait = { record: { ...before, missed }, exitCode: exitCodes.unavailable };
    if (missed < MISSED_MAX) {
      const then = "it is restarted if it does not answer the next check either";
      this.#report(`${spec.name} does not answer; ${then}`);
      return wait;
    }
    if ((await stopProcess(spec, clock)) === "still-running") {
      this.#report(`${spec.name} hangs and cannot be ended; it may belong to another user`);
      return wait;
    }
    const record = this.#failed(before, "hung", clock.now());
    return await this.#launch(spec, record, `was hung (${missed} checks without an answer)`);
  }

  #failed(before: FailureRecord, kind: "died" | "hung" | "silent", nowMs: number): FailureRecord {
    const { dataDirectory } = this.#context;
    return failed(before, kindWithoutCode(kind, isFull(dataDirectory)), nowMs);
  }

  async #launch(spec: ProgramSpec, before: FailureRecord, why: string) {
    const { clock } = this.#context;
    if (isPaused(before, clock.now())) return { record: before, exitCode: exitCodes.unavailable };
    // The data folder is closed to other users before the first launch, once for both programs.
    this.#closing ??= closeDataFolder(this.#context.dataDirectory).then((fault) => {
      if (fault !== undefined) this.#report(fault);
    });
    await this.#closing;
    const { result, pid, exitCode, reason } = await startProgram(spec, this.#context);
    const nowMs = clock.now();
    if (result === "silent") {
      this.#report(`${spec.name} ${why}: relaunched, but does not answer`);
      return { record: this.#failed(before, "silent", nowMs), exitCode };
    }
    if (result !== "ended") {
      this.#report(`${spec.name} ${why}: relaunched, pid ${pid}`);
      return { record: { ...before, missed: 0, launchedMs: nowMs }, exitCode };
    }
    const record = failed(before, `exit ${exitCode}`, nowMs);
    const pause = pauseMs(record.kind, record.failures);
    const next = pause === 0 ? "at the next check" : `in ${duration(pause)}`;
    this.#report(
      `${spec.name} ${why}; its launch failed with code ${exitCode}` +
        ` (${record.failures} in a row), tried again ${next}:\n${reason}`,
    );
    return { record, exitCode };
  }

  /** Writes a line to standard output, which cron sends as mail, and to logs/keep-alive.log. */
  #report(text: string): void {
    process.stdout.write(`${text}\n`);
    const { logDirectory, clock } = this.#context;
    const file = join(logDirectory, "keep-alive.log");
    const stamp = isoTime(clock.now());
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
