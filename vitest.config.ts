import { defineConfig } from "vitest/config";
import { SummaryReporter } from "./test/support/summary-reporter.ts";

export default defineConfig({
  test: {
    reporters: ["default", new SummaryReporter()],
    // Real processes on a machine that others use too: a second try, named in the output.
    retry: process.env["CI"] ? 1 : 0,
    // Most of a test's time is waiting for processes, ptys and protocol timers, not computing.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    projects: [
      { extends: true, test: { name: "tidy", include: ["test/tidy/**/*.test.ts"] } },
      {
        extends: true,
        test: { name: "main", include: ["test/**/*.test.ts"], exclude: ["test/tidy/**"] },
      },
    ],
  },
});
