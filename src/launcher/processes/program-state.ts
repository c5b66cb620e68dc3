import { accessSync, constants } from "node:fs";
import {
  type Condition,
  conditionsOf,
  conditionTable,
  KEEPS_PAYMENTS,
} from "../../shared/catalog/conditions.ts";
import { createIpcClient, IpcError, type IpcFailure } from "../../shared/ipc/client.ts";
import {
  type ResponseOf,
  supervisorMessages,
  tpManagerMessages,
} from "../../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Clock } from "../../shared/time.ts";
import type { ProgramSpec } from "./process-spec.ts";
import { findProcesses } from "./process-table.ts";

export type TpManagerStatus = ResponseOf<typeof tpManagerMessages, "status">;
export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;
type ProgramStatus = TpManagerStatus | SupervisorStatus;

/** The state of a program of this installation, as far as can be told from outside. */
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
 * Asks the program; when it does not answer, asks the operating system. Throws {@link ProgramExit}
 * when the user may not look: nothing could be told apart from a program that has stopped.
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
 * The troubles that the running programs report. Left out is what keeps payments from being taken:
 * that comes from {@link obstaclesIn}.
 */
export function conditionsReported(states: readonly ProgramState[]): Condition[] {
  const reports = states.flatMap((one) => (one.state === "running" ? [one.status] : []));
  const supervisor = reports.find((one) => one.program === "supervisor");
  const tpManager = reports.find((one) => one.program === "tp-manager");
  return conditionsOf({ supervisor, tpManager }).filter(({ row }) => row.check !== KEEPS_PAYMENTS);
}

interface Obstacle {
  /** Of the answer that a payment would get. */
  readonly code: string;
  readonly says: string;
  readonly todo: string;
}

/** Why the arbiter would refuse a payment now. An older tp-manager reports the link only. */
export function obstaclesIn({ obstacles, terminal }: TpManagerStatus): readonly Obstacle[] {
  if (obstacles !== undefined) return obstacles;
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
  if (name === "tp-manager") {
    const client = createIpcClient(runDirectory, name, tpManagerMessages, clock);
    return await client.call("status", {}, timeoutMs).finally(() => client.close());
  }
  const client = createIpcClient(runDirectory, name, supervisorMessages, clock);
  return await client.call("status", {}, timeoutMs).finally(() => client.close());
}

/** Asks the program to stop in order. Rejects with IpcError when it did not say that it will. */
export async function askStop(
  { name, runDirectory }: ProgramSpec,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const messages = name === "tp-manager" ? tpManagerMessages : supervisorMessages;
  const client = createIpcClient(runDirectory, name, { stop: messages.stop }, clock);
  await client.call("stop", {}, timeoutMs).finally(() => client.close());
}
