import { IpcError } from "../../shared/ipc/client.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { fullDisk, isFull } from "../../shared/store/storage-fault.ts";
import type { Clock } from "../../shared/time.ts";
import { type Ended, type LaunchedProcess, launchDetached } from "./launch-process.ts";
import { poll } from "./poll.ts";
import { type ProgramSpec, programSpecs } from "./process-spec.ts";
import { askStatus, programState } from "./program-state.ts";

/** A kiosk that has just booted may be slow; a program that is wrong says so much sooner. */
const READY_WITHIN_MS = 60_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

/** The end of one program's start. */
export type Started = { readonly program: Program } & (
  | { readonly result: "started" | "already-running"; readonly pid: number }
  /** The program ended by itself; `reason` is its last output. */
  | { readonly result: "ended"; readonly exitCode: number; readonly reason: string }
  /** A process, started by this call or not, that did not answer in time. */
  | { readonly result: "silent"; readonly pid: number | undefined; readonly ours: boolean }
);

/**
 * Starts the programs that do not run and waits until each has answered or ended. The caller holds
 * the launch lock.
 */
export function startPrograms(
  installation: Installation,
  clock: Clock,
  specs = programSpecs(installation.dataDirectory),
): Promise<Started[]> {
  return Promise.all(specs.map((spec) => startProgram(spec, installation, clock)));
}

/** As {@link startPrograms}, for one of them. */
export async function startProgram(
  spec: ProgramSpec,
  installation: Installation,
  clock: Clock,
): Promise<Started> {
  const program = spec.name;
  openRunDirectory(installation.dataDirectory);
  const before = await programState(spec, clock, ANSWER_WITHIN_MS);
  if (before.state === "running") return { program, result: "already-running", pid: before.pid };
  if (before.state === "silent") return await waitForOther(spec, clock);
  const launched = await launchDetached(spec, installation.logDirectory);
  const started = await poll(clock, "start", ASK_EVERY_MS, READY_WITHIN_MS, async () => {
    // Read before asking: a child that ended before somebody else's answer came is no start.
    const { ended } = launched;
    const pid = await answeringPid(spec, clock);
    if (pid === launched.pid) return { program, result: "started" as const, pid };
    if (pid !== undefined) return { program, result: "already-running" as const, pid };
    return ended && endedProgram(program, launched, ended, installation);
  });
  return started ?? { program, result: "silent", pid: launched.pid, ours: true };
}

/** A process that we did not start is there: starting too, stopping, or hung. */
async function waitForOther(spec: ProgramSpec, clock: Clock): Promise<Started> {
  let pid: number | undefined;
  const last = await poll(clock, "start", ASK_EVERY_MS, READY_WITHIN_MS, async () => {
    const now = await programState(spec, clock, ANSWER_WITHIN_MS);
    pid = now.state === "silent" ? now.pids[0] : undefined;
    return now.state === "silent" ? undefined : now;
  });
  const program = spec.name;
  if (last?.state === "running") return { program, result: "already-running", pid: last.pid };
  return { program, result: "silent", pid, ours: false };
}

async function answeringPid(spec: ProgramSpec, clock: Clock): Promise<number | undefined> {
  try {
    return (await askStatus(spec, clock, ANSWER_WITHIN_MS)).pid;
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
