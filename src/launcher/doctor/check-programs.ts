import { createServer } from "node:net";
import type { Clock } from "../../shared/time.ts";
import { inDoubtWords, saysSince } from "../../shared/troubles.ts";
import {
  type Condition,
  conditionOf,
  obstaclesIn,
  type TpManagerStatus,
  troublesToldBy,
} from "../condition.ts";
import { deliberateStop } from "../deliberate-stop.ts";
import { duration } from "../output.ts";
import { programPart } from "../part.ts";
import { bad, doubtful, type Finding, good } from "./finding.ts";

const ANSWER_WITHIN_MS = 3_000;
const START = "./launch.sh start";

interface Conditions {
  readonly tpManager: Condition;
  readonly supervisor: Condition;
}

export async function readConditions(dataDirectory: string, clock: Clock): Promise<Conditions> {
  const ask = (name: "tp-manager" | "supervisor"): Promise<Condition> =>
    conditionOf(programPart(name, dataDirectory), `${dataDirectory}/run`, clock, ANSWER_WITHIN_MS);
  const [tpManager, supervisor] = await Promise.all([ask("tp-manager"), ask("supervisor")]);
  return { tpManager, supervisor };
}

/** The processes, then what they say about terminal and queue. */
export function checkPrograms(conditions: Conditions, dataDirectory: string): Finding[] {
  const stopped = deliberateStop(dataDirectory);
  return [
    checkProgram("tp-manager", conditions.tpManager, stopped),
    ...checkTerminal(tpManagerStatus(conditions)),
    checkProgram("supervisor", conditions.supervisor, stopped),
    ...checkQueue(conditions.supervisor),
    ...checkTroubles(conditions),
  ];
}

export function tpManagerStatus({ tpManager }: Conditions): TpManagerStatus | undefined {
  if (tpManager.state !== "running") return undefined;
  return tpManager.status.program === "tp-manager" ? tpManager.status : undefined;
}

function checkProgram(name: string, condition: Condition, stopped: string | undefined): Finding {
  switch (condition.state) {
    case "running": {
      const { version, uptimeMs } = condition.status;
      const says = `pid ${condition.pid}, version ${version}, up ${duration(uptimeMs)}`;
      return good(name, says);
    }
    case "silent": {
      const says = `pid ${condition.pids.join(", ")} does not answer: ${condition.why}`;
      return bad(name, says, "./launch.sh restart");
    }
    case "stopped":
      if (stopped !== undefined)
        return doubtful(name, `stopped on purpose since ${stopped}`, START);
      return bad(name, "does not run", `${START}; it says why if it cannot`);
  }
}

/** Fails with everything that a payment would be refused for. */
function checkTerminal(status: TpManagerStatus | undefined): Finding[] {
  if (!status) return [doubtful("terminal", "not asked: tp-manager does not answer", START)];
  const obstacles = obstaclesIn(status).map(({ says, todo }) => bad("terminal", says, todo));
  return obstacles.length > 0 ? obstacles : [checkReadyTerminal(status)];
}

function checkReadyTerminal(status: TpManagerStatus): Finding {
  const { problem, terminalId, status: words } = status.terminal;
  const name = terminalId === "" ? "the terminal" : `terminal ${terminalId}`;
  const { inDoubt } = status.payments;
  if (inDoubt > 0) {
    const todo =
      "see the terminal's own journal, then settle them at the console, In doubt; " +
      "GET /payments?status=Unknown names them";
    return doubtful("terminal", `${name} ${words}; ${inDoubtWords(inDoubt)}`, todo);
  }
  if (problem !== null) return doubtful("terminal", `${name} ${words}: ${problem}`, "look at it");
  return good("terminal", `${name} ${words}`);
}

function checkQueue(condition: Condition): Finding[] {
  if (condition.state !== "running" || condition.status.program !== "supervisor") return [];
  const { pending, parked, sent, oldestAgeMs } = condition.status.outbox;
  const age = oldestAgeMs === null ? "" : `, oldest ${duration(oldestAgeMs)}`;
  const says = `${pending} waiting${age}, ${parked} refused, ${sent} sent`;
  const isTold = troublesToldBy([condition]).some(({ row }) => row.check === "queue");
  // A warning beside it says what to do.
  return isTold ? [] : [good("queue", says)];
}

/** One finding for each trouble, with the table's words. */
function checkTroubles({ tpManager, supervisor }: Conditions): Finding[] {
  return troublesToldBy([tpManager, supervisor]).map((trouble) => {
    const { grave, check, todo } = trouble.row;
    return (grave ? bad : doubtful)(check, saysSince(trouble), todo);
  });
}

/** Free, or held by our own tp-manager. */
export async function checkLocalPort(port: number, tpManager: Condition): Promise<Finding> {
  const { state } = tpManager;
  const own = state === "running" && "port" in tpManager.status ? tpManager.status.port : undefined;
  if (own === port) return good("local port", `${port} is tp-manager's`);
  const fault = await listenFault(port);
  if (fault === "EADDRINUSE" && state === "silent") {
    return doubtful("local port", `${port} is in use, most likely by tp-manager`, "see tp-manager");
  }
  if (fault === "EADDRINUSE") {
    const todo = "end that program, or choose another LOCAL_PORT and tell the kiosk software";
    return bad("local port", `another program listens on ${port}`, todo);
  }
  if (fault !== undefined) {
    return bad("local port", `${port} cannot be used: ${fault}`, "choose one from 1024 to 65535");
  }
  if (own === undefined) return good("local port", `${port} is free`);
  const says = `tp-manager still listens on ${own}, the setup file says ${port}`;
  return doubtful("local port", says, "./launch.sh restart");
}

function listenFault(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () =>
      server.close(() => resolve(undefined)),
    );
  });
}
