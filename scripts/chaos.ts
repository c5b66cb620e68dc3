/**
 * The evidence that money is safe: simulated runs full of faults, real processes killed with -9,
 * power cuts at every moment of a recorded day.
 *   npm run chaos -- [--runs 2000] [--kills 100] [--sessions 3] [--seed 1] [--houses 5]
 *     [--results FILE]
 * Prints a table of faults, runs, outcomes and violations; exits with 1 when a promise was broken.
 * With --results the kills of an interrupted run are not done again.
 */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import type { KillResult } from "../test/crash/crash-house.ts";
import type { PowerCuts } from "../test/crash/power/power-cuts.ts";
import { BY_ID_SEEDS } from "../test/simulation/by-id/by-id-plan.ts";
import { ONE_WAY_SEEDS } from "../test/simulation/one-way/one-way-plan.ts";
import { addRow, merge, newTally, type Tally } from "../test/simulation/tally.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    runs: { type: "string", default: "2000" },
    kills: { type: "string", default: "100" },
    sessions: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    houses: { type: "string", default: "5" },
    results: { type: "string" },
  },
});
const [runs, strikes, seed] = [values.runs, values.kills, values.seed].map(Number) as number[];
if (![runs, strikes, seed].every((number) => Number.isInteger(number) && Number(number) >= 0)) {
  misused();
}

const IMAGES_EACH = "10";
/** The share of simulated runs with a one-way terminal. */
const ONE_WAY_SHARE = 0.4;
/** The share of simulated runs with a terminal that is asked by id. */
const BY_ID_SHARE = 0.2;

const startedMs = systemClock.monotonicMs();
const simulated = await simulate(Number(runs), Number(seed));
const simulatedMs = systemClock.monotonicMs() - startedMs;
const killed = killTally(await kill(Number(strikes), Number(seed)));
const killedMs = systemClock.monotonicMs() - startedMs - simulatedMs;
const cuts = await program<PowerCuts | null>("test/crash/power/main.ts", [
  "--sessions",
  values.sessions,
  "--images",
  IMAGES_EACH,
  "--seed",
  values.seed,
]);

const simulation = [
  `Simulated: ${simulated.runs} runs in ${seconds(simulatedMs)}, ` +
    `${simulated.violations} violations.`,
  "",
  ...table(simulated, "fault"),
  "",
];
const kills = [
  `Killed with -9 or by a power cut: ${killed.runs} times in ${seconds(killedMs)}, ` +
    `${killed.violations} violations.`,
  "",
  ...table(killed, "command: killed"),
  "",
];
const text = [
  `${await version()}, ${new Date(systemClock.now()).toISOString().slice(0, 10)}, ` +
    `${availableParallelism()} cores, seed ${seed}.`,
  "",
  ...(simulated.runs > 0 ? simulation : []),
  ...(killed.runs > 0 ? kills : []),
  ...(values.sessions === "0" ? [] : [...powerCuts(), ""]),
].join("\n");
process.stdout.write(text);
const broken = simulated.violations + killed.violations + (cuts?.violations.length ?? 0);
process.exitCode = broken > 0 ? 1 : 0;

function powerCuts(): string[] {
  if (cuts === null) return ["Power cuts: not played, because there is no C compiler here."];
  const { moments, images, promised, violations } = cuts;
  return [
    `Power cuts: at ${moments} moments of ${values.sessions} recorded days, ${images} disks ` +
      `compared, ${violations.length} violations.`,
    "",
    "| promised before a cut | times |",
    "| --- | ---: |",
    ...Object.entries(promised).map(([sentence, times]) => `| ${sentence} | ${times} |`),
  ];
}

/** Simulates runs on all processors, shares of them with a one-way terminal and one asked by id. */
async function simulate(count: number, from: number): Promise<Tally> {
  const oneWay = Math.round(count * ONE_WAY_SHARE);
  const byId = Math.round(count * BY_ID_SHARE);
  return merge([
    ...(await simulateFrom(count - oneWay - byId, from * 1_000_000)),
    ...(await simulateFrom(oneWay, ONE_WAY_SEEDS + from * 1_000_000)),
    ...(await simulateFrom(byId, BY_ID_SEEDS + from * 1_000_000)),
  ]);
}

async function simulateFrom(count: number, from: number): Promise<Tally[]> {
  const shares = availableParallelism();
  return await Promise.all(
    Array.from({ length: shares }, async (_, share) => {
      const own = Math.floor(count / shares) + (share < count % shares ? 1 : 0);
      return await program<Tally>("test/simulation/main.ts", [
        "--from",
        `${from + share}`,
        "--runs",
        `${own}`,
        "--every",
        `${shares}`,
      ]);
    }),
  );
}

async function kill(count: number, from: number): Promise<KillResult[]> {
  if (count === 0) return [];
  return await program<KillResult[]>("test/crash/main.ts", [
    "--kills",
    `${count}`,
    "--seed",
    `${from}`,
    "--houses",
    values.houses,
    ...(values.results === undefined ? [] : ["--results", values.results]),
  ]);
}

/** Runs a script to its end, prints its standard error, and returns its output, which is JSON. */
async function program<T>(main: string, given: readonly string[]): Promise<T> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...given], {
    cwd: projectRoot,
    maxBuffer: 256 * 1024 * 1024,
  });
  process.stderr.write(stderr);
  return JSON.parse(stdout) as T;
}

function killTally(results: readonly KillResult[]): Tally {
  const tally = newTally();
  for (const { command, victim, end, violations } of results) {
    tally.runs += 1;
    tally.violations += violations.length;
    const row = { runs: 1, ends: { [end]: 1 }, violations: violations.length };
    addRow(tally, command, row);
    addRow(tally, `${command}: ${victim}`, row);
  }
  return tally;
}

function table({ byFault }: Tally, first: string): string[] {
  return [
    `| ${first} | runs | how the orders ended | violations |`,
    "| --- | ---: | --- | ---: |",
    ...Object.entries(byFault)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([fault, row]) => {
        const ends = Object.entries(row.ends)
          .sort(([, a], [, b]) => b - a)
          .map(([end, times]) => `${end} ${times}`)
          .join(", ");
        return `| ${fault} | ${row.runs} | ${ends} | ${row.violations} |`;
      }),
  ];
}

async function version(): Promise<string> {
  const git = ["rev-parse", "--short", "HEAD"];
  return await promisify(execFile)("git", git, { cwd: projectRoot }).then(
    ({ stdout }) => `Commit ${stdout.trim()}`,
    () => "Delivered archive",
  );
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
