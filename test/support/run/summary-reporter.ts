import type { Reporter, TestModule } from "vitest/node";
import { sleep, systemClock } from "../../../src/shared/time.ts";
import { asSlow } from "../clocks/patience.ts";
import { processesOf, type RunProcess } from "./reap.ts";
import { runFolder } from "./run-folder.ts";

const ENDING_MS = 2_000;

/** Prints the one closing line that CI and people look for: `N passed, N failed, N skipped`. */
export class SummaryReporter implements Reporter {
  async onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
  ): Promise<void> {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        counts[state === "pending" ? "skipped" : state] += 1;
      }
      // A file that fails to load has no tests, but it has failed.
      if (module.state() === "failed" && module.errors().length > 0) counts.failed += 1;
    }
    for (const { args } of await stillRunning()) {
      process.stdout.write(`not ended: ${args}\n`);
      process.exitCode = 1;
      counts.failed += 1;
    }
    const { passed, failed, skipped } = counts;
    const closingLine = `${passed} passed, ${failed} failed, ${skipped} skipped`;
    // After every other reporter has printed its end.
    process.once("exit", () => process.stdout.write(`${closingLine}\n`));
  }
}

/**
 * What still runs when all tests are over: a test has started it and did not see to its end. One
 * that is about to end is given time; vitest's own workers are its children.
 */
async function stillRunning(): Promise<readonly RunProcess[]> {
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    const left = processesOf(runFolder).filter(({ parent }) => parent !== process.pid);
    if (left.length === 0 || systemClock.monotonicMs() - startedMs > asSlow(ENDING_MS)) return left;
    await sleep(systemClock, "leftovers", 20);
  }
}
