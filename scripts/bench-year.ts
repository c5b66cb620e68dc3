/**
 * Measures the memory of both programs over a year of payments and nightly chores:
 *   node scripts/bench-year.ts [--nights 365] [--payments 6]
 * After `--payments` payments a day the clock of both programs, and of the fake terminal, is moved
 * by a day, and the daily chores run (scripts/bench/year-clock.ts). JOURNAL_DAYS is 30, so that
 * orders are moved to the archive. Only the sources can be measured. Prints resident memory, and
 * the part of it that is not mapped from a file, once a month.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DAY_MS, systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { until } from "../test/support/programs/child-program.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import { memoryMbOf } from "./bench/figures.ts";
import { Poster } from "./bench/poster.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    nights: { type: "string", default: "365" },
    payments: { type: "string", default: "6" },
  },
});
const [nights, payments] = [Number(values.nights), Number(values.payments)];
if (![nights, payments].every((n) => Number.isInteger(n) && n > 0)) misused();
const MONTH_DAYS = 30;

let movedMs = 0;
const { now } = systemClock;
// The clock of the fake terminal, which this process plays.
Object.assign(systemClock, { now: () => now() + movedMs });

const terminal = await startFakeTerminal();
const gateway = await startFakeGateway();
const at = new TestInstallation({
  line: "own",
  asLaunched: true,
  environment: () => ({
    NODE_OPTIONS: `--import ${join(projectRoot, "scripts/bench/year-clock.ts")}`,
    YEAR_FOLDER: nightsFolder(),
  }),
  config: {
    SERIAL_PORT: `tcp://127.0.0.1:${terminal.port}`,
    GATEWAY_URL: gateway.url,
    JOURNAL_DAYS: MONTH_DAYS,
  },
});
const poster = new Poster(at.password);
try {
  await at.start();
  await at.connected();
  print(["night", "tp-manager", "not mapped", "supervisor", "not mapped"]);
  for (let night = 1; night <= nights; night++) {
    for (let i = 0; i < payments; i++) await poster.pay(`${at.url}/payment`, `${night}-${i}`);
    await sleepADay(night);
    if (night === 1 || night % MONTH_DAYS === 0 || night === nights) printMemory(night);
  }
} finally {
  poster.close();
  await at.stop();
  terminal.close();
  gateway.close();
}

function nightsFolder(): string {
  const folder = join(at.folder, "nights");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function pids(): number[] {
  return [at.tpManager, at.supervisor].flatMap((program) => program?.pid ?? []);
}

async function sleepADay(night: number): Promise<void> {
  movedMs += DAY_MS;
  for (const pid of pids()) {
    process.kill(pid, "SIGUSR2");
    const file = join(nightsFolder(), String(pid));
    const done = (): boolean => existsSync(file) && Number(readFileSync(file, "utf8")) >= night;
    await until(`night ${night} is over`, () => done() || undefined);
  }
}

function printMemory(night: number): void {
  const cells = pids().flatMap((pid) => [memoryMbOf(pid), memoryMbOf(pid, "RssAnon")]);
  print([String(night), ...cells.map((mb) => `${mb.toFixed(1)} MB`)]);
}

function print([name = "", ...cells]: readonly string[]): void {
  process.stdout.write(`${name.padEnd(8)}${cells.map((one) => one.padStart(14)).join("")}\n`);
}
