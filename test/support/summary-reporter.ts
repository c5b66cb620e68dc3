import type { Reporter, TestModule } from "vitest/node";

/** Prints the one closing line that CI and people look for: `N passed, N failed, N skipped`. */
export class SummaryReporter implements Reporter {
  #closingLine = "";

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        counts[state === "pending" ? "skipped" : state] += 1;
      }
      // A file that fails to load has no tests, but it has failed.
      if (module.state() === "failed" && module.errors().length > 0) counts.failed += 1;
    }
    const { passed, failed, skipped } = counts;
    this.#closingLine = `${passed} passed, ${failed} failed, ${skipped} skipped`;
    // After every other reporter has said its last word.
    process.once("exit", () => process.stdout.write(`${this.#closingLine}\n`));
  }
}
