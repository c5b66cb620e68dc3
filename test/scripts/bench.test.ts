import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/shared/time.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { startProcess } from "../support/programs/own-processes.ts";
import { processesOf, reap } from "../support/run/reap.ts";

/** After this time the bench is ended, so that a busy machine does not make the tests longer. */
const LIMIT_MS = 40_000;
/** The bench itself, the product's programs, the bare server and the first of the others. */
const PROGRAMS = 5;

/** Starts a bench; `end` ends it with everything that it has started, however it was started. */
function startBench(args: readonly string[]) {
  const folder = temporaryFolder();
  const command = [join(projectRoot, "scripts/bench.ts"), ...args];
  const bench = startProcess(process.execPath, command, {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [bench.stdout, bench.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      printed += chunk.toString("utf8");
    });
  }
  const ended = new Promise<void>((resolve) => bench.once("close", () => resolve()));
  return {
    ended,
    printed: () => printed,
    running: () => processesOf(folder),
    end: () => reap(folder),
  };
}

const onLinux = test.runIf(process.platform === "linux");

onLinux("a short bench prints its ratios, for people to read, and leaves nothing", async () => {
  const bench = startBench("--runs 1 --payments 25 --warm-up 25 --counted 0".split(" "));
  const limit = systemClock.startTimer("bench", LIMIT_MS, bench.end);
  await bench.ended;
  limit.clear();
  // No number fails the tests, as each depends on the other work of the machine.
  const printed = bench.printed() || `ended after ${LIMIT_MS / 1_000} s without a result\n`;
  process.stdout.write(`\nnpm run bench, one short run next to the tests:\n${printed}\n`);
  expect(bench.running()).toEqual([]);
});

onLinux("a bench that is ended takes everything with it that it has started", async () => {
  const bench = startBench(["--runs", "1", "--payments", "100000"]);
  await until("programs of all kinds run", () => bench.running().length >= PROGRAMS || undefined);
  bench.end();
  await bench.ended;
  expect(bench.running()).toEqual([]);
});
