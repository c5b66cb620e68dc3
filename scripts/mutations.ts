/**
 * Proves that the chaos run can fail: takes one safety measure after the other out of a copy of the
 * tree and lets the simulation look for it, then kills.
 *   npm run mutations -- [--runs 5000] [--kills 60]
 * Prints by which sentences each was found and after how many runs; exits with 1 when one was not.
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
import { parseArgs, promisify } from "node:util";
import { projectRoot } from "../src/shared/installation.ts";
import type { KillResult } from "../test/crash/crash-house.ts";
import { type Mutation, mutations } from "../test/crash/mutations.ts";
import type { Tally } from "../test/simulation/tally.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "5000" },
    kills: { type: "string", default: "60" },
  },
});

process.stdout.write("| removed | found after | by |\n| --- | --- | --- |\n");
let missed = 0;
for (const mutation of mutations) {
  const tree = mutatedCopy(mutation);
  try {
    const found = (await simulated(tree)) ?? (await killed(tree));
    if (!found) missed += 1;
    const { after, by } = found ?? { after: "not found", by: [] };
    process.stdout.write(`| ${mutation.removes} | ${after} | ${by.join("; ")} |\n`);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
process.exitCode = missed > 0 ? 1 : 0;

interface Found {
  readonly after: string;
  readonly by: readonly string[];
}

async function simulated(tree: string): Promise<Found | undefined> {
  const main = "test/simulation/main.ts";
  const given = ["--from", "1", "--runs", values.runs, "--stop-at-first", "--no-shrink"];
  const { firstViolation } = await program<Tally>(tree, main, given);
  if (!firstViolation) return undefined;
  const { run, invariants } = firstViolation;
  return { after: `${run} simulated ${run === 1 ? "run" : "runs"}`, by: invariants };
}

async function killed(tree: string): Promise<Found | undefined> {
  const given = ["--kills", values.kills, "--stop-at-first"];
  const results = await program<KillResult[]>(tree, "test/crash/main.ts", given);
  const first = results.find(({ violations }) => violations.length > 0);
  if (!first) return undefined;
  return { after: `${results.length} kills`, by: first.violations };
}

/** What git knows of this tree, with one thing missing. */
function mutatedCopy({ removes, edits }: Mutation): string {
  const tree = mkdtempSync(join(tmpdir(), "utc-mutation-"));
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const files = execFileSync("git", list, { cwd: projectRoot, encoding: "utf8" }).split("\0");
  for (const file of files.filter((name) => /^(src|test|package\.json)/.test(name))) {
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
