import { defineConfig } from "vitest/config";
import { PATIENCE_MS, TEST_LIMIT_MS } from "./test/support/clocks/patience.ts";
import { LongestFirst } from "./test/support/run/longest-first.ts";
import { measuring } from "./test/support/run/measuring.ts";
import "./test/support/run/memory-folder.ts";
import "./test/support/run/run-folder.ts";
import { SummaryReporter } from "./test/support/run/summary-reporter.ts";

/**
 * The young heap of a worker begins as large as it may become: a small one is collected hundreds of
 * times before it has grown, which takes a fifteenth of the processor time of tests that compute.
 */
const execArgv = ["--min-semi-space-size=16"];

export default defineConfig({
  test: {
    reporters: ["default", new SummaryReporter()],
    // Most of a test's time is waiting for processes, ptys and protocol timers, not computing: six
    // workers leave a fifth of two processors idle, four a quarter.
    maxWorkers: 6,
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    expect: { poll: { timeout: PATIENCE_MS, interval: 20 } },
    sequence: { sequencer: LongestFirst },
    setupFiles: ["test/support/run/end-of-test.ts"],
    // Node.js strips the types itself; what it has compiled stays in the run's cache.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      // The files share what one of them has read and parsed.
      {
        extends: true,
        test: { name: "tidy", include: ["test/tidy/**/*.test.ts"], isolate: false },
      },
      {
        extends: true,
        test: {
          name: "main",
          include: ["test/**/*.test.ts"],
          exclude: ["test/tidy/**", "test/browser/**", ...measuring],
          isolate: false,
          execArgv,
          globalSetup: ["test/support/run/bundled-programs.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "measuring",
          include: [...measuring],
          // Two of them replace a module.
          experimental: { viteModuleRunner: true },
          globalSetup: ["test/support/run/bundled-programs.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          isolate: false,
          globalSetup: ["test/support/run/bundled-programs.ts"],
          // A look into a page makes two processes compute.
          expect: { poll: { timeout: PATIENCE_MS, interval: 50 } },
        },
      },
    ],
  },
});
