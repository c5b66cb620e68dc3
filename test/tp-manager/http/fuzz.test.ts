import { expect, test } from "vitest";
import { isWhole } from "../../support/run/scope.ts";
import { fuzzRun } from "./fuzz-run.ts";

/** Less than a kilobyte for each request, and more than compiled code and SQL plans need. */
const GROWTH_MAX_BYTES = 3 * 1024 * 1024;

test("random wrong requests get documented answers, harm nothing and leak no memory", async () => {
  const { statuses, problems, usedBytes, chargedMinor } = await fuzzRun({
    seed: 20_260_115,
    marks: isWhole ? [2_000, 5_000] : [500, 1_000],
  });
  expect(problems).toEqual([]);
  // The requests reached payments as well as refusals, and the program still works.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405]));
  expect(chargedMinor).toBeGreaterThan(1_000);
  const [before = 0, after = 0] = usedBytes;
  expect(after - before).toBeLessThan(GROWTH_MAX_BYTES);
});
