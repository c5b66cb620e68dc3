import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { exitCodes, isOwnFault } from "../../shared/process/exit-codes.ts";
import { readJsonIfWhole } from "../../shared/store/store-file.ts";

const failureSchema = z.object({
  /** The number of checks in a row that the running process did not answer. */
  missed: z.int(),
  /** The number of failures of the same kind in a row. */
  failures: z.int(),
  /** What caused the failures: "exit 78", "died", "hung", "full disk"; "" without a failure. */
  kind: z.string(),
  /** When the last launch succeeded, in milliseconds since 1970; 0: the program failed since. */
  launchedMs: z.number(),
  /** The time before which the program is not launched again, in milliseconds since 1970. */
  notBeforeMs: z.number(),
});
export type FailureRecord = z.infer<typeof failureSchema>;

const memorySchema = z.object({
  /** When the machine was started; the next start of the machine clears the failures. */
  bootMs: z.number(),
  /** When the setup file was changed; the next change clears the failures. */
  configMs: z.number(),
  programs: z.partialRecord(z.enum(["tp-manager", "supervisor"]), failureSchema),
});
type KeepAliveMemory = z.infer<typeof memorySchema>;

const MINUTE_MS = 60_000;
/** A program that has run for this time since its launch counts as healthy again. */
export const STABLE_MS = 10 * MINUTE_MS;
/** Two computed times of the machine's start that differ by less than this are the same start. */
const BOOT_TOLERANCE_MS = MINUTE_MS;

/**
 * Returns the pause in milliseconds after `failures` failures of one kind in a row: none at first,
 * then each pause is twice the last, up to 10 minutes. After a wrong configuration it is up to 30
 * minutes, because only a change of the setup file helps, and that change ends the pause.
 */
export function pauseMs(kind: string, failures: number): number {
  const configuration = kind === `exit ${exitCodes.configuration}`;
  const doublings = failures - (configuration ? 1 : 3);
  if (doublings <= 0) return 0;
  return Math.min(2 ** doublings * 2, configuration ? 30 : 10) * MINUTE_MS;
}

export const noFailure = { missed: 0, failures: 0, kind: "", launchedMs: 0, notBeforeMs: 0 };

/** Returns the record with one more failure; the pause before the next launch begins now. */
export function failed(before: FailureRecord, kind: string, nowMs: number): FailureRecord {
  const failures = before.kind === kind ? before.failures + 1 : 1;
  return { ...noFailure, failures, kind, notBeforeMs: nowMs + pauseMs(kind, failures) };
}

/** Whether the next launch still has to wait; a far too long wait (a wrong clock) is ignored. */
export function isPaused(record: FailureRecord, nowMs: number): boolean {
  const leftMs = record.notBeforeMs - nowMs;
  return leftMs > 0 && leftMs <= pauseMs(record.kind, record.failures);
}

const CRASHES = 3;
const FULL_DISK = "full disk";

/** Returns the kind of a failure without an exit code; on a full disk the disk is the cause. */
export function kindWithoutCode(kind: "died" | "hung" | "silent", isDiskFull: boolean): string {
  return isDiskFull ? FULL_DISK : kind;
}

/** Whether a program fails again and again by its own fault (docs/updates.md 4.5). */
export function isCrashLoop({ failures, kind }: FailureRecord): boolean {
  if (kind === FULL_DISK) return false;
  const [, exitCode] = /^exit (\d+)$/.exec(kind) ?? [];
  return failures >= CRASHES && (exitCode === undefined || isOwnFault(Number(exitCode)));
}

/** Reads the recorded failures; a restart of the machine or a new setup file clears them. */
export function readMemory(
  runDirectory: string,
  now: { readonly bootMs: number; readonly configMs: number },
): KeepAliveMemory {
  const kept = readJsonIfWhole(fileIn(runDirectory), memorySchema);
  // A file of another version, or one cut short by a power failure, is treated as empty.
  if (!kept) return { ...now, programs: {} };
  const isSameStart = Math.abs(kept.bootMs - now.bootMs) < BOOT_TOLERANCE_MS;
  const isSame = isSameStart && kept.configMs === now.configMs;
  return { ...now, programs: isSame ? kept.programs : {} };
}

export function writeMemory(runDirectory: string, memory: KeepAliveMemory): void {
  const file = fileIn(runDirectory);
  if (Object.keys(memory.programs).length === 0) forgetFailures(runDirectory);
  else {
    writeFileSync(`${file}.new`, JSON.stringify(memory));
    renameSync(`${file}.new`, file);
  }
}

export function forgetFailures(runDirectory: string): void {
  rmSync(fileIn(runDirectory), { force: true });
}

function fileIn(runDirectory: string): string {
  return join(runDirectory, "keep-alive.json");
}
