import { afterAll, beforeEach } from "vitest";
import { endProcesses, runningProcesses } from "../programs/own-processes.ts";

// A test that failed or took too long has not ended what it started; its file goes on without it.
// One that passed may have started a program again that others of its file share.
beforeEach(({ task, onTestFinished }) => {
  if (task.concurrent) return; // its neighbours' cannot be distinguished from its own
  const before = runningProcesses();
  onTestFinished(() => {
    if (task.result?.state === "fail") endProcesses(before);
  });
});

afterAll(() => endProcesses());
