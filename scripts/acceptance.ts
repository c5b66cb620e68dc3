/**
 * What a release is tried with, and takes too long for every change.
 *   npm run acceptance -- [--part NAME] [--list] [--quick] [--to FOLDER]
 *     [--publish] [--reports FOLDER]
 * Runs the parts one after the other and keeps what each printed in data/acceptance or in FOLDER,
 * below the name of the commit. A part that passed there is not run again, so a run that was cut
 * off goes on with the next call. --part runs one part, --list prints the parts and what became of
 * them, --publish writes what each part printed when it passed last to docs/reports or FOLDER.
 * --quick gives each part so little to do that all together take minutes: it shows that they run.
 * Exits with 1 when a part fails. Changes that are not committed are refused, except with --quick.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { exitCodes } from "../src/shared/process/exit-codes.ts";
import { systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { misused, readArguments } from "./command-line.ts";

interface Part {
  /** The path of the program in the project. */
  readonly program: string;
  readonly words: readonly string[];
  /** The arguments with which the part takes less time. */
  readonly quick: readonly string[];
}

const knowledge = (family: string): Part => ({
  program: "scripts/knowledge.ts",
  words: ["--family", family],
  quick: ["--family", family, "--faults", "1", "--worlds", "2"],
});

/** The parts of the acceptance; each takes less than an hour on two idle processors. */
const parts: Readonly<Record<string, Part>> = {
  tests: {
    program: "node_modules/vitest/vitest.mjs",
    words: ["run"],
    quick: ["run", "test/explore"],
  },
  simulation: {
    program: "scripts/chaos.ts",
    words: ["--runs", "10000", "--kills", "0", "--sessions", "0"],
    quick: ["--runs", "20", "--kills", "0", "--sessions", "0"],
  },
  kills: {
    program: "scripts/chaos.ts",
    words: ["--runs", "0", "--kills", "1000"],
    quick: ["--runs", "0", "--kills", "5", "--sessions", "1", "--houses", "1"],
  },
  explore: {
    program: "scripts/explore.ts",
    words: [],
    quick: ["--only", "one that stores its reversals; it is swapped"],
  },
  "knowledge-zvt": knowledge("zvt"),
  "knowledge-concert": knowledge("concert"),
  "knowledge-caisse-ap": knowledge("caisse-ap"),
  shop: {
    program: "scripts/knowledge.ts",
    words: ["--shop"],
    quick: ["--shop", "--payments", "20"],
  },
  mutations: {
    program: "scripts/mutations.ts",
    words: [],
    quick: ["--only", "write-ahead record (kept"],
  },
  "fuzz-zvt": { program: "scripts/fuzz-zvt.ts", words: [], quick: ["--runs", "20000"] },
  "fuzz-concert": { program: "scripts/fuzz-concert.ts", words: [], quick: ["--runs", "1000"] },
  "fuzz-api": { program: "scripts/fuzz-api.ts", words: [], quick: ["--requests", "2000"] },
  "card-numbers": { program: "scripts/card-numbers.ts", words: [], quick: ["--only", "caisse-ap"] },
  pictures: {
    program: "scripts/page-pictures.ts",
    words: [],
    quick: ["--only", "the sandbox's page"],
  },
  bench: {
    program: "scripts/bench.ts",
    words: ["--markdown"],
    quick: ["--runs", "1", "--payments", "5", "--warm-up", "5", "--counted", "1"],
  },
  waterfall: {
    program: "scripts/bench-waterfall.ts",
    words: [],
    quick: ["--payments", "20", "--warm-up", "20", "--lone", "1"],
  },
};

const { values } = readArguments({
  options: {
    part: { type: "string" },
    list: { type: "boolean", default: false },
    publish: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    to: { type: "string", default: join(projectRoot, "data", "acceptance") },
    reports: { type: "string", default: join(projectRoot, "docs", "reports") },
  },
});
if (values.part !== undefined && !parts[values.part]) {
  misused(`--part: one of ${Object.keys(parts).join(", ")}\n`);
}

const git = (...given: string[]): string =>
  execFileSync("git", given, { cwd: projectRoot, encoding: "utf8" }).trim();
const isRun = !values.list && !values.publish;
if (!values.quick && isRun && git("status", "--porcelain") !== "") {
  misused("there are changes that are not committed: a result belongs to a commit\n");
}
const commit = git("rev-parse", "--short=12", "HEAD");
const folder = join(values.to, values.quick ? `${commit}-quick` : commit);
const resultOf = (name: string): string => join(folder, `${name}.result`);
const becameOf = (name: string): string =>
  existsSync(resultOf(name)) ? readFileSync(resultOf(name), "utf8").trim() : "not run";

const chosen = Object.entries(parts).filter(([name]) => name === (values.part ?? name));
mkdirSync(folder, { recursive: true });
for (const [name, part] of isRun ? chosen : []) {
  if (!becameOf(name).startsWith("passed")) await run(name, part);
}
for (const [name] of values.publish ? chosen : []) publish(name);
for (const [name] of chosen) process.stdout.write(`${name.padEnd(20)} ${becameOf(name)}\n`);
const isAllPassed = chosen.every(([name]) => becameOf(name).startsWith("passed"));
process.exit(!isRun || isAllPassed ? exitCodes.ok : 1);

async function run(name: string, { program, words: given, quick }: Part): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  process.stdout.write(`${name} ...\n`);
  const child = spawn(process.execPath, [program, ...(values.quick ? quick : given)], {
    cwd: projectRoot,
    // With TEST_SCOPE the tests run their tables in full, also the tests of mutations.
    env: { ...process.env, ...(values.quick ? {} : { TEST_SCOPE: "whole" }) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = createWriteStream(join(folder, `${name}.txt`));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(printed, { end: false });
  const [code] = await once(child, "close");
  printed.end();
  const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1_000);
  const how = code === 0 ? "passed" : `failed with ${code}, see ${name}.txt`;
  const day = new Date(systemClock.now()).toISOString().slice(0, 10);
  writeFileSync(resultOf(name), `${how} in ${seconds} s on ${day}\n`);
}

/** Writes the report of the newest passed run of a part, of any commit. */
function publish(name: string): void {
  const runs = readdirSync(values.to)
    .filter((run) => !run.endsWith("-quick") && existsSync(join(values.to, run, `${name}.result`)))
    .map((run) => ({ run, result: join(values.to, run, `${name}.result`) }))
    .map((each) => ({ ...each, became: readFileSync(each.result, "utf8").trim() }))
    .filter(({ became }) => became.startsWith("passed"))
    .toSorted((a, b) => statSync(b.result).mtimeMs - statSync(a.result).mtimeMs);
  const [newest] = runs;
  if (!newest) return;
  const lines = readFileSync(join(values.to, newest.run, `${name}.txt`), "utf8")
    .trim()
    .split("\n");
  // Of the tests only the last line, their number, is printed; no line such as "10 s, zvt: ...",
  // which a part prints while it runs.
  const printed =
    name === "tests" ? lines.slice(-1) : lines.filter((line) => !/^\d+ s, /.test(line));
  const page = [
    `# Acceptance: ${name}`,
    "",
    `\`npm run acceptance -- --part ${name}\` on ${newest.run}: ${newest.became}, on ` +
      `${availableParallelism()} cores. \`npm run acceptance -- --publish\` wrote this page.`,
    "",
    ...printed,
    "",
  ];
  mkdirSync(values.reports, { recursive: true });
  writeFileSync(join(values.reports, `${name}.md`), page.join("\n"));
}
