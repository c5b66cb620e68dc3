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
import { fullDisk, isFull } from "../../shared/store/storage-fault.ts";
import { type Clock, poll } from "../../shared/time.ts";
import type { CommandContext } from "../output.ts";
import { launchDetached } from "./launch-process.ts";
import {
  findProcesses,
  isForbidden,
  isRunning,
  type ProcessSpec,
  type ProgramSpec,
  programSpec,
  programSpecs,
} from "./process-table.ts";

const messages = { "tp-manager": tpManagerMessages, supervisor: supervisorMessages } as const;
export type StatusOf<P extends Program> = ResponseOf<(typeof messages)[P], "status">;
export type TpManagerStatus = StatusOf<"tp-manager">;

export type ProgramState<P extends Program = Program> =
  | { readonly state: "running"; readonly pid: number; readonly status: StatusOf<P> }
  /** A process runs and does not answer as it should: it starts, hangs, or is another program. */
  | {
      readonly state: "silent";
      readonly pids: readonly number[];
      readonly failure: IpcFailure;
      readonly why: string;
    }
  | { readonly state: "stopped" };

export type ProgramStates = Awaited<ReturnType<typeof programStates>>;

/** Returns the states of both programs. Throws as {@link programState} does. */
export async function programStates(dataDirectory: string, clock: Clock, answerWithinMs: number) {
  const ask = <P extends Program>(name: P) =>
    programState(programSpec(name, dataDirectory), clock, answerWithinMs);
  const [tpManager, supervisor] = await Promise.all([ask("tp-manager"), ask("supervisor")]);
  return { tpManager, supervisor };
}

/**
 * Returns the state of a program: from its own answer, or else from the list of processes. Throws
 * {@link ProgramExit} when this user has no right to read the folder of the program's socket,
 * because the program would wrongly seem to be stopped.
 */
export async function programState<P extends Program>(
  spec: ProgramSpec<P>,
  clock: Clock,
  answerWithinMs: number,
): Promise<ProgramState<P>> {
  if (isForbidden(spec.runDirectory)) {
    throw new ProgramExit(
      exitCodes.unavailable,
      `not allowed: ${spec.runDirectory} belongs to another user; ` +
        "run this as the user of the programs",
    );
  }
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

/** Returns the status that a program has answered; undefined: it does not answer. */
export function reportOf<P extends Program>(state: ProgramState<P>): StatusOf<P> | undefined {
  return state.state === "running" ? state.status : undefined;
}

/** Returns the conditions that the programs report, without those that prevent payments. */
export function conditionsReported({ tpManager, supervisor }: ProgramStates): Condition[] {
  const reports = { supervisor: reportOf(supervisor), tpManager: reportOf(tpManager) };
  return conditionsOf(reports).filter(({ row }) => row.check !== KEEPS_PAYMENTS);
}

/** Returns why payments are refused now; an older tp-manager reports only the terminal's link. */
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

/** Asks a program for its status. Rejects with {@link IpcError} if it does not answer. */
export async function askStatus<P extends Program>(
  { name, runDirectory }: ProgramSpec<P>,
  clock: Clock,
  timeoutMs: number,
): Promise<StatusOf<P>> {
  const client = createIpcClient(runDirectory, name, messages[name], clock);
  const status = client.call("status", {} as never, timeoutMs);
  return (await status.finally(() => client.close())) as StatusOf<P>;
}

/** Asks a program to stop. Rejects with {@link IpcError} unless the program agrees to stop. */
export async function askStop(
  { name, runDirectory }: ProgramSpec,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const { stop } = messages[name];
  const client = createIpcClient(runDirectory, name, { stop }, clock);
  await client.call("stop", {}, timeoutMs).finally(() => client.close());
}

// How long a start may take depends on who waits for it: a command, an update or systemd.
/** The time in which a started program has to answer; a kiosk that has just booted is slow. */
const READY_WITHIN_MS = 60_000;
/** The time in which new programs have to answer and to reconnect the terminal, in ms. */
export const PROBATION_WITHIN_MS = 60_000;
/** The longest time that a program needs to start: it migrates its database before it answers. */
export const MIGRATION_MS = 300_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

export interface Started {
  readonly program: Program;
  /** "ended": the process has ended. "silent": the process has not answered in time. */
  readonly result: "started" | "already-running" | "ended" | "silent";
  readonly pid: number | undefined;
  /** Whether this call has started the process. */
  readonly isOurs: boolean;
  /** The exit code of a program that has ended; 69 for the result "silent"; else 0. */
  readonly exitCode: number;
  /** The last output of a program that has ended. */
  readonly reason: string;
}

/** Starts the programs, and waits until each answers or has ended. Needs the launch lock. */
export function startPrograms(
  context: CommandContext,
  specs = programSpecs(context.dataDirectory),
): Promise<Started[]> {
  return Promise.all(specs.map((spec) => startProgram(spec, context)));
}

/** Starts one program, and waits as {@link startPrograms} does. */
export async function startProgram(
  spec: ProgramSpec,
  { dataDirectory, logDirectory, clock }: CommandContext,
): Promise<Started> {
  const end = (result: Started["result"], pid: number | undefined, isOurs: boolean): Started => {
    const exitCode = result === "silent" ? exitCodes.unavailable : exitCodes.ok;
    return { program: spec.name, result, pid, isOurs, exitCode, reason: "" };
  };
  openRunDirectory(dataDirectory);
  let silent: number | undefined;
  // A silent process was started by another launcher, is stopping, or hangs.
  const before = await poll(clock, "start", ASK_EVERY_MS, READY_WITHIN_MS, async () => {
    const now = await programState(spec, clock, ANSWER_WITHIN_MS);
    if (now.state !== "silent") return now;
    silent = now.pids[0];
    return undefined;
  });
  if (before === undefined) return end("silent", silent, false);
  if (before.state === "running") return end("already-running", before.pid, false);
  const launched = await launchDetached(spec, logDirectory);
  const started = await poll(clock, "start", ASK_EVERY_MS, READY_WITHIN_MS, async () => {
    // `ended` is read before the request, because another process may answer for an ended child.
    const { ended } = launched;
    const pid = (await askStatus(spec, clock, ANSWER_WITHIN_MS).catch(whenSilent))?.pid;
    if (pid === launched.pid) return end("started", pid, true);
    if (pid !== undefined) return end("already-running", pid, false);
    if (ended === undefined) return undefined;
    const unsaid = ended.signalCode ? `ended by ${ended.signalCode}` : "it gave no reason";
    const exitCode = ended.exitCode || exitCodes.internal;
    const why = isFull(dataDirectory) ? fullDisk(dataDirectory) : unsaid;
    return { ...end("ended", undefined, false), exitCode, reason: launched.output() || why };
  });
  return started ?? end("silent", launched.pid, true);
}

function whenSilent(error: unknown): undefined {
  if (!(error instanceof IpcError)) throw error;
}

export type Stopped = "stopped" | "killed" | "was-not-running" | "still-running";

/**
 * The time for a program that has agreed to stop. tp-manager lets a running payment go on, then
 * cancels the payment, and ends after 45 s; a kill before that could leave the payment in doubt.
 */
const POLITE_WITHIN_MS = 75_000;
const TERMINATE_WITHIN_MS = 4_000;
const KILL_WITHIN_MS = 5_000;
const CHECK_EVERY_MS = 50;
/** The time in ms after which the caller learns that a stop takes long. */
const QUICK_MS = 2_000;

/**
 * Stops a program: by a message, by SIGTERM when the program does not answer, at last by SIGKILL.
 * Calls `onSlow` once when the stop takes long.
 */
export async function stopProgram(
  spec: ProgramSpec,
  clock: Clock,
  onSlow: () => void = () => undefined,
): Promise<Stopped> {
  const before = await programState(spec, clock, ANSWER_WITHIN_MS);
  if (before.state === "stopped") return "was-not-running";
  const pids = before.state === "running" ? [before.pid] : before.pids;
  // A program that did not answer the status request would not answer a request to stop either.
  const listens = before.state === "running" || before.failure === "refused";
  const ask = () => askStop(spec, clock, ANSWER_WITHIN_MS).then(() => true, whenSilent);
  if (listens && (await ask())) {
    if (await haveEnded(pids, clock, QUICK_MS)) return "stopped";
    onSlow();
    if (await haveEnded(pids, clock, POLITE_WITHIN_MS)) return "stopped";
  }
  return await stopProcess(spec, clock);
}

/** Stops the processes of a program or simulator of this installation by signals. */
export async function stopProcess(spec: ProcessSpec, clock: Clock): Promise<Stopped> {
  let pids = findProcesses(spec);
  if (pids.length === 0) return "was-not-running";
  // Windows has no SIGTERM for other processes: the signal would kill the program at once.
  const gentle = process.platform !== "win32";
  if (gentle) {
    send(pids, "SIGTERM");
    if (await haveEnded(pids, clock, TERMINATE_WITHIN_MS)) return "stopped";
  }
  pids = findProcesses(spec);
  send(pids, "SIGKILL");
  if (!(await haveEnded(pids, clock, KILL_WITHIN_MS))) return "still-running";
  // A simulator takes no messages, so on Windows a kill is the ordinary way to stop it.
  const only = !gentle && spec.name !== "tp-manager" && spec.name !== "supervisor";
  return only ? "stopped" : "killed";
}

function send(pids: readonly number[], signal: "SIGTERM" | "SIGKILL"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // ESRCH: the process has ended. EPERM: another user owns the process, which still runs.
      if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

async function haveEnded(pids: readonly number[], clock: Clock, withinMs: number) {
  const gone = (): true | undefined => !pids.some(isRunning) || undefined;
  return (await poll(clock, "stop", CHECK_EVERY_MS, withinMs, gone)) === true;
}
