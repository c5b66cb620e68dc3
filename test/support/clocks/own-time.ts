import { readFileSync } from "node:fs";

/**
 * How long `work` takes, in milliseconds, without the time in which this process or one of `pids`
 * could have run and another program of the machine had the processor (Linux; 0 elsewhere).
 */
export async function ownTimeOf(pids: readonly number[], work: () => Promise<void> | void) {
  const all = [process.pid, ...pids];
  const queued = (): number => all.reduce((sum, pid) => sum + queuedMs(pid), 0);
  const beforeMs = queued();
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs - (queued() - beforeMs);
}

/** Time that the main thread of a process has waited for a processor. */
export function queuedMs(pid: number): number {
  try {
    // proc(5), schedstat: time on the processor, time on a run queue, slices; nanoseconds.
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
