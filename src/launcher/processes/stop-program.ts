import { IpcError } from "../../shared/ipc/client.ts";
import type { Clock } from "../../shared/time.ts";
import { poll } from "./poll.ts";
import type { ProcessSpec, ProgramSpec } from "./process-spec.ts";
import { findProcesses, isRunning } from "./process-table.ts";
import { askStop, programState } from "./program-state.ts";

export type Stopped = "stopped" | "killed" | "was-not-running" | "still-running";

/**
 * How long a program that has agreed to stop may take. Both cut themselves off sooner (tp-manager
 * after 45 s, having let a running payment go on and then cancelled it): to kill one earlier could
 * put a payment in doubt for nothing.
 */
const POLITE_WITHIN_MS = 75_000;
const ANSWER_WITHIN_MS = 2_000;
const TERMINATE_WITHIN_MS = 4_000;
const KILL_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;
/** A stop that takes longer is announced. */
const QUICK_MS = 2_000;

/**
 * Stops a program: asks it over its socket, sends SIGTERM when it does not answer, SIGKILL when
 * that does not help. `onSlow` is called once when that takes long.
 */
export async function stopProgram(
  spec: ProgramSpec,
  clock: Clock,
  onSlow: () => void = () => undefined,
): Promise<Stopped> {
  const before = await programState(spec, clock, ANSWER_WITHIN_MS);
  if (before.state === "stopped") return "was-not-running";
  const pids = before.state === "running" ? [before.pid] : before.pids;
  // A program that listens but does not answer would not answer this either.
  const listens = before.state === "running" || before.failure === "refused";
  if (listens && (await agreesToStop(spec, clock))) {
    const gone = (): boolean => !pids.some(isRunning);
    if (await until(gone, clock, QUICK_MS)) return "stopped";
    onSlow();
    if (await until(gone, clock, POLITE_WITHIN_MS)) return "stopped";
  }
  return await stopProcess(spec, clock);
}

async function agreesToStop(spec: ProgramSpec, clock: Clock): Promise<boolean> {
  try {
    await askStop(spec, clock, ANSWER_WITHIN_MS);
    return true;
  } catch (error) {
    if (error instanceof IpcError) return false;
    throw error;
  }
}

/** Stops whatever process runs this part of this installation, by signals. */
export async function stopProcess(spec: ProcessSpec, clock: Clock): Promise<Stopped> {
  let pids = findProcesses(spec);
  if (pids.length === 0) return "was-not-running";
  const gone = (): boolean => !pids.some(isRunning);
  // Windows has no SIGTERM for other processes: there it would be a kill without a deadline.
  const gentle = process.platform !== "win32";
  if (gentle) {
    send(pids, "SIGTERM");
    if (await until(gone, clock, TERMINATE_WITHIN_MS)) return "stopped";
  }
  pids = findProcesses(spec);
  send(pids, "SIGKILL");
  if (!(await until(gone, clock, KILL_WITHIN_MS))) return "still-running";
  // A simulator takes no messages: on Windows there is no other way to stop it.
  const only = !gentle && spec.name !== "tp-manager" && spec.name !== "supervisor";
  return only ? "stopped" : "killed";
}

function send(pids: readonly number[], signal: "SIGTERM" | "SIGKILL"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // ESRCH: gone by itself. EPERM (another user's) shows as still running.
      if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

async function until(done: () => boolean, clock: Clock, withinMs: number): Promise<boolean> {
  return (await poll(clock, "stop", LOOK_EVERY_MS, withinMs, () => done() || undefined)) === true;
}
