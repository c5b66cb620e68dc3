/**
 * Proves that the tests can fail: takes one safety measure after the other out of a copy of the
 * tree and runs the tests that must notice, each for four minutes at most.
 *   npm run mutations -- [--only TEXT] [--chaos [--runs 5000] [--kills 60]]
 * With --chaos the simulation has to find it, or the kills. Prints the sentence of the books that
 * is not true without the measure, and what noticed; exits with 1 when nothing did.
 */
import { execFile, execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import type { KillResult } from "../test/crash/crash-house.ts";
import type { Mutation } from "../test/crash/mutation.ts";
import { mutations } from "../test/crash/mutations.ts";
import type { Tally } from "../test/simulation/tally.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    only: { type: "string", default: "" },
    chaos: { type: "boolean", default: false },
    runs: { type: "string", default: "5000" },
    kills: { type: "string", default: "60" },
  },
});

const TESTS_MS = 240_000;

process.stdout.write("| removed | breaks | found after | by |\n| --- | --- | --- | --- |\n");
let missed = 0;
for (const mutation of mutations.filter(({ removes }) => removes.includes(values.only))) {
  const tree = mutatedCopy(mutation);
  try {
    const found = values.chaos
      ? ((await simulated(tree)) ?? (await killed(tree)))
      : await tested(tree, mutation);
    if (!found) missed += 1;
    const { after, by } = found ?? { after: "not found", by: [] };
    const [section, sentence] = mutation.breaks;
    const broken = `${section}: ${sentence}`;
    process.stdout.write(`| ${mutation.removes} | ${broken} | ${after} | ${by.join("; ")} |\n`);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
process.exitCode = missed > 0 ? 1 : 0;

interface Detection {
  readonly after: string;
  readonly by: readonly string[];
}

interface TestResults {
  readonly testResults: ReadonlyArray<{
    readonly status: string;
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly title: string }>;
  }>;
}

/** Returns the tests that fail; undefined: none, or a test file that does not load. */
async function tested(tree: string, { removes, tests }: Mutation): Promise<Detection | undefined> {
  const results = join(tree, "results.json");
  const json = ["--reporter=json", `--outputFile=${results}`];
  const vitest = join(tree, "node_modules/vitest/vitest.mjs");
  const startedMs = systemClock.monotonicMs();
  const run = [vitest, "run", "--project", "main", "--project", "measuring", ...json, ...tests];
  // A run with failing tests rejects; the file of results names the tests.
  const hasFailed = await promisify(execFile)(process.execPath, run, {
    cwd: tree,
    env: { ...process.env, TEST_SCOPE: "whole" },
    timeout: TESTS_MS,
  }).then(
    () => false,
    ({ killed }) => killed !== true,
  );
  const seconds = Math.ceil((systemClock.monotonicMs() - startedMs) / 1000);
  const { testResults } = readJson<TestResults>(results) ?? { testResults: [] };
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "failed");
  const [first, ...more] = failed.map(({ title }) => title);
  const haveRun = testResults.length > 0 && testResults.every(({ status }) => status === "passed");
  if (first === undefined && hasFailed && haveRun) {
    return { after: `${seconds} s`, by: ["an error that no test waits for"] };
  }
  if (first === undefined) {
    if (hasFailed) process.stderr.write(`${removes}: a test file did not load\n`);
    return undefined;
  }
  return { after: `${seconds} s`, by: more.length > 0 ? [first, `${more.length} more`] : [first] };
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch {
    return undefined;
  }
}

async function simulated(tree: string): Promise<Detection | undefined> {
  const main = "test/simulation/main.ts";
  const given = ["--from", "1", "--runs", values.runs, "--stop-at-first", "--no-shrink"];
  const { firstViolation } = await program<Tally>(tree, main, given);
  if (!firstViolation) return undefined;
  const { run, invariants } = firstViolation;
  return { after: `${run} simulated ${run === 1 ? "run" : "runs"}`, by: invariants };
}

async function killed(tree: string): Promise<Detection | undefined> {
  const given = ["--kills", values.kills, "--stop-at-first"];
  const results = await program<KillResult[]>(tree, "test/crash/main.ts", given);
  const first = results.find(({ violations }) => violations.length > 0);
  if (!first) return undefined;
  return { after: `${results.length} kills`, by: first.violations };
}

/** Returns a copy of the tree, as git has it, without one safety measure. */
function mutatedCopy({ removes, edits }: Mutation): string {
  const tree = mkdtempSync(join(tmpdir(), "utc-mutation-"));
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const files = execFileSync("git", list, { cwd: projectRoot, encoding: "utf8" }).split("\0");
  for (const file of files.filter((name) => name !== "")) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    cpSync(join(projectRoot, file), join(tree, file));
  }
  symlinkSync(join(projectRoot, "node_modules"), join(tree, "node_modules"));
  for (const { file, from, to } of edits) {
    const path = join(tree, file);
    const parts = readFileSync(path, "utf8").split(from);
    if (parts.length !== 2) {
      throw new Error(`${file} has ${parts.length - 1} times what "${removes}" edits: ${from}`);
    }
    writeFileSync(path, parts.join(to));
  }
  return tree;
}

async function program<T>(tree: string, main: string, given: readonly string[]): Promise<T> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...given], {
    cwd: tree,
    maxBuffer: 256 * 1024 * 1024,
  });
  return JSON.parse(stdout) as T;
}
