import { afterAll, beforeEach } from "vitest";
import { endProcesses, runningProcesses } from "./own-processes.ts";

// After everything that the test itself does at its end; also when it failed or took too long.
beforeEach(({ task, onTestFinished }) => {
  if (task.concurrent) return; // those of its neighbours are not told apart from its own
  const before = runningProcesses();
  onTestFinished(() => endProcesses(before));
});

afterAll(() => endProcesses());
