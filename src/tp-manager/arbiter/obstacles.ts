import { AppError, type Charged, type ErrorCode } from "../../shared/catalog/errors.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import { unavailableCodes } from "../attempts/failures.ts";
import type { JournalGap } from "../journal/gap-rows.ts";
import type { TerminalState, TerminalUnavailable } from "../terminal/terminal.ts";

/** A reason for which a payment of a new order is refused now. */
export interface Obstacle {
  /** The code that `POST /payment` would answer. */
  readonly code: ErrorCode;
  /** In words for an operator. */
  readonly says: string;
  /** Of the payment's answer; without it the code's own words. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Of an order that is to begin; without it the code's own word. */
  readonly charged?: Charged;
}

/** The arbiter's facts, none of them asked for on the wire for this. */
interface ObstacleFacts {
  readonly closed: boolean;
  readonly updating: boolean;
  /** Something of this connector has the terminal: that ends by itself. */
  readonly running: boolean;
  readonly terminal: Pick<TerminalState, "link" | "linkProblem" | "status" | "busy">;
  /** The terminal's last silence, while it is told. */
  readonly silence: TerminalUnavailable | undefined;
  readonly blockedBy: string | undefined;
  readonly unmatchedAsked: boolean;
  /** Whether the journal can be written; undefined: nobody looks. */
  readonly proof: Pick<WriteProof, "known" | "proved"> | undefined;
  /** Throws when the journal cannot be read. */
  readonly changed: () => boolean;
  readonly storeDoubt: Pick<JournalGap, "because" | "isImported"> | undefined;
}

/**
 * Whether a payment can be taken now, and if not, why: the one place that says so. The turn throws
 * by it, and `/health`, `/check`, `/metrics`, `launch.sh status`, the doctor and the page show it
 * (docs/rules/05-evidence.md). A running payment is no obstacle: that ends by itself.
 */
export function obstaclesOf(facts: ObstacleFacts): readonly Obstacle[] {
  return [
    closedBy(facts),
    terminalObstacle(facts),
    doubtOf(facts),
    changedOf(facts.changed),
    unwritableBy(isQuiet(facts) ? facts.proof?.proved : facts.proof?.known),
    storesObstacle(facts.storeDoubt),
  ].filter((one) => one !== undefined);
}

/** Nothing gets a turn. */
export function closedBy(facts: Pick<ObstacleFacts, "closed" | "updating">): Obstacle | undefined {
  if (facts.closed) return { code: "STOPPING", says: "the connector is being stopped" };
  if (facts.updating) return { code: "UPDATING", says: "a new version is on probation" };
  return undefined;
}

/** Something is asked about first (docs/rules/05-evidence.md). */
export function doubtOf({
  blockedBy,
  unmatchedAsked,
}: Pick<ObstacleFacts, "blockedBy" | "unmatchedAsked">): Obstacle | undefined {
  const code = "TERMINAL_IN_DOUBT";
  if (blockedBy !== undefined) {
    const says = `order ${blockedBy} is in doubt and asked about`;
    return { code, says, details: { orderId: blockedBy } };
  }
  if (!unmatchedAsked) return undefined;
  const message = "The terminal has an unmatched transaction; it is being asked.";
  return { code, says: "the terminal has an unmatched transaction and is asked", message };
}

/** As last known: the payment asks again. */
function terminalObstacle({
  terminal: { link, linkProblem, status },
  silence,
  running,
}: Pick<ObstacleFacts, "terminal" | "silence" | "running">): Obstacle | undefined {
  if (link !== "connected") {
    const says = `no link to the terminal: ${linkProblem ?? link}`;
    return { code: "TERMINAL_DISCONNECTED", says };
  }
  if (status?.cr === "1" && !running) {
    return { code: "TERMINAL_BUSY", says: `the terminal is busy by itself: ${status.detail}` };
  }
  if (status?.cr === "2") {
    return { code: "TERMINAL_OUT_OF_ORDER", says: `the terminal needs action: ${status.detail}` };
  }
  if (!silence || running) return undefined;
  const says = `the terminal did not answer: ${silence.message}`;
  return { code: unavailableCodes[silence.reason], says };
}

function changedOf(changed: ObstacleFacts["changed"]): Obstacle | undefined {
  try {
    if (!changed()) return undefined;
  } catch {
    return { code: "STORAGE_FAILED", says: "the journal cannot be read: check the data folder" };
  }
  return { code: "TERMINAL_CHANGED", says: "another terminal is connected than before" };
}

/** The wire is not held, neither by a turn nor by an inquiry. */
function isQuiet({ running, terminal }: ObstacleFacts): boolean {
  return !running && !terminal.busy;
}

/**
 * Nothing that happens to money could be written down (docs/design.md 1.3). While the wire is
 * held, no proof keeps the terminal waiting for the disk: what happens then is written by itself.
 */
export function unwritableBy(fault: WriteProof["known"]): Obstacle | undefined {
  return fault && { code: "STORAGE_FAILED", says: fault.says, charged: "no" };
}

/** An order that is new here cannot be paid before the supervisor has told what it knows. */
function storesObstacle(doubt: ObstacleFacts["storeDoubt"]): Obstacle | undefined {
  if (!doubt || doubt.isImported) return undefined;
  const says = `${doubt.because}: the supervisor's orders are being taken over`;
  return { code: "STORES_DISAGREE", says };
}

/** The answer of a payment that meets it. */
export function refusalBy({ code, message, details, charged }: Obstacle): AppError {
  return new AppError(code, message, { details, ...(charged && { charged }) });
}
