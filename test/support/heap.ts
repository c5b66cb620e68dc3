import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** However many runs: caches of the runtime itself need a few megabytes. */
const GROWTH_BYTES_MAX = 8_000_000;

/** Bytes that are really in use: what is left after a full garbage collection. */
async function usedHeapBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Asserts that `work` leaves nothing behind; its first tenth fills the runtime's own caches. */
export async function withoutGrowth(
  runs: number,
  work: (run: number) => Promise<void> | void,
): Promise<void> {
  const warm = Math.ceil(runs / 10);
  let usedBytes = 0;
  for (let run = 0; run < runs; run++) {
    if (run === warm) usedBytes = await usedHeapBytes();
    await work(run);
  }
  const growthBytes = (await usedHeapBytes()) - usedBytes;
  process.stdout.write(`${runs} runs, heap grew by ${Math.round(growthBytes / 1000)} kB\n`);
  expect(growthBytes).toBeLessThan(GROWTH_BYTES_MAX);
}
