import { join } from "node:path";
import { expect, test } from "vitest";
import { runToEnd } from "../support/programs/own-processes.ts";
import { isWhole } from "../support/run/scope.ts";
import { root } from "../tidy/sources.ts";
import { BY_ID_SEEDS } from "./by-id/by-id-plan.ts";
import { ONE_WAY_SEEDS } from "./one-way/one-way-plan.ts";
import { planOf } from "./plan-of-seed.ts";
import type { Tally } from "./tally.ts";

/** In a process of its own: a simulated process may end by an error that nobody caught. */
async function simulate(...given: string[]): Promise<{ tally: Tally; timeline: string }> {
  const main = join(root, "test/simulation/main.ts");
  const { stdout, stderr } = await runToEnd(process.execPath, [main, ...given]);
  return { tally: JSON.parse(stdout) as Tally, timeline: stderr };
}

/** Enough for every kind of fault; ten thousand runs and other seeds are `npm run chaos`. */
const RUNS = isWhole ? 150 : 60;
const ONE_WAY_RUNS = isWhole ? 60 : 50;

test("no promise about the money is broken in many runs full of faults", async () => {
  const { tally, timeline } = await simulate("--from", "1", "--runs", `${RUNS}`);
  expect([tally.violations, timeline]).toEqual([0, ""]);
  expect(tally.runs).toBe(RUNS);
  // The faults did strike and orders did get through.
  expect(Object.keys(tally.byFault).length).toBeGreaterThan(25);
  expect(tally.byFault["crash"]?.ends["Success"]).toBeGreaterThan(0);
});

test("no promise is broken at one-way terminals (docs/rules/25-one-way.md)", async () => {
  const given = ["--from", `${ONE_WAY_SEEDS + 1}`, "--runs", `${ONE_WAY_RUNS}`];
  const { tally, timeline } = await simulate(...given);
  expect([tally.violations, timeline]).toEqual([0, ""]);
  const faults = Object.keys(tally.byFault).filter((fault) => fault.startsWith("cannot be asked"));
  expect(faults.length).toBeGreaterThan(15);
  expect(tally.byFault["cannot be asked: result after the 504"]?.ends["Success"]).toBeGreaterThan(
    0,
  );
});

test("no promise is broken at terminals that are asked by id", async () => {
  const given = ["--from", `${BY_ID_SEEDS + 1}`, "--runs", `${ONE_WAY_RUNS}`];
  const { tally, timeline } = await simulate(...given);
  expect([tally.violations, timeline]).toEqual([0, ""]);
  const faults = Object.keys(tally.byFault).filter((fault) => fault.startsWith("by id"));
  expect(faults.length).toBeGreaterThan(10);
  expect(tally.byFault["by id: answer lost"]?.ends["Success"]).toBeGreaterThan(0);
});

test.each([
  ["an unreadable journal while a result is judged", 1_001_001_616],
  ["the attempt that paid is in no database any more", 1_003_778],
  ["a program ends at a result in place of an ACK", 1_001_001_397],
])("no promise is broken any more: %s", async (_what, seed) => {
  const { tally, timeline } = await simulate("--from", `${seed}`, "--runs", "1");
  expect([tally.violations, timeline]).toEqual([0, ""]);
});

test("a seed replays exactly", async () => {
  const timelines = await Promise.all([1, 2].map(() => simulate("--seed", "944")));
  const [one, two] = timelines.map(({ timeline }) =>
    timeline
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "id")
      .replace(/"time":"[^"]*"/g, "")
      .replace(/"stack":"[^"]*"/g, ""),
  );
  expect(one).not.toBe("");
  expect(one).toBe(two);
  expect(planOf(944)).toEqual(planOf(944));
});
