import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test as alone, expect, type TestContext } from "vitest";
import { root } from "../../tidy/sources.ts";
import { PATIENCE_MS } from "../clocks/patience.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { processesOf } from "../run/reap.ts";
import { until } from "./child-program.ts";
import { startProcess } from "./own-processes.ts";

/** Each is a run of vitest, which waits more than it works. */
const test = alone.concurrent;

const config = `
import { defineConfig } from "vitest/config";
import "${root}/test/support/run/run-folder.ts";
import { SummaryReporter } from "${root}/test/support/run/summary-reporter.ts";
export default defineConfig({
  test: {
    testTimeout: ${PATIENCE_MS},
    expect: { poll: { timeout: ${PATIENCE_MS} } },
    reporters: [new SummaryReporter()],
    setupFiles: ["${root}/test/support/run/end-of-test.ts"],
  },
});`;

/** Each test starts a process and writes its id; a shell prints the id of one that it detached. */
const tests = `
import { appendFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { startProcess } from "${root}/test/support/programs/own-processes.ts";
const note = (name, pid) => appendFileSync("pids", \`\${name} \${pid}\\n\`);
const start = (name) => {
  const { pid } = startProcess(process.execPath, ["-e", "setInterval(() => 0, 1000)"]);
  note(name, pid);
  return pid;
};
const startDetached = (name) => new Promise((resolve) => {
  const shell = startProcess("sh", ["-c", "setsid sleep 1000 > /dev/null 2>&1 & echo $!"]);
  shell.stdout.on("data", (pid) => resolve(note(name, String(pid).trim())));
});
const runs = (pid) => { try { return process.kill(pid, 0); } catch { return false; } };
`;

/** A run of vitest in a process of its own, with one file of tests. */
function vitest(file: string, { onTestFinished }: TestContext) {
  const folder = temporaryFolder(onTestFinished);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "vitest.config.ts"), config);
  writeFileSync(join(folder, "own.test.ts"), `${tests}\n${file}`);
  const temporary = join(folder, "temporary");
  mkdirSync(temporary);
  const { TEST_RUN_FOLDER: _, ...outer } = process.env;
  const child = startProcess(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run"],
    { cwd: folder, env: { ...outer, TMPDIR: temporary, TEST_SLOWNESS: "1" } },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  /** Of the processes that its tests have started, by name. */
  const started = (): Record<string, string> => {
    const notes = join(folder, "pids");
    const lines = existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : [];
    return Object.fromEntries(lines.map((line) => line.split(" ")));
  };
  const gone = () =>
    until("nothing is left", () => {
      const runs = readdirSync(temporary).filter((name) => name.startsWith("utc-run-"));
      const left = processesOf(temporary);
      return (runs.length === 0 && left.length === 0) || undefined;
    });
  return { child, ended, output: () => output, started, gone };
}

test("tests that fail or take too long end what they have started", async (context) => {
  const run = vitest(
    `
    const pids = {};
    test("fails", () => { pids.failed = start("failed"); expect(1).toBe(2); });
    test("takes too long", { timeout: 500 }, async () => {
      pids.late = start("late");
      await new Promise(() => {});
    });
    test("passes", () => { pids.shared = start("shared"); });
    test("comes after them", async () => {
      await expect.poll(() => Object.keys(pids).filter((name) => runs(pids[name])))
        .toEqual(["shared"]);
    });`,
    context,
  );
  expect(await run.ended).toBe(1);
  expect(Object.keys(run.started())).toEqual(["failed", "late", "shared"]);
  expect(run.output()).toMatch(/\n2 passed, 2 failed, 0 skipped\n$/);
  expect(run.output()).not.toContain("not ended");
  await run.gone();
});

test("a process that a test has detached and left is a failure, and ended", async (context) => {
  const run = vitest(
    `
    test("leaves one", async () => { await startDetached("detached"); });`,
    context,
  );
  expect(await run.ended).toBe(1);
  expect(run.output()).toMatch(/not ended: sleep 1000/);
  expect(run.output()).toMatch(/\n1 passed, 1 failed, 0 skipped\n$/);
  await run.gone();
});

test("a run that is killed leaves nothing", async (context) => {
  const run = vitest(
    `
    test("never ends", async () => {
      start("own");
      await startDetached("detached");
      for (;;) {}
    });`,
    context,
  );
  await until("both run", () => run.started()["detached"]);
  run.child.kill("SIGKILL");
  await run.ended;
  await run.gone();
});
