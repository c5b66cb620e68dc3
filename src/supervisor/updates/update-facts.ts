import type { Config } from "../../shared/config/config.ts";
import type { SupervisorAnswer } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { type Publisher, publisherHere, supportOf } from "../../shared/program/installation.ts";
import type { Clock } from "../../shared/time.ts";
import { isDelivery } from "../../shared/version-files.ts";
import {
  BY_OPERATOR,
  readHold,
  readLastSwitch,
  readReady,
  readState,
  type UpdateState,
} from "../../update/update-state.ts";

type Figures = NonNullable<SupervisorAnswer<"status">["updates"]>;

/** The time from the first to the third of three nightly checks, with two hours of tolerance. */
const THREE_NIGHTS_MS = 46 * 3_600_000;

type Settings = Pick<Config, "UPDATE_URL" | "UPDATE_CHANNEL">;

/** Returns a function that reads the state of updates; undefined: unreadable, or a checkout. */
export function updateFacts(
  dataDirectory: string,
  config: Settings,
  clock: Clock,
  log: Logger,
  isUpdated = isDelivery,
): () => Figures | undefined {
  let isLogged = false;
  return () => {
    if (!isUpdated) return undefined;
    try {
      return figuresOf(dataDirectory, config, clock.now());
    } catch (error) {
      if (!isLogged) log.warn({ err: error }, "the stored state of updates cannot be read");
      isLogged = true;
      return undefined;
    }
  };
}

function figuresOf(
  dataDirectory: string,
  { UPDATE_URL, UPDATE_CHANNEL }: Settings,
  nowMs: number,
): Figures {
  const state = readState(dataDirectory);
  const asks = UPDATE_URL !== undefined;
  const hold = readHold(dataDirectory, nowMs);
  return {
    asks,
    channel: UPDATE_CHANNEL,
    checkedMs: state.checkedMs,
    fault: state.fault?.message ?? null,
    freshMs: state.freshMs,
    expiresMs: state.expiresMs,
    ready: readReady(dataDirectory)?.version ?? null,
    heldBy: hold?.who ?? null,
    heldSinceMs: hold?.sinceMs ?? null,
    heldUntilMs: hold?.untilMs ?? null,
    stuck: asks ? stuckOf(state) : null,
    failed: failedOf(dataDirectory),
    support: supportEnd(publisherHere(), nowMs),
  };
}

/** Returns the end of the version's support, from 180 days before it; else null. */
export function supportEnd(publisher: Publisher, nowMs: number): Figures["support"] {
  const support = supportOf(publisher);
  if (support === undefined || nowMs < support.warnedMs) return null;
  const verb = nowMs < support.endMs ? "ends after" : "ended with";
  const reason = `the support of this version ${verb} ${support.until}`;
  return { reason, sinceMs: support.warnedMs };
}

function stuckOf({ checkedMs, fault, putOff }: UpdateState): Figures["stuck"] {
  const faultMs = fault ? (checkedMs ?? 0) - fault.sinceMs : 0;
  if (fault && (fault.code === "metadata-expired" || faultMs >= THREE_NIGHTS_MS)) {
    return { reason: fault.message, sinceMs: Math.round(fault.sinceMs) };
  }
  if (!putOff || putOff.lastMs - putOff.sinceMs < THREE_NIGHTS_MS) return null;
  const reason = `${putOff.version} was put off: ${putOff.why}`;
  return { reason, sinceMs: Math.round(putOff.sinceMs) };
}

/** Returns the last version that failed here, unless an operator took the update back. */
function failedOf(dataDirectory: string): Figures["failed"] {
  const last = readLastSwitch(dataDirectory);
  if (last?.step !== "undone" || !last.bars || last.why === BY_OPERATOR) return null;
  return { reason: `${last.to} failed here: ${last.why}`, sinceMs: Math.round(last.atMs) };
}
