import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { type Commit, ProgramTrace } from "../../scripts/bench/trace.ts";
import { type Moment, rowsOf, type Spent, waterfallOf } from "../../scripts/bench/waterfall.ts";
import { pictureOf } from "../../scripts/bench/waterfall-picture.ts";
import { projectRoot } from "../../src/shared/version-files.ts";

const ours = pathToFileURL(`${projectRoot}/src/tp-manager/orders/orders.ts`).href;
const frame = (functionName: string, url = "") => ({
  functionName,
  url,
  scriptId: "0",
  lineNumber: 6,
  columnNumber: 0,
});
/** 2 waits, 3 is ours, 4 is a statement that 3 runs, 5 is of Node.js and called by 3. */
const nodes = [
  { id: 1, callFrame: frame("(root)"), children: [2, 3] },
  { id: 2, callFrame: frame("(idle)") },
  { id: 3, callFrame: frame("pay", ours), children: [4, 5] },
  { id: 4, callFrame: frame("run") },
  { id: 5, callFrame: frame("emit", "node:events") },
];

/** A trace with a sample of these nodes every 100 us, the first at `startTime`. */
function traced(samples: readonly number[], commits: readonly Commit[] = [], startTime = 0) {
  const timeDeltas = samples.map((_, i) => (i === 0 ? 0 : 100));
  const profile = { nodes, startTime, endTime: 0, samples: [...samples], timeDeltas };
  return new ProgramTrace({ fromUs: 0, profile, moments: [], commits });
}

test("samples divide a span, and a commit is measured by the clock", () => {
  // In the commit no sample is taken but the one at its end.
  const trace = traced([2, 2, 3, 3, 4, 5, 3, 2, 2, 2], [{ fromUs: 550, toUs: 650, cpuUs: 30 }]);
  const { slices, diskUs } = trace.spent([[0, 1_000]]);
  const us = slices.map(({ frame, us: mean }) => [frame.file, frame.name, Math.round(mean)]);
  expect(us).toEqual([
    ["(idle)", "(idle)", 500],
    ["src/tp-manager/orders/orders.ts", "pay:7", 200],
    ["node:sqlite", "run", 100],
    ["node:events", "emit", 100],
    ["node:sqlite", "COMMIT", 30],
  ]);
  expect(diskUs).toBe(70);
  const owners = new Set(slices.map(({ frame: { owner } }) => owner));
  expect(owners).toContain("src/tp-manager/orders/orders.ts");
  expect(owners).not.toContain("node:events");
});

test("a profile of another clock is refused", () => {
  expect(() => traced([2], [], -5)).toThrow("another clock");
});

/** Payments of 1 ms; the terminal takes 300 us and 500 us in turn. */
const payments = Array.from({ length: 10 }, (_, i) => ({
  postUs: i * 2_000,
  answerUs: i * 2_000 + 1_000,
  untilUs: i * 2_000 + 1_500,
}));
const moments = payments.flatMap(({ postUs }, i): Moment[] => [
  { us: postUs + 100, lane: "tp-manager", what: "request" },
  { us: postUs + 200, lane: "tp-manager", what: "write terminal" },
  { us: postUs + 220, lane: "terminal", what: "heard", message: "the payment" },
  { us: postUs + 500 + 200 * (i % 2), lane: "terminal", what: "sent", message: "the report" },
  { us: postUs + 900, lane: "tp-manager", what: "write kiosk" },
]);
const samples = Array.from({ length: 200 }, (_, i) => (i % 20 < 10 ? 3 : 2));
const traces = { "tp-manager": traced(samples), supervisor: traced(samples.map(() => 2)) };

test("the steps of a payment add up to its time", () => {
  const { steps, share } = waterfallOf(payments, moments, traces);
  expect(share).toBe(1);
  expect(steps.map(({ name }) => name)).toEqual([
    "tp-manager: the request arrives",
    "tp-manager: until it sends the payment",
    "terminal: the terminal sends the report",
    "tp-manager: until it answers",
    "kiosk: the answer arrives",
  ]);
  expect(steps.at(-1)?.toUs).toBe(1_000);
  const terminal = steps[2];
  expect(terminal?.parts).toEqual([{ wait: "terminal", us: 400 }]);
  expect(terminal?.meanwhile).toMatchObject([{ program: "tp-manager", us: 400 }]);
});

test("the table has each file's time before and after the answer", () => {
  const { payments: middle } = waterfallOf(payments, moments, traces);
  const spent: Spent[] = [
    { column: "before", spans: middle.map((one) => [one.postUs, one.answerUs]), traces },
    { column: "after", spans: middle.map((one) => [one.answerUs, one.untilUs]), traces },
  ];
  const [row] = rowsOf(spent, ({ file }) => file);
  expect(row).toMatchObject({
    program: "tp-manager",
    name: "src/tp-manager/orders/orders.ts",
    us: { before: 1_000, after: 0, later: 0 },
  });
});

test("the picture is whole XML and names each step", () => {
  const { steps } = waterfallOf(payments, moments, traces);
  const picture = pictureOf({ steps, after: [], title: "a < b", lines: ["one"] });
  expect(picture).toContain("a &lt; b");
  for (const { name } of steps) expect(picture).toContain(`>${name}</text>`);
  const open: string[] = [];
  for (const [, slash, name = "", isEmpty] of picture.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)) {
    if (slash) expect(open.pop()).toBe(name);
    else if (!isEmpty) open.push(name);
  }
  expect(open).toEqual([]);
});
