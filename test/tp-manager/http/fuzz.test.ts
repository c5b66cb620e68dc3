import { expect, test } from "vitest";
import { isWhole } from "../../support/scope.ts";
import { fuzzRun } from "./fuzz-run.ts";

/** A kilobyte kept of each request would be found; what code and plans of SQL take is not. */
const GROWTH_MAX_BYTES = 3 * 1024 * 1024;

test("wrong requests get documented answers, harm nothing and leave no memory behind", async () => {
  const { statuses, problems, usedBytes, chargedMinor } = await fuzzRun({
    seed: 20_260_115,
    marks: isWhole ? [2_000, 5_000] : [1_000, 2_000],
  });
  expect(problems).toEqual([]);
  // It reached the payment as well as the refusals, and still works.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405]));
  expect(chargedMinor).toBeGreaterThan(1_000);
  const [before = 0, after = 0] = usedBytes;
  expect(after - before).toBeLessThan(GROWTH_MAX_BYTES);
});
