import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { exitCodes, isOwnFault } from "../../shared/process/exit-codes.ts";
import { readJsonIfWhole } from "../../shared/store/store-file.ts";

/**
 * The failures of one program, as one run of the keep-alive leaves them for the next in data/run.
 */
const failureSchema = z.object({
  /** Probes in a row without an answer from a process that is there. */
  missed: z.int(),
  /** Failures of the same kind in a row. */
  failures: z.int(),
  /** The common cause of the failures: "exit 78", "died", "hung", "full disk"; "" without any. */
  kind: z.string(),
  /** The last launch that succeeded; 0 once the program has failed since. */
  launchedMs: z.number(),
  /** The program is not launched again before that time. */
  notBeforeMs: z.number(),
});
export type FailureRecord = z.infer<typeof failureSchema>;

const memorySchema = z.object({
  /** When the machine was started; after another start the failures are forgotten. */
  bootMs: z.number(),
  /** When the setup file was changed; after another change the failures are forgotten. */
  configMs: z.number(),
  programs: z.partialRecord(z.enum(["tp-manager", "supervisor"]), failureSchema),
});
export type KeepAliveMemory = z.infer<typeof memorySchema>;

const MINUTE_MS = 60_000;
/** A program that has run so long after its launch is well again. */
export const STABLE_MS = 10 * MINUTE_MS;
/** How exactly two readings of the machine's start agree while nobody sets the clock. */
const BOOT_TOLERANCE_MS = MINUTE_MS;

/**
 * The pause after `failures` failures of a kind in a row: none at first, then twice as long each
 * time. A wrong configuration does not mend itself, and a changed file ends the pause; anything
 * else may mend itself, so the kiosk waits less long.
 */
export function pauseMs(kind: string, failures: number): number {
  const configuration = kind === `exit ${exitCodes.configuration}`;
  const doublings = failures - (configuration ? 1 : 3);
  if (doublings <= 0) return 0;
  return Math.min(2 ** doublings * 2, configuration ? 30 : 10) * MINUTE_MS;
}

export const noFailure: FailureRecord = {
  missed: 0,
  failures: 0,
  kind: "",
  launchedMs: 0,
  notBeforeMs: 0,
};

/** The record with one more failure; its pause begins now. */
export function failed(before: FailureRecord, kind: string, nowMs: number): FailureRecord {
  const failures = before.kind === kind ? before.failures + 1 : 1;
  const notBeforeMs = nowMs + pauseMs(kind, failures);
  return { missed: 0, failures, kind, launchedMs: 0, notBeforeMs };
}

/** Whether a pause is running. A pause too far ahead comes from a clock that was wrong. */
export function isPaused(record: FailureRecord, nowMs: number): boolean {
  const leftMs = record.notBeforeMs - nowMs;
  return leftMs > 0 && leftMs <= pauseMs(record.kind, record.failures);
}

const CRASHES = 3;

const FULL_DISK = "full disk";

/** The kind of a failure whose exit code is not known: on a full disk the disk is to blame. */
export function kindWithoutCode(kind: "died" | "hung" | "silent", isDiskFull: boolean): string {
  return isDiskFull ? FULL_DISK : kind;
}

/** Whether a program fails again and again by its own fault (docs/updates.md 4.5). */
export function isCrashLoop({ failures, kind }: FailureRecord): boolean {
  if (kind === FULL_DISK) return false;
  const [, exitCode] = /^exit (\d+)$/.exec(kind) ?? [];
  return failures >= CRASHES && (exitCode === undefined || isOwnFault(Number(exitCode)));
}

/** Reads the memory; it is empty after a restart of the machine or a change of the setup file. */
export function readMemory(
  runDirectory: string,
  now: { readonly bootMs: number; readonly configMs: number },
): KeepAliveMemory {
  const kept = readJsonIfWhole(fileIn(runDirectory), memorySchema);
  // A file of another version, or one that a power failure has cut, counts as none.
  if (!kept) return { ...now, programs: {} };
  const isSameStart = Math.abs(kept.bootMs - now.bootMs) < BOOT_TOLERANCE_MS;
  const isSame = isSameStart && kept.configMs === now.configMs;
  return { ...now, programs: isSame ? kept.programs : {} };
}

export function writeMemory(runDirectory: string, memory: KeepAliveMemory): void {
  const file = fileIn(runDirectory);
  if (Object.keys(memory.programs).length === 0) {
    rmSync(file, { force: true });
    return;
  }
  writeFileSync(`${file}.new`, JSON.stringify(memory));
  renameSync(`${file}.new`, file);
}

export function forgetFailures(runDirectory: string): void {
  rmSync(fileIn(runDirectory), { force: true });
}

function fileIn(runDirectory: string): string {
  return join(runDirectory, "keep-alive.json");
}
