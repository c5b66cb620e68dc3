import { expect, test } from "vitest";
import { reconnectDelayMs } from "../../../src/supervisor/fleet/fleet-link.ts";

const between = (because: "failed" | "twin", failures: number): number[] =>
  [0, 1].map((random) => reconnectDelayMs(because, failures, random) / 1_000);

test("the first tries are spread over 30 s, the later ones over half of a growing wait", () => {
  expect([1, 2, 5, 6, 10, 11, 99].map((failures) => between("failed", failures))).toEqual([
    [1, 30],
    [2, 30],
    [15, 30],
    [16, 32],
    [256, 512],
    [450, 900],
    [450, 900],
  ]);
});

test("with a twin the wait is 5 to 10 minutes, or the longer wait after failures", () => {
  expect([1, 9, 11].map((failures) => between("twin", failures))).toEqual([
    [300, 600],
    [300, 600],
    [450, 900],
  ]);
});
