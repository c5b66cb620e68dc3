import { IpcError } from "../../shared/ipc/client.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { fullDisk, isFull } from "../../shared/store/storage-fault.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import { askStatus, conditionOf } from "./condition.ts";
import { type Ended, type LaunchedProcess, launchDetached } from "./launch-process.ts";
import { type ProgramPart, programParts } from "./part.ts";

/** A kiosk that has just booted may be slow; a program that is wrong says so much sooner. */
export const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

/** The end of one program's start. */
export type Started =
  | {
      readonly program: Program;
      readonly result: "started" | "already-running";
      readonly pid: number;
    }
  /** The program ended by itself; `reason` is its last word. */
  | {
      readonly program: Program;
      readonly result: "ended";
      readonly exitCode: number;
      readonly reason: string;
    }
  /** A process, started by this call or not, that did not answer in time. */
  | {
      readonly program: Program;
      readonly result: "silent";
      readonly pid: number | undefined;
      readonly ours: boolean;
    };

/**
 * Starts the programs that do not run and waits until each has answered or ended. The caller holds
 * the launch lock.
 */
export async function startPrograms(
  installation: Installation,
  clock: Clock,
  readyWithinMs: number,
  parts = programParts(installation.dataDirectory),
): Promise<Started[]> {
  return await Promise.all(
    parts.map((part) => startProgram(part, installation, clock, readyWithinMs)),
  );
}

/** As {@link startPrograms}, for one of them. */
export async function startProgram(
  part: ProgramPart,
  installation: Installation,
  clock: Clock,
  readyWithinMs: number,
): Promise<Started> {
  const program = part.name;
  const run = openRunDirectory(installation.dataDirectory);
  const before = await conditionOf(part, run, clock, ANSWER_WITHIN_MS);
  if (before.state === "running") return { program, result: "already-running", pid: before.pid };
  if (before.state === "silent") return await waitForOther(part, run, clock, readyWithinMs);
  const launched = await launchDetached(part, installation.logDirectory);
  const endMs = clock.monotonicMs() + readyWithinMs;
  for (;;) {
    // Read before asking: a child that ended before somebody else's answer came is no start.
    const { ended } = launched;
    const pid = await answeringPid(program, run, clock);
    if (pid === launched.pid) return { program, result: "started", pid };
    if (pid !== undefined) return { program, result: "already-running", pid };
    if (ended) return endedProgram(program, launched, ended, installation);
    if (clock.monotonicMs() >= endMs) {
      return { program, result: "silent", pid: launched.pid, ours: true };
    }
    await sleep(clock, "start", LOOK_EVERY_MS);
  }
}

/** A process that we did not start is there: starting too, stopping, or hung. */
async function waitForOther(
  part: ProgramPart,
  run: string,
  clock: Clock,
  readyWithinMs: number,
): Promise<Started> {
  const endMs = clock.monotonicMs() + readyWithinMs;
  for (;;) {
    const now = await conditionOf(part, run, clock, ANSWER_WITHIN_MS);
    if (now.state === "running") {
      return { program: part.name, result: "already-running", pid: now.pid };
    }
    if (now.state === "stopped" || clock.monotonicMs() >= endMs) {
      const pid = now.state === "silent" ? now.pids[0] : undefined;
      return { program: part.name, result: "silent", pid, ours: false };
    }
    await sleep(clock, "start", LOOK_EVERY_MS);
  }
}

async function answeringPid(
  program: Program,
  run: string,
  clock: Clock,
): Promise<number | undefined> {
  try {
    return (await askStatus(program, run, clock, ANSWER_WITHIN_MS)).pid;
  } catch (error) {
    if (error instanceof IpcError) return undefined;
    throw error;
  }
}

function endedProgram(
  program: Program,
  launched: LaunchedProcess,
  ended: Ended,
  { dataDirectory }: Installation,
): Started {
  const said = launched.output().trim();
  const unsaid = "code" in ended ? "it gave no reason" : `ended by ${ended.signal}`;
  return {
    program,
    result: "ended",
    exitCode: "code" in ended ? ended.code || exitCodes.internal : exitCodes.internal,
    reason: said || (isFull(dataDirectory) ? fullDisk(dataDirectory) : unsaid),
  };
}
