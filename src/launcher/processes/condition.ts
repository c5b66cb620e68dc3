import { accessSync, constants } from "node:fs";
import {
  KEEPS_PAYMENTS,
  type Trouble,
  troublesOf,
  troubleTable,
} from "../../shared/catalog/troubles.ts";
import { createIpcClient, IpcError, type IpcFailure } from "../../shared/ipc/client.ts";
import {
  type Program,
  type ResponseOf,
  supervisorMessages,
  tpManagerMessages,
} from "../../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Clock } from "../../shared/time.ts";
import type { ProgramPart } from "./part.ts";
import { findProcesses } from "./process-table.ts";

export type TpManagerStatus = ResponseOf<typeof tpManagerMessages, "status">;
export type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;
type ProgramStatus = TpManagerStatus | SupervisorStatus;

/** The state of a program of this installation, as far as can be told from outside. */
export type Condition =
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
export async function conditionOf(
  part: ProgramPart,
  runDirectory: string,
  clock: Clock,
  answerWithinMs: number,
): Promise<Condition> {
  mustBeAllowed(runDirectory);
  try {
    const status = await askStatus(part.name, runDirectory, clock, answerWithinMs);
    return { state: "running", pid: status.pid, status };
  } catch (error) {
    if (!(error instanceof IpcError)) throw error;
    const pids = findProcesses(part);
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
 * The troubles that the programs tell of; that one does not run is told without them, and what
 * keeps payments from being taken by {@link obstaclesIn}.
 */
export function troublesToldBy(conditions: readonly Condition[]): Trouble[] {
  const told = conditions.flatMap((one) => (one.state === "running" ? [one.status] : []));
  const supervisor = told.find((one) => one.program === "supervisor");
  const tpManager = told.find((one) => one.program === "tp-manager");
  return troublesOf({ supervisor, tpManager }).filter(({ row }) => row.check !== KEEPS_PAYMENTS);
}

interface Obstacle {
  /** Of the answer that a payment would get. */
  readonly code: string;
  readonly says: string;
  readonly todo: string;
}

/** Why the arbiter would refuse a payment now. An older tp-manager tells of the link only. */
export function obstaclesIn({ obstacles, terminal }: TpManagerStatus): readonly Obstacle[] {
  if (obstacles !== undefined) return obstacles;
  if (terminal.link === "connected") return [];
  const says = `no link to the terminal: ${terminal.problem ?? terminal.link}`;
  const { todo } = troubleTable["terminal-disconnected"];
  return [{ code: "TERMINAL_DISCONNECTED", says, todo }];
}

/** Rejects with IpcError. */
export async function askStatus(
  program: Program,
  runDirectory: string,
  clock: Clock,
  timeoutMs: number,
): Promise<ProgramStatus> {
  if (program === "tp-manager") {
    const client = createIpcClient(runDirectory, program, tpManagerMessages, clock);
    return await client.call("status", {}, timeoutMs).finally(() => client.close());
  }
  const client = createIpcClient(runDirectory, program, supervisorMessages, clock);
  return await client.call("status", {}, timeoutMs).finally(() => client.close());
}

/** Asks the program to stop in order. Rejects with IpcError when it did not say that it will. */
export async function askStop(
  program: Program,
  runDirectory: string,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const messages = program === "tp-manager" ? tpManagerMessages : supervisorMessages;
  const client = createIpcClient(runDirectory, program, { stop: messages.stop }, clock);
  await client.call("stop", {}, timeoutMs).finally(() => client.close());
}
