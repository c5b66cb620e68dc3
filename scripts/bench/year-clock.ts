/**
 * Loaded before a program of scripts/bench-year.ts: a signal SIGUSR2 moves its clock by a day and
 * runs the daily chores, which node-cron would start. YEAR_FOLDER gets a file for each process with
 * the number of its nights and what its heap holds. After the nights in YEAR_COLLECT all garbage is
 * collected.
 */
import { renameSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DAY_MS, systemClock } from "../../src/shared/time.ts";

/** What a program writes after each night. */
export interface Night {
  readonly nights: number;
  /** The megabytes of JavaScript objects, and of what V8 has compiled. */
  readonly objectsMb: number;
  readonly codeMb: number;
  /** The megabytes that V8 has reserved for both; a page counts as memory once it was used. */
  readonly reservedMb: number;
}

const BYTES_PER_MB = 2 ** 20;

const folder = process.env["YEAR_FOLDER"] ?? "";
const collected = (process.env["YEAR_COLLECT"] ?? "").split(",").map(Number);
const url = "year:node-cron";
/** Keeps the chores for the signal in place of starting them at their time. */
const source = `export const createTask = (_, chores) => {
  process.emit("year-chores", chores);
  return { start() {}, destroy() {}, getStatus: () => "idle" };
};`;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "node-cron"
      ? { url, format: "module", shortCircuit: true }
      : next(specifier, context),
  load: (of, context, next) =>
    of === url ? { format: "module", source, shortCircuit: true } : next(of, context),
});

if (/(tp-manager|supervisor)\/main\.ts$/.test(process.argv[1] ?? "")) {
  let [movedMs, nights] = [0, 0];
  let chores: (() => Promise<void>) | undefined;
  const { now } = systemClock;
  Object.assign(systemClock, { now: () => now() + movedMs });
  process.on("year-chores" as never, (given: typeof chores) => {
    chores = given;
  });
  process.on("SIGUSR2", async () => {
    movedMs += DAY_MS;
    await chores?.();
    nights += 1;
    if (collected.includes(nights)) collectGarbage();
    const file = join(folder, String(process.pid));
    writeFileSync(`${file}.part`, JSON.stringify(heapAfter(nights)));
    renameSync(`${file}.part`, file);
  });
}

/** Twice: the first collection runs finalizers, which leave garbage. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
}

function heapAfter(nights: number): Night {
  const { used_heap_size: used, total_heap_size: reserved } = getHeapStatistics();
  const code = getHeapSpaceStatistics()
    .filter(({ space_name: name }) => /^(?:code|trusted)/.test(name))
    .reduce((sum, { space_used_size: size }) => sum + size, 0);
  const mb = (bytes: number): number => bytes / BYTES_PER_MB;
  return { nights, objectsMb: mb(used - code), codeMb: mb(code), reservedMb: mb(reserved) };
}
