import { readFileSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Program } from "../ipc/contract.ts";
import { readOr } from "../read-or.ts";
import { readJsonIfWhole } from "../store/store-file.ts";
import { type Clock, MINUTE_MS } from "../time.ts";
import { versionNumber } from "./installation.ts";

const runSchema = z.object({ version: z.string(), boot: z.string(), isEnded: z.boolean() });
type Run = z.infer<typeof runSchema>;

/** Why a program was started, as far as the record of its last run shows (docs/fleet.md 3.2). */
export type StartedAfter = "not-known" | "update" | "stop" | "reboot" | "abrupt-reboot" | "died";

/**
 * Records that a program runs. Returns why it was started, and a function that records its ordered
 * end. The record is not synced and may be lost with the power; nothing else depends on it.
 */
export function beginRun(runDirectory: string, program: Program, clock: Clock) {
  const file = join(runDirectory, `${program}.run.json`);
  const before = readOr(undefined, () => readJsonIfWhole(file, runSchema));
  const run = { version: versionNumber, boot: bootOf(clock) };
  const write = (isEnded: boolean): void =>
    readOr(undefined, () => writeFileSync(file, JSON.stringify({ ...run, isEnded })));
  write(false);
  return { startedAfter: startedAfter(before, run), end: () => write(true) };
}

/** Returns why a run follows the one before it. Pure. */
export function startedAfter(
  before: Run | undefined,
  { version, boot }: Omit<Run, "isEnded">,
): StartedAfter {
  if (!before) return "not-known";
  if (before.version !== version) return "update";
  if (before.boot === boot) return before.isEnded ? "stop" : "died";
  return before.isEnded ? "reboot" : "abrupt-reboot";
}

/** Returns a name of the machine's present run, which is another one after each boot. */
export function bootOf(clock: Clock): string {
  const bootMs = clock.now() - uptime() * 1_000;
  const minute = String(Math.round(bootMs / MINUTE_MS));
  return readOr(minute, () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}
