import { conditionText } from "../../shared/catalog/conditions.ts";
import { askingText } from "../../shared/catalog/errors.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { type Clock, isoTime } from "../../shared/time.ts";
import { simulatorSpecs } from "../demo/settings.ts";
import { type CommandContext, duration, type Output } from "../output.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { findProcesses } from "../processes/process-table.ts";
import {
  conditionsReported,
  notReadyReasonsOf,
  programStates,
  type StatusOf,
} from "../processes/programs.ts";

const ANSWER_WITHIN_MS = 2_000;

/** The state of an installation, as `launch.sh status --json` prints it. */
export type InstallationStatus = Awaited<ReturnType<typeof readStatus>>;

export async function readStatus(dataDirectory: string, clock: Clock) {
  const states = await programStates(dataDirectory, clock, ANSWER_WITHIN_MS);
  const { tpManager, supervisor } = states;
  const simulators = simulatorSpecs(dataDirectory).map((spec) => ({
    name: spec.name,
    pid: findProcesses(spec)[0] ?? null,
  }));
  const isReady = tpManager.state === "running" && notReadyReasonsOf(tpManager.status).length === 0;
  const isSent = supervisor.state === "running";
  return {
    dataDirectory,
    /** Whether every program answers and a payment would be accepted. */
    well: isReady && isSent && simulators.every(({ pid }) => pid !== null),
    /** When an operator stopped the programs; null: the programs are to run. */
    stoppedSince: deliberateStop(dataDirectory) ?? null,
    programs: [
      { program: "tp-manager" as const, ...tpManager },
      { program: "supervisor" as const, ...supervisor },
    ],
    /** The conditions that the programs report and that do not prevent payments. */
    troubles: conditionsReported(states).map((condition) => ({
      name: condition.name,
      about: condition.row.check,
      words: conditionText(condition),
    })),
    simulators,
  };
}

/** Prints the status for people, or as JSON for a program; returns the exit code. */
export async function showStatus(context: CommandContext, json: boolean): Promise<number> {
  const status = await readStatus(context.dataDirectory, context.clock);
  if (!json) return printStatus(status, context.output);
  context.output.text(JSON.stringify(status, null, 2));
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}

export function printStatus(status: InstallationStatus, output: Output): number {
  for (const program of status.programs) printProgram(program, output);
  for (const { name, words: text } of status.troubles) output.row(name, "warn", "condition", text);
  for (const { name, pid } of status.simulators) {
    if (pid === null) output.row(name, "bad", "stopped");
    else output.row(name, "good", "running", `pid ${pid}`);
  }
  if (status.stoppedSince !== null && status.programs.some(({ state }) => state === "stopped")) {
    output.note(
      `An operator stopped the programs at ${status.stoppedSince}; ./launch.sh starts them again.`,
    );
  } else if (!status.well) {
    output.note("./launch.sh doctor says what is wrong and what to do about it.");
  }
  return status.well ? exitCodes.ok : exitCodes.unavailable;
}

function printProgram(one: InstallationStatus["programs"][number], output: Output): void {
  if (one.state === "stopped") output.row(one.program, "bad", "stopped");
  if (one.state === "silent") {
    const details = `pid ${one.pids.join(", ")}: ${one.why}`;
    output.row(one.program, "warn", "not answering", details);
  }
  if (one.state !== "running") return;
  const { status, pid } = one;
  const details = `pid ${pid}, version ${status.version}, up ${duration(status.uptimeMs)}`;
  output.row(one.program, "good", "running", details);
  if (status.program === "tp-manager") printTerminal(status, output);
  else {
    printQueue(status, output);
    printUpdates(status, output);
    printFleet(status, output);
  }
}

const listed = (...facts: ReadonlyArray<string | false | null>): string =>
  facts.filter(Boolean).join(", ");

function printTerminal(status: StatusOf<"tp-manager">, output: Output): void {
  const { port, pages, terminal, payments } = status;
  const { link, problem, terminalId, sinceMs } = terminal;
  const isConnected = link === "connected";
  const busy = payments.running > 0 ? ", a payment is running" : "";
  output.row("local API", "good", "listening", `port ${port}${busy}`);
  for (const { name, port, fault } of pages ?? []) {
    if (fault === null) output.row(name, "good", "listening", `http://localhost:${port}/`);
    else output.row(name, "warn", "missing", fault);
  }
  const since = !isConnected && sinceMs !== undefined && `since ${isoTime(sinceMs)}`;
  const named = isConnected ? `${terminalId} ${terminal.status}`.trim() : terminalId;
  const reasons = notReadyReasonsOf(status);
  const isGood = isConnected && problem === null && reasons.length === 0;
  output.row("terminal", isGood ? "good" : "warn", link, listed(named, problem, since));
  for (const [at, { says, todo }] of reasons.entries()) {
    output.row(at === 0 ? "payments" : "", "bad", "refused", `${says} -> ${todo}`);
  }
  const open = listed(
    payments.inDoubt > 0 && `${payments.inDoubt} in doubt (docs/unknown.md)`,
    payments.notHandedOver > 0 && `${payments.notHandedOver} not handed off yet`,
  );
  if (open !== "") output.row("orders", "warn", "open", open);
  const { askedUntilMs: untilMs } = payments;
  if (untilMs !== undefined) output.row("recovery", "warn", "asking", askingText(untilMs));
}

function printQueue({ outbox }: StatusOf<"supervisor">, output: Output): void {
  const { pending, parked, sent, oldestAgeMs, paused } = outbox;
  const facts = listed(
    paused !== null && pending > 0 && `${pending} waiting`,
    oldestAgeMs !== null && `oldest ${duration(oldestAgeMs)}`,
    `${sent} sent`,
    parked > 0 && `${parked} parked until an operator decides`,
    paused,
  );
  const idle = parked > 0 ? "parked" : "empty";
  const state = paused !== null ? "paused" : pending === 0 ? idle : `${pending} waiting`;
  output.row("queue", paused !== null || parked > 0 ? "warn" : "good", state, facts);
}

function printUpdates({ updates }: StatusOf<"supervisor">, output: Output): void {
  if (!updates?.asks) return;
  const { channel, checkedMs, fault, ready, heldBy, heldUntilMs = null } = updates;
  const until = heldUntilMs === null ? "" : ` until ${isoTime(heldUntilMs)}`;
  const facts = listed(
    `channel ${channel}`,
    checkedMs === null ? "not checked yet" : `last check ${isoTime(checkedMs)}`,
    fault,
    ready !== null && `${ready} is ready`,
    heldBy !== null && `held by ${heldBy}${until}`,
  );
  const state = fault !== null ? "failing" : heldBy !== null ? "held" : "checked daily";
  output.row("updates", state === "checked daily" ? "good" : "warn", state, facts);
}

function printFleet({ fleet }: StatusOf<"supervisor">, output: Output): void {
  if (!fleet) return;
  const { fault, sinceMs } = fleet;
  const facts = listed(fault, `since ${isoTime(sinceMs)}`);
  if (fault === null) output.row("fleet", "good", "connected", facts);
  else output.row("fleet", "warn", "not connected", facts);
}
