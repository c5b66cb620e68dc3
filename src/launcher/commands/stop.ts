import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { simulatorSpecs } from "../demo/settings.ts";
import type { CommandContext, Mood } from "../output.ts";
import { recordStop } from "../processes/deliberate-stop.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { type ProcessName, programSpecs } from "../processes/process-table.ts";
import { type Stopped, stopProcess, stopProgram } from "../processes/programs.ts";

export function stop(context: CommandContext): Promise<number> {
  const { installation, clock } = context;
  openRunDirectory(installation.dataDirectory); // the data folder of a first stop is made
  // Before waiting for the lock: a keep-alive at work leaves the other program alone then.
  recordStop(installation.dataDirectory, clock.now());
  return withLaunchLock(context, async () => {
    // Once more, should the launcher we waited for have been a start.
    recordStop(installation.dataDirectory, clock.now());
    return await stopHere(context);
  });
}

interface StopText {
  readonly mood: Mood;
  readonly state: string;
  readonly details?: string;
}

export const stopTexts: Record<Stopped, StopText> = {
  stopped: { mood: "good", state: "stopped" },
  killed: { mood: "warn", state: "killed", details: "it did not end by itself" },
  "was-not-running": { mood: "plain", state: "was not running" },
  "still-running": {
    mood: "bad",
    state: "still running",
    details: "it cannot be ended: is it another user's process?",
  },
};

/**
 * Stops tp-manager, then the supervisor, then the simulators. The caller holds the launch lock.
 * `quiet`: says nothing of what did not run.
 */
export async function stopHere(
  { installation: { dataDirectory }, clock, output }: CommandContext,
  quiet = false,
): Promise<number> {
  let isAnyLeft = false;
  const report = (name: ProcessName, stopped: Stopped): void => {
    const { mood, state, details } = stopTexts[stopped];
    if (!quiet || stopped !== "was-not-running") output.row(name, mood, state, details);
    isAnyLeft ||= stopped === "still-running";
  };
  for (const spec of programSpecs(dataDirectory)) {
    const onSlow = (): void =>
      output.row(spec.name, "plain", "is stopping", "what is running is brought to its end");
    report(spec.name, await stopProgram(spec, clock, onSlow));
  }
  const stopped = await Promise.all(
    simulatorSpecs(dataDirectory).map(async (spec) => ({
      name: spec.name,
      end: await stopProcess(spec, clock),
    })),
  );
  for (const { name, end } of stopped) report(name, end);
  return isAnyLeft ? exitCodes.internal : exitCodes.ok;
}
