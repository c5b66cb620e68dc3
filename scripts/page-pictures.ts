/**
 * Takes pictures of every page in each of its states, and tries the page in it: axe, the keyboard
 * alone, less motion, the browser's log.
 *   node scripts/page-pictures.ts [--pictures FOLDER] [--only TEXT]
 * The browser's tests bring the pages into their states (test/browser). The pictures and an
 * index.html with all of them lie in FOLDER, or in a new folder for temporary files; the report
 * that is printed has none. --only runs the tests with TEXT in their names. Exits with 1 when a
 * state has a finding or is not reached, or when a test fails. Needs Chromium and mosquitto.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { type StateRecord, sizes, states } from "../test/browser/pictures.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: { pictures: { type: "string" }, only: { type: "string" } },
});
const startedMs = systemClock.monotonicMs();
const folder = resolve(values.pictures ?? mkdtempSync(join(tmpdir(), "page-pictures-")));
const lines = join(folder, "states.jsonl");
mkdirSync(folder, { recursive: true });
rmSync(lines, { force: true });

const code = await runTests();
const records = new Map(
  (existsSync(lines) ? readFileSync(lines, "utf8").trim().split("\n") : [])
    .map((line) => JSON.parse(line) as StateRecord)
    .map((record) => [record.state, record]),
);
writeFileSync(join(folder, "index.html"), indexPage());
const missing = values.only === undefined ? states.filter((state) => !records.has(state)) : [];
const findings = [
  ...[...records.values()].flatMap((record) => record.findings),
  ...missing.map((state) => `${state}: not reached`),
];
const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1_000);
process.stdout.write(`${seconds} s, pictures: ${join(folder, "index.html")}\n\n${report()}\n`);
if (code !== 0) process.stdout.write(`a test failed: ${join(folder, "tests.txt")}\n`);
process.exitCode = code !== 0 || findings.length > 0 ? 1 : 0;

/** Runs the suites of the pages; returns the exit code. */
async function runTests(): Promise<number> {
  const files = ["pages", "consoles"].map((name) => `test/browser/${name}.test.ts`);
  const named = values.only === undefined ? [] : ["--testNamePattern", values.only];
  const vitest = join(projectRoot, "node_modules/vitest/vitest.mjs");
  const { TEST_SCOPE: _, ...env } = process.env;
  const child = spawn(process.execPath, [vitest, "run", ...files, ...named], {
    cwd: projectRoot,
    env: Object.assign(env, { PICTURES: folder }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = createWriteStream(join(folder, "tests.txt"));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(printed, { end: false });
  const [ended] = await once(child, "close");
  printed.end();
  return ended ?? 1;
}

function report(): string {
  const pages = Map.groupBy(records.values(), ({ state }) => state.split("/")[0] ?? "");
  const rows = [...pages].map(([page, all]) => {
    const found = all.reduce((sum, one) => sum + one.findings.length, 0);
    const names = all.map(({ state }) => state.slice(page.length + 1)).toSorted();
    return `| ${page} | ${names.join(", ")} | ${names.length} | ${countPictures(all)} | ${found} |`;
  });
  const displays = sizes.map(({ width, height }) => `${width} × ${height}`).join(", ");
  const all = [...records.values()];
  return [
    "| page | in the states | states | pictures | findings |",
    "| --- | --- | ---: | ---: | ---: |",
    ...rows.toSorted(),
    "",
    `${all.length} states, ${countPictures(all)} pictures at ${displays}, light and dark; ` +
      `${findings.length} findings.`,
    ...findings.map((finding) => `- \`${finding.replaceAll("`", "'")}\``),
  ].join("\n");
}

function countPictures(all: readonly StateRecord[]): number {
  return all.reduce((sum, { pictures }) => sum + pictures.length, 0);
}

/** A page with a row of pictures for each state. */
function indexPage(): string {
  const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const all = [...records.values()].toSorted((a, b) => (a.state < b.state ? -1 : 1));
  const sections = all.flatMap(({ state, pictures, findings: found }) => {
    const images = pictures.map(
      (file) => `<a href="${file}"><img loading="lazy" src="${file}" alt="${file}"></a>`,
    );
    const list = found.map((finding) => `<li>${escaped(finding)}</li>`);
    return [`<h2>${state}</h2>`, `<ul>${list.join("")}</ul>`, `<p>${images.join("\n")}</p>`];
  });
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pictures of the pages</title>',
    "<style>p{display:flex;gap:8px;overflow-x:auto;align-items:start}",
    "img{height:340px;border:1px solid grey}</style>",
    ...sections,
    "</html>\n",
  ].join("\n");
}
