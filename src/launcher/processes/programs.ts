import { accessSync, constants } from "node:fs";
import {
  type Condition,
  conditionsOf,
  conditionTable,
  KEEPS_PAYMENTS,
} from "../../shared/catalog/conditions.ts";
import { createIpcClient, IpcError, type IpcFailure } from "../../shared/ipc/client.ts";
import {
  type Program,
  type ResponseOf,
  supervisorMessages,
  tpManagerMessages,
} from "../../shared/ipc/contract.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { fullDisk, isFull } from "../../shared/store/storage-fault.ts";
import { type Clock, poll } from "../../shared/time.ts";
import { type Ended, type LaunchedProcess, launchDetached } from "./launch-process.ts";
import {
  findProcesses,
  isRunning,
  type ProcessSpec,
  type ProgramSpec,
  programSpecs,
} from "./process-table.ts";

export type TpManagerStatus = ResponseOf<typeof tpManagerMessages, "status">;
export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;
type ProgramStatus = TpManagerStatus | SupervisorStatus;

/** The state of a program of this installation, as other processes can find it out. */
export type ProgramState =
  | { readonly state: "running"; readonly pid: number; readonly status: ProgramStatus }
  /** A process is there, but its socket does not answer as it should: starting, hung, other. */
  | {
      readonly state: "silent";
      readonly pids: readonly number[];
      readonly failure: IpcFailure;
      readonly why: string;
    }
  | { readonly state: "stopped" };

/**
 * The state of a program: its own report, or, when it does not answer, what the operating system
 * knows of its process. Throws {@link ProgramExit} when this user may not read the folder of its
 * socket, because the program would seem to have stopped.
 */
export async function programState(
  spec: ProgramSpec,
  clock: Clock,
  answerWithinMs: number,
): Promise<ProgramState> {
  mustBeAllowed(spec.runDirectory);
  try {
    const status = await askStatus(spec, clock, answerWithinMs);
    return { state: "running", pid: status.pid, status };
  } catch (error) {
    if (!(error instanceof IpcError)) throw error;
    const pids = findProcesses(spec);
    if (pids.length === 0) return { state: "stopped" };
    return { state: "silent", pids, failure: error.failure, why: error.message };
  }
}

function mustBeAllowed(runDirectory: string): void {
  try {
    accessSync(runDirectory, constants.R_OK | constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") return; // never started
    throw new ProgramExit(
      exitCodes.unavailable,
      `not allowed: ${runDirectory} belongs to another user; run this as the user of the programs`,
    );
  }
}

/**
 * The conditions that the running programs report, without those that keep payments from being
 * accepted: these are {@link notReadyReasonsOf}.
 */
export function conditionsReported(states: readonly ProgramState[]): Condition[] {
  const reports = states.flatMap((one) => (one.state === "running" ? [one.status] : []));
  const supervisor = reports.find((one) => one.program === "supervisor");
  const tpManager = reports.find((one) => one.program === "tp-manager");
  return conditionsOf({ supervisor, tpManager }).filter(({ row }) => row.check !== KEEPS_PAYMENTS);
}

/** Why the arbiter would refuse a payment now. An older tp-manager reports the link only. */
export function notReadyReasonsOf({
  obstacles: reasons,
  terminal,
}: TpManagerStatus): NonNullable<TpManagerStatus["obstacles"]> {
  if (reasons !== undefined) return reasons;
  if (terminal.link === "connected") return [];
  const says = `no link to the terminal: ${terminal.problem ?? terminal.link}`;
  const { todo } = conditionTable["terminal-disconnected"];
  return [{ code: "TERMINAL_DISCONNECTED", says, todo }];
}

/** The program's report of itself. Rejects with IpcError. */
export async function askStatus(
  { name, runDirectory }: ProgramSpec,
  clock: Clock,
  timeoutMs: number,
): Promise<ProgramStatus> {
  const { status } = name === "tp-manager" ? tpManagerMessages : supervisorMessages;
  const client = createIpcClient(runDirectory, name, { status }, clock);
  return await client.call("status", {}, timeoutMs).finally(() => client.close());
}

/** Asks the program to stop in order. Rejects with IpcError when it did not answer that it will. */
export async function askStop(
  { name, runDirectory }: ProgramSpec,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const { stop } = name === "tp-manager" ? tpManagerMessages : supervisorMessages;
  const client = createIpcClient(runDirectory, name, { stop }, clock);
  await client.call("stop", {}, timeoutMs).finally(() => client.close());
}

/** A kiosk that has just booted may be slow; a program that cannot start ends much sooner. */
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

/** Starts one program, as {@link startPrograms} does. */
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
    // Read before asking, because another process may answer for a child that has ended.
    const { ended } = launched;
    const pid = (await askStatus(spec, clock, ANSWER_WITHIN_MS).catch(whenSilent))?.pid;
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

/** undefined for a program that does not answer; any other error is thrown. */
function whenSilent(error: unknown): undefined {
  if (!(error instanceof IpcError)) throw error;
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

export type Stopped = "stopped" | "killed" | "was-not-running" | "still-running";

/**
 * How long a program that has agreed to stop may take. Both end sooner by themselves: tp-manager
 * lets a running payment go on, then cancels it, and ends after 45 s. An earlier kill could leave a
 * payment in doubt for nothing.
 */
const POLITE_WITHIN_MS = 75_000;
const TERMINATE_WITHIN_MS = 4_000;
const KILL_WITHIN_MS = 5_000;
const CHECK_EVERY_MS = 50;
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
  const ask = () => askStop(spec, clock, ANSWER_WITHIN_MS).then(() => true, whenSilent);
  if (listens && (await ask())) {
    const gone = (): boolean => !pids.some(isRunning);
    if (await until(gone, clock, QUICK_MS)) return "stopped";
    onSlow();
    if (await until(gone, clock, POLITE_WITHIN_MS)) return "stopped";
  }
  return await stopProcess(spec, clock);
}

/** Stops the processes that run this part of this installation, by signals. */
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
  return (await poll(clock, "stop", CHECK_EVERY_MS, withinMs, () => done() || undefined)) === true;
}
