import { expect } from "vitest";
import { heapInUse } from "./heap.ts";

/** However many runs: caches of the runtime itself need a few megabytes. */
const GROWTH_BYTES_MAX = 8_000_000;

/** Asserts that `work` leaves nothing on the heap; its first tenth fills the runtime's caches. */
export async function withoutGrowth(
  runs: number,
  work: (run: number) => Promise<void> | void,
): Promise<void> {
  const warm = Math.ceil(runs / 10);
  let usedBytes = 0;
  for (let run = 0; run < runs; run++) {
    if (run === warm) usedBytes = await settledHeap();
    await work(run);
  }
  const growthBytes = (await settledHeap()) - usedBytes;
  process.stdout.write(`${runs} runs, heap grew by ${Math.round(growthBytes / 1000)} kB\n`);
  expect(growthBytes).toBeLessThan(GROWTH_BYTES_MAX);
}

/** Measured after the callbacks that free what a collection has found. */
async function settledHeap(): Promise<number> {
  heapInUse();
  await new Promise((resolve) => setImmediate(resolve));
  return heapInUse();
}
