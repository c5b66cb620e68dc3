import { existsSync } from "node:fs";
import { join } from "node:path";
import { KEEPS_PAYMENTS, saysSince } from "../../shared/catalog/conditions.ts";
import { type Finding, finding, passedOn } from "../../shared/catalog/findings.ts";
import { duration } from "../output.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { auditOf, faultCount } from "../processes/journal-audit.ts";
import {
  conditionsReported,
  notReadyReasonsOf,
  type ProgramState,
  type ProgramStates,
  reportOf,
  type TpManagerStatus,
} from "../processes/programs.ts";

export function checkPrograms(states: ProgramStates, dataDirectory: string): Finding[] {
  const stopped = deliberateStop(dataDirectory);
  const status = reportOf(states.tpManager);
  return [
    checkProgram("tp-manager", states.tpManager, stopped),
    ...checkTerminal(status),
    ...checkAssumptions(status),
    checkProgram("supervisor", states.supervisor, stopped),
    ...checkQueue(states.supervisor),
    ...checkConditions(states),
  ];
}

function checkProgram(program: string, is: ProgramState, since: string | undefined): Finding {
  if (is.state === "running") {
    const { version, uptimeMs } = is.status;
    return finding("program-runs", { program, pid: is.pid, version, up: duration(uptimeMs) });
  }
  if (is.state === "silent") {
    return finding("program-silent", { program, pid: is.pids.join(", "), detail: is.why });
  }
  if (since !== undefined) return finding("program-stopped-on-purpose", { program, since });
  return finding("program-stopped", { program });
}

/** Returns a failure for each reason to refuse payments; if there is none, the terminal's state. */
function checkTerminal(status: TpManagerStatus | undefined): Finding[] {
  if (!status) return [finding("terminal-not-asked", {})];
  const reasons = notReadyReasonsOf(status).map((one) =>
    passedOn({ check: KEEPS_PAYMENTS, ...one }, "fail"),
  );
  const ready = reasons.length > 0 ? reasons : [checkReadyTerminal(status)];
  if (status.terminal.otherRegister !== true) return ready;
  return [...ready, finding("terminal-other-register", { name: nameOf(status) })];
}

/** Returns findings about what proofs of payments assume; an older tp-manager reports none. */
function checkAssumptions(status: TpManagerStatus | undefined): Finding[] {
  const { assumptions = [], shown: facts = [] } = status?.terminal ?? {};
  return [
    ...assumptions.map(({ name, says, isOn, offWith }) => {
      if (!isOn) return finding("assumption-off", { name, detail: offWith ?? says });
      const detail = offWith === null ? says : `${says} (off with ${offWith})`;
      return finding("assumption-on", { name, detail });
    }),
    ...facts.map(({ name, says: detail, holds }) => {
      if (holds === null) return finding("fact-not-shown", { name, detail });
      return finding(holds ? "fact-shown" : "fact-not-always", { name, detail });
    }),
  ];
}

function nameOf({ terminal: { terminalId } }: TpManagerStatus): string {
  return terminalId === "" ? "the terminal" : `terminal ${terminalId}`;
}

function checkReadyTerminal(status: TpManagerStatus): Finding {
  const { problem, status: state, terminalId } = status.terminal;
  const { inDoubt: count } = status.payments;
  const name = terminalId === "" ? "no terminal id" : nameOf(status);
  const values = { name, status: state };
  if (count > 0) return finding("terminal-in-doubt", { ...values, count });
  if (problem !== null) return finding("terminal-doubtful", { ...values, detail: problem });
  return finding("terminal-ready", values);
}

function checkQueue(supervisor: ProgramStates["supervisor"]): Finding[] {
  const status = reportOf(supervisor);
  const reported = conditionsReported({ tpManager: { state: "stopped" }, supervisor });
  // If the supervisor reports a condition of the queue, that condition already is a finding.
  if (!status || reported.some(({ row }) => row.check === "queue")) return [];
  const { pending, parked, sent, oldestAgeMs } = status.outbox;
  const counts = { pending, parked, sent };
  if (oldestAgeMs === null) return [finding("queue-right", counts)];
  return [finding("queue-waiting", { ...counts, oldest: duration(oldestAgeMs) })];
}

function checkConditions(states: ProgramStates): Finding[] {
  // The end of support has a line of its own, which needs no running program.
  const conditions = conditionsReported(states).filter(({ name }) => name !== "support-ends");
  return conditions.map((condition) => {
    const { name: code, count, row } = condition;
    const { critical, check, todo } = row;
    const one = { check, code, says: saysSince(condition), todo };
    return passedOn(one, critical ? "fail" : "warn", count === null ? {} : { count });
  });
}

/** The time limit of the journal's audit in ms, because a person waits for the doctor. */
const AUDIT_WITHIN_MS = 60_000;

/** Checks each payment of the journal against the rules; no finding without a journal. */
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
