import { type Condition, conditionsOf } from "../../shared/catalog/conditions.ts";
import type { FleetNewsAnswer } from "../../shared/ipc/fleet-messages.ts";
import type { SupervisorStatus } from "../intake/supervisor-status.ts";
import { allowed, fleetDocuments, type StateNow } from "./documents.ts";

/** The answer of tp-manager. "silent": nobody listens; "slow": no answer, or none understood. */
export type TpManagerWord = FleetNewsAnswer | "silent" | "slow";

export interface StateFacts {
  readonly tpManager: TpManagerWord;
  readonly supervisor: SupervisorStatus;
  readonly dropped: number;
}

/** Troubles as both programs see them (docs/design.md 8.8). */
export function conditionsNow({ tpManager, supervisor }: StateFacts): Condition[] {
  const told = typeof tpManager === "string" ? undefined : tpManager.troubles;
  return conditionsOf({ supervisor, tpManager: told });
}

const now = fleetDocuments.state.schema.shape.now.unwrap().shape;

/** How the kiosk is, in names, numbers and times (docs/fleet.md 3.2). Pure. */
export function stateOf(facts: StateFacts): StateNow {
  const { tpManager, supervisor, dropped } = facts;
  const { outbox } = supervisor;
  const told = typeof tpManager === "string" ? null : tpManager;
  return {
    canPay: canPay(tpManager),
    obstacles: obstaclesOf(tpManager),
    terminal: told && terminalOf(told.terminal),
    payments: told?.payments ?? null,
    gateway: {
      pending: outbox.pending,
      parked: outbox.parked,
      // In steps, because each change of a state is published.
      oldestAgeSeconds: outbox.oldestAgeMs === null ? null : minutes(outbox.oldestAgeMs) * 60,
      paused: outbox.paused !== null,
      possibleCopies: outbox.ambiguous?.possibleCopies ?? 0,
    },
    troubles: conditionsNow(facts).map(({ name }) => name),
    versions: {
      supervisor: allowed(now.versions.shape.supervisor, supervisor.version),
      tpManager: allowed(now.versions.shape.tpManager, told?.version ?? null),
    },
    update: updateOf(supervisor.updates),
    dropped,
  };
}

const minutes = (ms: number): number => Math.floor(Math.max(ms, 0) / 60_000);

function canPay(word: TpManagerWord): StateNow["canPay"] {
  if (word === "slow") return "unknown";
  return word !== "silent" && (word.troubles.obstacles ?? []).length === 0 ? "yes" : "no";
}

function obstaclesOf(word: TpManagerWord): StateNow["obstacles"] {
  if (typeof word === "string") return ["tp-manager-silent"];
  const known = (code: string) => allowed(now.obstacles.element, code) ?? ("other" as const);
  return [...new Set((word.troubles.obstacles ?? []).map(({ code }) => known(code)))];
}

function updateOf(figures: SupervisorStatus["updates"]): StateNow["update"] {
  if (!figures?.asks) return null;
  const { ready, heldBy, stuck, failed } = figures;
  return {
    ready: allowed(now.update.unwrap().shape.ready, ready),
    held: heldBy !== null,
    stuck: stuck !== null,
    failed: failed !== null,
  };
}

function terminalOf({ link, state, since, terminalId }: FleetNewsAnswer["terminal"]) {
  const { shape } = now.terminal.unwrap();
  return {
    link: allowed(shape.link, link) ?? ("other" as const),
    state: allowed(shape.state, state) ?? ("other" as const),
    since,
    terminalId: allowed(shape.terminalId, terminalId),
  };
}
