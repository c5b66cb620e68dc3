import { expect, test } from "vitest";
import { operationLookups } from "../../../src/supervisor/operations/operation-lookups.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";

test("a lookup of a settled operation does not delay the lookups of the next one", async () => {
  const clock = new TestClock();
  const atMs: number[] = [];
  const lookups = operationLookups(clock, (id) => {
    atMs.push(clock.now());
    if (atMs.length === 3) lookups.begin(id); // the next operation of the transaction is unknown
    return Promise.resolve(true);
  });
  const begunMs = clock.now();
  lookups.begin("a");
  await clock.advance(8 * 60_000);
  await lookups.stop();
  expect(atMs.map((ms) => (ms - begunMs) / 60_000)).toEqual([1, 3, 7, 8]);
});
