/**
 * Loaded before a program of scripts/bench-year.ts: a signal SIGUSR2 moves its clock by a day and
 * runs the daily chores, which node-cron would start. YEAR_FOLDER gets a file for each process with
 * the number of its nights.
 */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { DAY_MS, systemClock } from "../../src/shared/time.ts";

const folder = process.env["YEAR_FOLDER"] ?? "";
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
    writeFileSync(join(folder, String(process.pid)), String(nights));
  });
}
