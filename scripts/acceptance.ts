/**
 * What a release is tried with, and takes too long for every change.
 *   npm run acceptance -- [--part NAME] [--list] [--quick] [--to FOLDER]
 *     [--publish] [--reports FOLDER]
 * Runs the parts one after the other and keeps what each printed in data/acceptance or in FOLDER,
 * below the name of the commit. A part that passed there is not run again, so a run that was cut
 * off goes on with the next call. --part runs one part, --list prints the parts and what became of
 * them. --publish writes to docs/reports or FOLDER what each part printed when it passed last, and
 * acceptance.md, the report of the version: each part with what it shows, its result, its commit
 * and its machine. A part that lacks something on this machine ends with 77 and counts as skipped.
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
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { exitCodes } from "../src/shared/process/exit-codes.ts";
import { versionNumber } from "../src/shared/program/installation.ts";
import { systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { misused, readArguments } from "./command-line.ts";

interface Part {
  /** The path of the program in the project. */
  readonly program: string;
  readonly words: readonly string[];
  /** The arguments with which the part takes less time. */
  readonly quick: readonly string[];
  /** What it shows that the part passed, for the report of the version. */
  readonly shows: string;
}

const wrote = "`npm run acceptance -- --publish` wrote this page.";
const vitest = "node_modules/vitest/vitest.mjs";
/** The exit code of a part that cannot run on this machine; its last line says what is missing. */
const skipped = 77;

const knowledge = (family: string, terminals = `a terminal of ${family}`): Part => ({
  shows: `no verdict about ${terminals} says more than its facts`,
  program: "scripts/knowledge.ts",
  words: ["--family", family],
  quick: ["--family", family, "--faults", "1", "--worlds", "2"],
});

/** The parts of the acceptance; each takes less than an hour on two idle processors. */
const parts: Readonly<Record<string, Part>> = {
  tests: {
    shows: "every test passes, with its tables in full",
    program: vitest,
    words: ["run"],
    quick: ["run", "test/explore"],
  },
  simulation: {
    shows: "faults in any order break no promise about money",
    program: "scripts/chaos.ts",
    words: ["--runs", "10000", "--kills", "0", "--sessions", "0"],
    quick: ["--runs", "20", "--kills", "0", "--sessions", "0"],
  },
  kills: {
    shows: "a killed program and a power cut lose nothing that was answered",
    program: "scripts/chaos.ts",
    words: ["--runs", "0", "--kills", "1000"],
    quick: ["--runs", "0", "--kills", "5", "--sessions", "1", "--houses", "1"],
  },
  explore: {
    shows: "no order of messages breaks a rule of a payment",
    program: "scripts/explore.ts",
    words: [],
    quick: ["--only", "one that stores its reversals; it is swapped"],
  },
  "update-kills": {
    shows: "an update that is killed in any step leaves a kiosk that pays",
    program: "scripts/update-kills.ts",
    words: ["--kills", "200"],
    quick: ["--kills", "2", "--houses", "1"],
  },
  "knowledge-zvt": knowledge("zvt"),
  "knowledge-concert": knowledge("concert"),
  "knowledge-caisse-ap": knowledge("caisse-ap"),
  "knowledge-by-id": knowledge("by-id", "a nexo terminal, which is asked by id,"),
  shop: {
    shows: "no verdict of a busy shop says more than its facts",
    program: "scripts/knowledge.ts",
    words: ["--shop"],
    quick: ["--shop", "--payments", "20"],
  },
  mutations: {
    shows: "no safety measure is without a test that notices its removal",
    program: "scripts/mutations.ts",
    words: [],
    quick: ["--only", "write-ahead record (kept"],
  },
  "fuzz-zvt": {
    shows: "no bytes of a ZVT terminal stop the program",
    program: "scripts/fuzz-zvt.ts",
    words: [],
    quick: ["--runs", "20000"],
  },
  "fuzz-concert": {
    shows: "no bytes of a Concert terminal stop the program",
    program: "scripts/fuzz-concert.ts",
    words: [],
    quick: ["--runs", "1000"],
  },
  "fuzz-api": {
    shows: "no request to the local API stops the program",
    program: "scripts/fuzz-api.ts",
    words: [],
    quick: ["--requests", "2000"],
  },
  "card-numbers": {
    shows: "no card number that comes in by any way is in a file, unmasked",
    program: "scripts/card-numbers.ts",
    words: [],
    quick: ["--only", "caisse-ap"],
  },
  package: {
    shows: "the Debian package installs, pays, upgrades and is purged without losing an order",
    program: "scripts/package-trial.ts",
    words: [],
    quick: ["--quick"],
  },
  "fleet-pack": {
    shows: "an alert about a kiosk that is unplugged arrives at a webhook within two minutes",
    program: "scripts/fleet-trial.ts",
    words: [],
    quick: ["--kiosks", "5"],
  },
  herd: {
    shows: "a thousand kiosks come back, update and raise alarms at one broker evenly, each once",
    program: "scripts/fleet-crowd.ts",
    words: [],
    quick: ["--kiosks", "40", "--outage", "1", "--minute", "20"],
  },
  pictures: {
    shows: "each page is drawn without a finding of accessibility or layout",
    program: "scripts/page-pictures.ts",
    words: [],
    quick: ["--only", "the sandbox's page"],
  },
  peers: {
    shows: "SOAP clients, registers and terminals of others work with these programs",
    program: vitest,
    words: ["run", "test/foreign", "test/independent"],
    quick: ["run", "test/foreign/verifiers.test.ts"],
  },
  conformance: {
    shows: "the update client passes the public conformance suite for TUF clients",
    program: "scripts/conformance.ts",
    words: [],
    quick: [],
  },
  rebuild: {
    shows: "a release has the same bytes for two builders, folders, umasks, zones and users",
    program: "scripts/rebuild.ts",
    words: [],
    quick: ["--platform", "linux-x64"],
  },
  bench: {
    shows: "what a payment costs, compared with the floor",
    program: "scripts/bench.ts",
    words: ["--markdown"],
    quick: ["--runs", "1", "--payments", "5", "--warm-up", "5", "--counted", "1"],
  },
  waterfall: {
    shows: "where the time of a payment goes",
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
if (values.publish) publish();
for (const [name] of chosen) process.stdout.write(`${name.padEnd(20)} ${becameOf(name)}\n`);
const isAllWell = chosen.every(([name]) => /^(?:passed|skipped)/.test(becameOf(name)));
process.exit(!isRun || isAllWell ? exitCodes.ok : 1);

async function run(name: string, { program, words: given, quick }: Part): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  process.stdout.write(`${name} ...\n`);
  const child = spawn(process.execPath, [program, ...(values.quick ? quick : given)], {
    cwd: projectRoot,
    // With TEST_SCOPE the tests run their tables in full, also the tests of mutations.
    env: {
      ...process.env,
      ACCEPTANCE_FOLDER: folder,
      ...(values.quick ? {} : { TEST_SCOPE: "whole" }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = createWriteStream(join(folder, `${name}.txt`));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(printed, { end: false });
  const [code] = await once(child, "close");
  printed.end();
  const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1_000);
  const failed = code === skipped ? "skipped" : `failed with ${code}`;
  const how = code === 0 ? "passed" : `${failed}, see ${name}.txt,`;
  const day = new Date(systemClock.now()).toISOString().slice(0, 10);
  writeFileSync(resultOf(name), `${how} in ${seconds} s on ${day}, ${machine()}\n`);
}

function machine(): string {
  const processor = cpus()[0]?.model.trim() ?? "unknown processor";
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const system = `${type()} ${release()}`;
  const cores = `${availableParallelism()} cores of ${processor}`;
  return `${cores}, ${memory}, ${system}, ${process.version}`;
}

interface Run {
  /** The commit, shortened. */
  readonly commit: string;
  readonly became: string;
}

/** Returns the runs of a part, of any commit, the newest first. */
function runsOf(name: string): readonly Run[] {
  return readdirSync(values.to)
    .filter((each) => !each.endsWith("-quick"))
    .map((each) => ({ commit: each, result: join(values.to, each, `${name}.result`) }))
    .filter(({ result }) => existsSync(result))
    .toSorted((a, b) => statSync(b.result).mtimeMs - statSync(a.result).mtimeMs)
    .map(({ commit, result }) => ({ commit, became: readFileSync(result, "utf8").trim() }));
}

/** Writes the page of the newest run of a part that passed. */
function publishPart(name: string, { commit, became }: Run): void {
  const text = readFileSync(join(values.to, commit, `${name}.txt`), "utf8");
  const lines = stripVTControlCharacters(text).trim().split("\n");
  // Of tests only the last line, their number, is printed; no line such as "10 s, zvt: ...", which
  // a part prints while it runs, and no line in which vitest names the folder.
  const isOfTests = parts[name]?.program === vitest;
  const printed = isOfTests
    ? lines.slice(-1)
    : lines.filter((line) => !/^\d+ s, |^ ?RUN /.test(line));
  const head = `\`npm run acceptance -- --part ${name}\` on ${commit}: ${became}. ${wrote}`;
  const page = [`# Acceptance: ${name}`, "", head, "", ...printed, ""];
  writeFileSync(join(values.reports, `${name}.md`), page.join("\n"));
}

/** Writes the pages of the parts, and the report of the version: each part with its newest run. */
function publish(): void {
  mkdirSync(values.reports, { recursive: true });
  const rows = chosen.map(([name, { shows }]) => {
    const runs = runsOf(name);
    const passed = runs.find(({ became }) => became.startsWith("passed"));
    if (passed) publishPart(name, passed);
    const page = passed ? `[${name}](${name}.md)` : name;
    const { became, commit } = runs[0] ?? { became: "not run", commit: "" };
    return `| ${page} | ${shows} | ${became} | ${commit} |`;
  });
  if (values.part !== undefined) return;
  const title = `# Acceptance of version ${versionNumber}`;
  const of = `The newest run of each part, and the commit that it ran on. ${wrote}`;
  const head = ["| part | what it shows | result | commit |", "| --- | --- | --- | --- |"];
  const report = [title, "", of, "", ...head, ...rows, ""].join("\n");
  writeFileSync(join(values.reports, "acceptance.md"), report);
}
