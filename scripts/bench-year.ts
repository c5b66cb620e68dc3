/**
 * Measures the memory of both programs over a year of payments and nightly chores:
 *   node scripts/bench-year.ts [--nights 365] [--payments 6] [--lazy]
 * After `--payments` payments a day the clock of both programs, and of the fake terminal, is moved
 * by a day, and the daily chores run (scripts/bench/year-clock.ts). JOURNAL_DAYS is 30, so that
 * orders are moved to the archive. Only the sources can be measured. Prints once a month, after a
 * collection of all garbage, the memory that is not mapped from a file; JavaScript objects and what
 * V8 has compiled; the heap that V8 has reserved for both; and the C library's pools, in which are
 * SQLite's pages and statements. At the end it prints how much each of these grew in a month of the
 * second half of the run, and whether the first is flat. `--lazy`: V8 alone decides when it
 * collects.
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
import type { Night } from "./bench/year-clock.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    nights: { type: "string", default: "365" },
    payments: { type: "string", default: "6" },
    lazy: { type: "boolean", default: false },
  },
});
const [nights, payments] = [Number(values.nights), Number(values.payments)];
if (![nights, payments].every((n) => Number.isInteger(n) && n > 0)) misused();
const MONTH_DAYS = 30;
/** Memory that grows by less in a month is flat: ten years add less than a tenth. */
const FLAT_MB = 0.1;
const KB_PER_MB = 1_024;
const parts = ["not mapped", "objects", "compiled", "V8's heap", "C library"] as const;

const isMeasured = (night: number): boolean =>
  night === 1 || night % MONTH_DAYS === 0 || night === nights;
const measuredNights = Array.from({ length: nights }, (_, i) => i + 1).filter(isMeasured);
/** For each measured night the megabytes of the parts of both programs. */
const table: { readonly night: number; readonly mb: readonly number[] }[] = [];

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
    YEAR_COLLECT: values.lazy ? "" : measuredNights.join(),
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
  print(["", "tp-manager, MB", "", "", "", "", "supervisor, MB"]);
  print(["night", ...parts, ...parts]);
  for (let night = 1; night <= nights; night++) {
    for (let i = 0; i < payments; i++) await poster.pay(`${at.url}/payment`, `${night}-${i}`);
    await sleepADay(night);
    if (isMeasured(night)) measure(night);
  }
  printGrowth();
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
    await until(`night ${night} is over`, () => nightOf(pid)?.nights === night || undefined);
  }
}

function nightOf(pid: number): Night | undefined {
  const file = join(nightsFolder(), String(pid));
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Night) : undefined;
}

function measure(night: number): void {
  const mb = pids().flatMap((pid) => {
    const { objectsMb = 0, codeMb = 0, reservedMb = 0 } = nightOf(pid) ?? {};
    return [memoryMbOf(pid, "RssAnon"), objectsMb, codeMb, reservedMb, poolsMbOf(pid)];
  });
  table.push({ night, mb });
  print([String(night), ...mb.map((each) => each.toFixed(1))]);
}

/** Prints what a month of the second half added, when V8 has compiled most of what runs. */
function printGrowth(): void {
  const half = table.filter(({ night }) => night >= nights / 2);
  if (half.length < 3) return;
  const growth = half[0]?.mb.map((_, i) => slope(half.map(({ night, mb }) => [night, mb[i] ?? 0])));
  const inAMonth = growth?.map((each) => each * MONTH_DAYS) ?? [];
  print(["a month", ...inAMonth.map((each) => each.toFixed(2))]);
  for (const [i, name] of ["tp-manager", "supervisor"].entries()) {
    const mb = inAMonth[i * parts.length] ?? Number.NaN;
    const verdict = mb < FLAT_MB ? "flat" : "not flat";
    process.stdout.write(`${name}: ${verdict}, ${mb.toFixed(2)} MB more in a month\n`);
  }
}

/** Returns the memory of the C library's pools: [heap], and mappings that begin at 64 MB. */
function poolsMbOf(pid: number): number {
  const begin = String.raw`(?:\w+-\w+ .*\[heap\]|\w*[048c]000000-\w+ rw-p 0+ 00:00 0 *)\n`;
  const pool = new RegExp(`^${begin}(?:\\w+: .*\\n)*?Rss: +(\\d+)`, "gm");
  const found = readFileSync(`/proc/${pid}/smaps`, "utf8").matchAll(pool);
  return found.reduce((sum, [, kb]) => sum + Number(kb), 0) / KB_PER_MB;
}

/** Returns the slope of the straight line through points with the least squares. */
function slope(points: ReadonlyArray<readonly [x: number, y: number]>): number {
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [meanX, meanY] = [mean(([x]) => x), mean(([, y]) => y)];
  return mean(([x, y]) => (x - meanX) * (y - meanY)) / mean(([x]) => (x - meanX) ** 2);
}

function print([name = "", ...cells]: readonly string[]): void {
  process.stdout.write(`${name.padEnd(8)}${cells.map((one) => one.padStart(14)).join("")}\n`);
}
