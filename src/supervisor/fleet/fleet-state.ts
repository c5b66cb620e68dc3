import type { Condition } from "../../shared/catalog/conditions.ts";
import type { FleetNewsAnswer } from "../../shared/ipc/fleet-messages.ts";
import type { SupervisorStatus } from "../intake/supervisor-status.ts";
import { allowed, fleetDocuments, type StateNow } from "./documents.ts";
import type { FleetMachine } from "./fleet-facts.ts";

/** What tp-manager answered. "silent": it does not listen. "slow": no readable answer came. */
export type TpManagerReply = FleetNewsAnswer | "silent" | "slow";

interface StateFacts {
  readonly tpManager: TpManagerReply;
  readonly supervisor: SupervisorStatus;
  /** The conditions of both programs (docs/design.md 8.8). */
  readonly conditions: readonly Condition[];
  readonly dropped: number;
  readonly machine: Pick<FleetMachine, "system" | "startedAfter" | "supportEnds">;
}

const now = fleetDocuments.state.schema.shape.now.unwrap().shape;
const startedAfter = now.startedAfter.unwrap().shape.supervisor;

/** Returns the state of the kiosk for the fleet, without free texts (docs/fleet.md 3.2). Pure. */
export function stateOf(facts: StateFacts): StateNow {
  const { tpManager, supervisor, conditions, dropped, machine } = facts;
  const { outbox, updates } = supervisor;
  const answer = typeof tpManager === "string" ? null : tpManager;
  const notReady = answer?.troubles.obstacles ?? [];
  const isReady = answer !== null && notReady.length === 0;
  const codeOf = ({ code }: { code: string }) => allowed(now.obstacles.element, code) ?? "other";
  return {
    canPay: tpManager === "slow" ? "unknown" : isReady ? "yes" : "no",
    obstacles: answer ? [...new Set(notReady.map(codeOf))] : ["tp-manager-silent"],
    terminal: answer && terminalOf(answer.terminal),
    payments: answer?.payments ?? null,
    gateway: {
      pending: outbox.pending,
      parked: outbox.parked,
      // The age is rounded to minutes, because every change of the state is published.
      oldestAgeSeconds: outbox.oldestAgeMs === null ? null : minutes(outbox.oldestAgeMs) * 60,
      paused: outbox.paused !== null,
      possibleCopies: outbox.ambiguous?.possibleCopies ?? 0,
    },
    troubles: conditions.map(({ name }) => name),
    versions: {
      supervisor: allowed(now.versions.shape.supervisor, supervisor.version),
      tpManager: allowed(now.versions.shape.tpManager, answer?.version ?? null),
    },
    update: updates?.asks
      ? {
          ready: allowed(now.update.unwrap().shape.ready, updates.ready),
          held: updates.heldBy !== null,
          stuck: updates.stuck !== null,
          failed: updates.failed !== null,
        }
      : null,
    dropped,
    system: machine.system,
    startedAfter: {
      supervisor: machine.startedAfter,
      tpManager: answer && (allowed(startedAfter, answer.startedAfter) ?? "not-known"),
    },
    certificates: supervisor.certificateFiles ?? [],
    supportEnds: machine.supportEnds,
  };
}

const minutes = (ms: number): number => Math.floor(Math.max(ms, 0) / 60_000);

function terminalOf({ link, state, since, terminalId }: FleetNewsAnswer["terminal"]) {
  const { shape } = now.terminal.unwrap();
  return {
    link: allowed(shape.link, link) ?? ("other" as const),
    state: allowed(shape.state, state) ?? ("other" as const),
    since,
    terminalId: allowed(shape.terminalId, terminalId),
  };
}
