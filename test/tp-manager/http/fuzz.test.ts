import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { fuzz } from "./fuzz.ts";
import { listening } from "./listening.ts";

/** What a run may leave behind: the journal's statements and page cache, not the requests. */
const GROWTH_MAX_BYTES = 32 * 1024 * 1024;

test("wrong requests get documented answers, harm nothing and leave no memory behind", async () => {
  const count = Number(process.env["FUZZ_REQUESTS"] ?? 2_000);
  const seed = Number(process.env["FUZZ_SEED"] ?? 20_260_115);
  const { port, get, at } = await listening();
  await fuzz(port, 500, seed + 1);
  const beforeBytes = await usedBytes();
  const { sent, statuses, problems } = await fuzz(port, count, seed);
  const growth = (await usedBytes()) - beforeBytes;
  const seen = Object.fromEntries([...statuses].sort(([a], [b]) => a - b));
  process.stdout.write(`${sent} requests, answers ${JSON.stringify(seen)}, +${growth} bytes\n`);
  expect(problems).toEqual([]);
  expect(sent).toBe(count);
  // It reached the payment as well as the refusals, and still works.
  expect(Object.keys(seen)).toEqual(expect.arrayContaining(["200", "400", "401", "403", "405"]));
  expect(at.terminal.paid.length).toBeGreaterThan(10);
  expect((await get("/health")).status).toBe(200);
  expect(growth).toBeLessThan(GROWTH_MAX_BYTES);
});

/** What is in use once everything unused has been collected; what a collection frees, too. */
async function usedBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 4; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
