import { existsSync } from "node:fs";
import { join } from "node:path";
import { KEEPS_PAYMENTS, saysSince } from "../../shared/catalog/conditions.ts";
import { type Finding, finding, passedOn } from "../../shared/catalog/findings.ts";
import type { Clock } from "../../shared/time.ts";
import { duration } from "../output.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { auditOf, faultCount } from "../processes/journal-audit.ts";
import { programSpec } from "../processes/process-table.ts";
import {
  conditionsReported,
  notReadyReasonsOf,
  type ProgramState,
  programState,
  type TpManagerStatus,
} from "../processes/programs.ts";

const ANSWER_WITHIN_MS = 3_000;

interface ProgramStates {
  readonly tpManager: ProgramState;
  readonly supervisor: ProgramState;
}

export async function readProgramStates(
  dataDirectory: string,
  clock: Clock,
): Promise<ProgramStates> {
  const ask = (name: "tp-manager" | "supervisor"): Promise<ProgramState> =>
    programState(programSpec(name, dataDirectory), clock, ANSWER_WITHIN_MS);
  const [tpManager, supervisor] = await Promise.all([ask("tp-manager"), ask("supervisor")]);
  return { tpManager, supervisor };
}

/** The processes, then what they say about terminal and queue. */
export function checkPrograms(conditions: ProgramStates, dataDirectory: string): Finding[] {
  const stopped = deliberateStop(dataDirectory);
  const status = tpManagerStatus(conditions);
  return [
    checkProgram("tp-manager", conditions.tpManager, stopped),
    ...checkTerminal(status),
    ...checkAssumptions(status),
    checkProgram("supervisor", conditions.supervisor, stopped),
    ...checkQueue(conditions.supervisor),
    ...checkConditions(conditions),
  ];
}

export function tpManagerStatus({ tpManager }: ProgramStates): TpManagerStatus | undefined {
  if (tpManager.state !== "running") return undefined;
  return tpManager.status.program === "tp-manager" ? tpManager.status : undefined;
}

function checkProgram(
  program: string,
  condition: ProgramState,
  since: string | undefined,
): Finding {
  switch (condition.state) {
    case "running": {
      const { version, uptimeMs } = condition.status;
      const { pid } = condition;
      return finding("program-runs", { program, pid, version, up: duration(uptimeMs) });
    }
    case "silent": {
      const pid = condition.pids.join(", ");
      return finding("program-silent", { program, pid, detail: condition.why });
    }
    case "stopped":
      if (since !== undefined) return finding("program-stopped-on-purpose", { program, since });
      return finding("program-stopped", { program });
  }
}

/** Fails with everything that a payment would be refused for. */
function checkTerminal(status: TpManagerStatus | undefined): Finding[] {
  if (!status) return [finding("terminal-not-asked", {})];
  const reasons = notReadyReasonsOf(status).map((one) =>
    passedOn({ check: KEEPS_PAYMENTS, ...one }, "fail"),
  );
  const ready = reasons.length > 0 ? reasons : [checkReadyTerminal(status)];
  if (status.terminal.otherRegister !== true) return ready;
  return [...ready, finding("terminal-other-register", { name: nameOf(status) })];
}

/** The assumptions that verdicts rest on here; an older tp-manager does not report them. */
function checkAssumptions(status: TpManagerStatus | undefined): Finding[] {
  const { assumptions = [], shown = [] } = status?.terminal ?? {};
  return [
    ...assumptions.map(({ name, says, isOn, offWith }) => {
      if (!isOn) return finding("assumption-off", { name, detail: offWith ?? says });
      const detail = offWith === null ? says : `${says} (off with ${offWith})`;
      return finding("assumption-on", { name, detail });
    }),
    ...shown.map(({ name, says: detail, holds }) => {
      if (holds === null) return finding("fact-not-shown", { name, detail });
      return finding(holds ? "fact-shown" : "fact-not-always", { name, detail });
    }),
  ];
}

function nameOf({ terminal: { terminalId } }: TpManagerStatus): string {
  return terminalId === "" ? "the terminal" : `terminal ${terminalId}`;
}

function checkReadyTerminal(status: TpManagerStatus): Finding {
  const { problem, status: state } = status.terminal;
  const { inDoubt: count } = status.payments;
  const values = { name: nameOf(status), status: state };
  if (count > 0) return finding("terminal-in-doubt", { ...values, count });
  if (problem !== null) return finding("terminal-doubtful", { ...values, detail: problem });
  return finding("terminal-ready", values);
}

function checkQueue(condition: ProgramState): Finding[] {
  if (condition.state !== "running" || condition.status.program !== "supervisor") return [];
  const { pending, parked, sent, oldestAgeMs } = condition.status.outbox;
  const isReported = conditionsReported([condition]).some(({ row }) => row.check === "queue");
  if (isReported) return []; // the warning says what to do
  const counts = { pending, parked, sent };
  if (oldestAgeMs === null) return [finding("queue-right", counts)];
  return [finding("queue-waiting", { ...counts, oldest: duration(oldestAgeMs) })];
}

/** One finding for each condition, in the text of the table. */
function checkConditions({ tpManager, supervisor }: ProgramStates): Finding[] {
  return conditionsReported([tpManager, supervisor]).map((condition) => {
    const { name: code, count, row } = condition;
    const { critical, check, todo } = row;
    const one = { check, code, says: saysSince(condition), todo };
    return passedOn(one, critical ? "fail" : "warn", count === null ? {} : { count });
  });
}

/** A doctor that takes minutes is not called again; the audit itself has no such limit. */
const AUDIT_WITHIN_MS = 60_000;

/** Every payment of the journal checked against the rules, where there is a journal. */
export async function checkJournal(dataDirectory: string): Promise<Finding[]> {
  if (!existsSync(join(dataDirectory, "journal.db"))) return [];
  try {
    const audit = await auditOf(dataDirectory, undefined, AUDIT_WITHIN_MS);
    const found = faultCount(audit);
    if (found > 0) return [finding("journal-faulty", { count: found })];
    return [finding("journal-right", { count: audit.attempts })];
  } catch (error) {
    return [finding("journal-not-audited", { detail: (error as Error).message })];
  }
}
