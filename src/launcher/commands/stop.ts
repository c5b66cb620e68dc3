import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { simulatorSpecs } from "../demo/settings.ts";
import type { CommandContext } from "../output.ts";
import { recordStop } from "../processes/deliberate-stop.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { type ProcessName, programSpecs } from "../processes/process-table.ts";
import { type Stopped, stopProcess, stopProgram } from "../processes/programs.ts";

export function stop(context: CommandContext): Promise<number> {
  const { dataDirectory, clock } = context;
  openRunDirectory(dataDirectory); // makes the data folder, where the stop is recorded
  // The stop is recorded before the wait for the lock: a keep-alive at work then starts nothing.
  recordStop(dataDirectory, clock.now());
  return withLaunchLock(context, async () => {
    // The stop is recorded again, because a start that held the lock has removed the first record.
    recordStop(dataDirectory, clock.now());
    return await stopHere(context);
  });
}

export const stopTexts = {
  stopped: { mood: "good", state: "stopped", details: "" },
  killed: { mood: "warn", state: "killed", details: "the program did not end by itself in time" },
  "was-not-running": { mood: "plain", state: "was not running", details: "" },
  "still-running": {
    mood: "bad",
    state: "still running",
    details: "the program cannot be ended; it may belong to another user",
  },
} as const satisfies Record<Stopped, object>;

/**
 * Stops tp-manager, then the supervisor, then the simulators, and returns the exit code. `quiet`:
 * prints nothing about a program that did not run. The caller holds the launch lock.
 */
export async function stopHere({ dataDirectory, clock, output }: CommandContext, quiet = false) {
  let isAnyLeft = false;
  const report = (name: ProcessName, stopped: Stopped): void => {
    const { mood, state, details } = stopTexts[stopped];
    if (!quiet || stopped !== "was-not-running") output.row(name, mood, state, details);
    isAnyLeft ||= stopped === "still-running";
  };
  for (const spec of programSpecs(dataDirectory)) {
    const onSlow = (): void =>
      output.row(spec.name, "plain", "is stopping", "running work is brought to its end");
    report(spec.name, await stopProgram(spec, clock, onSlow));
  }
  const simulators = simulatorSpecs(dataDirectory).map(async (spec) => {
    return [spec.name, await stopProcess(spec, clock)] as const;
  });
  for (const [name, end] of await Promise.all(simulators)) report(name, end);
  return isAnyLeft ? exitCodes.internal : exitCodes.ok;
}
