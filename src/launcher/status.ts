import { exitCodes } from "../shared/exit-codes.ts";
import type { Installation } from "../shared/installation.ts";
import type { Clock } from "../shared/time.ts";
import {
  type Condition,
  conditionOf,
  type SupervisorStatus,
  type TpManagerStatus,
} from "./condition.ts";
import { deliberateStop } from "./deliberate-stop.ts";
import { demoParts } from "./demo/demo-parts.ts";
import { duration, type Mood, type Output } from "./output.ts";
import { type PartName, programParts } from "./part.ts";
import { findProcesses } from "./process-table.ts";

const ANSWER_WITHIN_MS = 2_000;

export interface InstallationStatus {
  readonly dataDirectory: string;
  /** Nothing is down: every program answers and the terminal is connected. */
  readonly well: boolean;
  /** When an operator stopped the programs; null when they are meant to run. */
  readonly stoppedSince: string | null;
  readonly programs: ReadonlyArray<{ readonly program: PartName } & Condition>;
  /** The demo's simulators; empty for a real installation. */
  readonly simulators: ReadonlyArray<{ readonly name: PartName; readonly pid: number | null }>;
}

export async function readStatus(
  installation: Installation,
  clock: Clock,
): Promise<InstallationStatus> {
  const { dataDirectory } = installation;
  const run = `${dataDirectory}/run`;
  const programs = await Promise.all(
    programParts(dataDirectory).map(async (part) => ({
      program: part.name,
      ...(await conditionOf(part, run, clock, ANSWER_WITHIN_MS)),
    })),
  );
  const simulators = demoParts(dataDirectory).map((part) => ({
    name: part.name,
    pid: findProcesses(part)[0] ?? null,
  }));
  return {
    dataDirectory,
    well: programs.every(isWell) && simulators.every(({ pid }) => pid !== null),
    stoppedSince: deliberateStop(dataDirectory) ?? null,
    programs,
    simulators,
  };
}

function isWell(condition: Condition): boolean {
  if (condition.state !== "running") return false;
  const { status } = condition;
  return status.program === "supervisor" || status.terminal.link === "connected";
}

/** Prints it for people; answers the exit code. */
export function printStatus(status: InstallationStatus, output: Output): number {
  for (const { program, ...condition } of status.programs) printProgram(program, condition, output);
  for (const { name, pid } of status.simulators) {
    if (pid === null) output.row(name, "bad", "stopped");
    else output.row(name, "good", "running", `pid ${pid}`);
  }
  if (status.stoppedSince !== null && status.programs.some(({ state }) => state === "stopped")) {
    output.text(
      `Stopped on purpose since ${status.stoppedSince}: the keep-alive leaves it so until a start.`,
    );
  } else if (!status.well) {
    output.text("./launch.sh doctor says what is wrong and what to do about it.");
  }
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}

function printProgram(name: PartName, condition: Condition, output: Output): void {
  switch (condition.state) {
    case "stopped":
      output.row(name, "bad", "stopped");
      return;
    case "silent":
      output.row(
        name,
        "warn",
        "not answering",
        `pid ${condition.pids.join(", ")}: ${condition.why}`,
      );
      return;
    case "running": {
      const { status, pid } = condition;
      const { mood, words } =
        status.program === "tp-manager" ? terminalInWords(status) : queueInWords(status);
      const head = `pid ${pid}, version ${status.version}, up ${duration(status.uptimeMs)}`;
      output.row(name, mood, "running", `${head}, ${words}`);
    }
  }
}

function terminalInWords({ port, terminal, payments }: TpManagerStatus) {
  const { link, problem, status, terminalId } = terminal;
  const id = terminalId === "" ? "" : ` ${terminalId}`;
  const words = [`port ${port}`, `terminal${id} ${link === "connected" ? status : link}`];
  if (problem !== null) words.push(problem);
  if (payments.running > 0) words.push("a payment is running");
  if (payments.inDoubt > 0) words.push(`${payments.inDoubt} in doubt`);
  if (payments.notHandedOver > 0) words.push(`${payments.notHandedOver} not handed over yet`);
  const mood: Mood = link !== "connected" || payments.inDoubt > 0 ? "warn" : "good";
  return { mood, words: words.join(", ") };
}

function queueInWords({ outbox }: SupervisorStatus) {
  const { pending, parked, sent, oldestAgeMs, paused } = outbox;
  const age = oldestAgeMs === null ? "" : ` (oldest ${duration(oldestAgeMs)})`;
  const words = [pending === 0 ? "queue empty" : `${pending} waiting${age}`, `${sent} sent`];
  if (parked > 0) words.push(`${parked} refused by the gateway`);
  if (paused !== null) words.push(`paused: ${paused}`);
  const mood: Mood = paused !== null || parked > 0 ? "warn" : "good";
  return { mood, words: words.join(", ") };
}
