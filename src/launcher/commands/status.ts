import { type ConditionName, conditionText } from "../../shared/catalog/conditions.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { type Clock, isoTime } from "../../shared/time.ts";
import type { LauncherArguments } from "../arguments.ts";
import { simulatorSpecs } from "../demo/settings.ts";
import { type CommandContext, duration, type Mood, type Output } from "../output.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { findProcesses, type ProcessName, programSpecs } from "../processes/process-table.ts";
import {
  conditionsReported,
  notReadyReasonsOf,
  type ProgramState,
  programState,
  type SupervisorStatus,
  type TpManagerStatus,
} from "../processes/programs.ts";

const ANSWER_WITHIN_MS = 2_000;

export interface InstallationStatus {
  readonly dataDirectory: string;
  /** Nothing is down: every program answers, and a payment would be taken. */
  readonly well: boolean;
  /** When an operator stopped the programs; null when they are meant to run. */
  readonly stoppedSince: string | null;
  readonly programs: ReadonlyArray<{ readonly program: ProcessName } & ProgramState>;
  /** Conditions between a charged card and the gateway while payments go on. */
  readonly troubles: ReadonlyArray<{
    readonly name: ConditionName;
    readonly about: string;
    readonly words: string;
  }>;
  /** The demo's simulators; empty for a real installation. */
  readonly simulators: ReadonlyArray<{ readonly name: ProcessName; readonly pid: number | null }>;
}

export async function readStatus(
  installation: Installation,
  clock: Clock,
): Promise<InstallationStatus> {
  const { dataDirectory } = installation;
  const programs = await Promise.all(
    programSpecs(dataDirectory).map(async (spec) => ({
      program: spec.name,
      ...(await programState(spec, clock, ANSWER_WITHIN_MS)),
    })),
  );
  const simulators = simulatorSpecs(dataDirectory).map((spec) => ({
    name: spec.name,
    pid: findProcesses(spec)[0] ?? null,
  }));
  return {
    dataDirectory,
    well: programs.every(isWell) && simulators.every(({ pid }) => pid !== null),
    stoppedSince: deliberateStop(dataDirectory) ?? null,
    programs,
    troubles: conditionsReported(programs).map((trouble) => ({
      name: trouble.name,
      about: trouble.row.check,
      words: conditionText(trouble),
    })),
    simulators,
  };
}

function isWell(condition: ProgramState): boolean {
  if (condition.state !== "running") return false;
  const { status } = condition;
  return status.program === "supervisor" || notReadyReasonsOf(status).length === 0;
}

/** Prints it, with `json` for a program; answers the exit code. */
export async function showStatus(
  { installation, clock, output }: CommandContext,
  { json }: LauncherArguments,
): Promise<number> {
  const status = await readStatus(installation, clock);
  if (!json) return printStatus(status, output);
  output.text(JSON.stringify(status, null, 2));
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}

/** Prints it for people; answers the exit code. */
export function printStatus(status: InstallationStatus, output: Output): number {
  for (const { program, ...condition } of status.programs) printProgram(program, condition, output);
  for (const { about, words } of status.troubles) output.row(about, "warn", "trouble", words);
  for (const { name, pid } of status.simulators) {
    if (pid === null) output.row(name, "bad", "stopped");
    else output.row(name, "good", "running", `pid ${pid}`);
  }
  if (status.stoppedSince !== null && status.programs.some(({ state }) => state === "stopped")) {
    output.note(
      `Stopped on purpose since ${status.stoppedSince}: the keep-alive leaves it so until a start.`,
    );
  } else if (!status.well) {
    output.note("./launch.sh doctor says what is wrong and what to do about it.");
  }
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}

function printProgram(name: ProcessName, condition: ProgramState, output: Output): void {
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
      const details = `pid ${pid}, version ${status.version}, up ${duration(status.uptimeMs)}`;
      output.row(name, "good", "running", details);
      if (status.program === "tp-manager") printTerminal(status, output);
      else {
        printQueue(status, output);
        printUpdates(status, output);
      }
    }
  }
}

function printTerminal(status: TpManagerStatus, output: Output): void {
  const { port, pages, terminal, payments } = status;
  const { link, problem, terminalId, sinceMs } = terminal;
  const connected = link === "connected";
  const busy = payments.running > 0 ? ", a payment is running" : "";
  output.row("local API", "good", "listening", `port ${port}${busy}`);
  for (const { name, port, fault } of pages ?? []) {
    if (fault === null) output.row(name, "good", "listening", `http://localhost:${port}/`);
    else output.row(name, "warn", "missing", fault);
  }
  const since = connected || sinceMs === undefined ? "" : `since ${isoTime(sinceMs)}`;
  const named = connected ? `${terminalId} ${terminal.status}`.trim() : terminalId;
  const facts = [named, problem ?? "", since];
  const details = facts.filter((text) => text !== "").join(", ");
  const reasons = notReadyReasonsOf(status);
  const isGood = connected && problem === null && reasons.length === 0;
  output.row("terminal", isGood ? "good" : "warn", link, details);
  for (const { says, todo } of reasons) {
    output.row("payments", "bad", "refused", `${says} -> ${todo}`);
  }
  const open = [
    ...(payments.inDoubt > 0 ? [`${payments.inDoubt} in doubt`] : []),
    ...(payments.notHandedOver > 0 ? [`${payments.notHandedOver} not handed over yet`] : []),
  ];
  if (open.length > 0) output.row("payments", "warn", "open", open.join(", "));
}

function printQueue({ outbox }: SupervisorStatus, output: Output): void {
  const { pending, parked, sent, oldestAgeMs, paused } = outbox;
  const facts = [
    ...(paused !== null && pending > 0 ? [`${pending} waiting`] : []),
    ...(oldestAgeMs === null ? [] : [`oldest ${duration(oldestAgeMs)}`]),
    `${sent} sent`,
    ...(parked > 0 ? [`${parked} refused by the gateway`] : []),
    ...(paused === null ? [] : [paused]),
  ];
  const state = paused !== null ? "paused" : pending === 0 ? "empty" : `${pending} waiting`;
  const mood: Mood = paused !== null || parked > 0 ? "warn" : "good";
  output.row("queue", mood, state, facts.join(", "));
}

/** Nothing of an installation that asks nobody, or is none that is updated. */
function printUpdates({ updates }: SupervisorStatus, output: Output): void {
  if (!updates?.asks) return;
  const { channel, checkedMs, fault, ready, heldBy, heldUntilMs = null } = updates;
  const checked = checkedMs === null ? "not checked yet" : `last check ${isoTime(checkedMs)}`;
  const until = heldUntilMs === null ? "" : ` until ${isoTime(heldUntilMs)}`;
  const facts = [
    `channel ${channel}`,
    checked,
    ...(fault === null ? [] : [fault]),
    ...(ready === null ? [] : [`${ready} is ready`]),
    ...(heldBy === null ? [] : [`held by ${heldBy}${until}`]),
  ];
  const isWell = fault === null && heldBy === null;
  const state = fault === null ? (heldBy === null ? "checked daily" : "held") : "failing";
  output.row("updates", isWell ? "good" : "warn", state, facts.join(", "));
}
