import { AppError, type Charged, type ErrorCode } from "../../shared/catalog/errors.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import { unavailableCodes } from "../attempts/failures.ts";
import type { JournalGap } from "../journal/gap-rows.ts";
import type { TerminalState, TerminalUnavailable } from "../terminal/terminal.ts";

/** A reason for which a payment of a new order is refused now. */
export interface NotReadyReason {
  /** The code that `POST /payment` would answer. */
  readonly code: ErrorCode;
  /** For an operator. */
  readonly says: string;
  /** The payment's answer; left out: the code's own message. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Of an order that is to begin; left out: as the code says. */
  readonly charged?: Charged;
}

/** The arbiter's facts, none of them asked for on the wire for this. */
interface ReadinessFacts {
  readonly closed: boolean;
  readonly updating: boolean;
  /** Something of this connector has the terminal: that ends by itself. */
  readonly running: boolean;
  readonly terminal: Pick<TerminalState, "link" | "linkProblem" | "status" | "busy">;
  /** The terminal's last silence, while it is kept. */
  readonly silence: TerminalUnavailable | undefined;
  readonly blockedBy: string | undefined;
  readonly unmatchedAsked: boolean;
  /** Whether the journal can be written; undefined: not checked. */
  readonly proof: Pick<WriteProof, "known" | "proved"> | undefined;
  /** Throws when the journal cannot be read. */
  readonly changed: () => boolean;
  readonly journalGap: Pick<JournalGap, "because" | "isImported"> | undefined;
}

/**
 * Returns why no payment can be taken now; empty: one can. The lease throws by these reasons, and
 * `/health`, `/check`, `/metrics`, `launch.sh status`, the doctor and the page show them
 * (docs/rules/05-evidence.md). A running payment is no reason: it ends by itself.
 */
export function notReadyReasonsOf(facts: ReadinessFacts): readonly NotReadyReason[] {
  return [
    closedBy(facts),
    terminalReason(facts),
    inquiryReason(facts),
    changedOf(facts.changed),
    unwritableBy(isQuiet(facts) ? facts.proof?.proved : facts.proof?.known),
    gapReason(facts.journalGap),
  ].filter((one) => one !== undefined);
}

/** Why nothing gets a lease. */
export function closedBy(
  facts: Pick<ReadinessFacts, "closed" | "updating">,
): NotReadyReason | undefined {
  if (facts.closed) return { code: "STOPPING", says: "the connector is being stopped" };
  if (facts.updating) return { code: "UPDATING", says: "a new version is on probation" };
  return undefined;
}

/** Something has to be asked about first (docs/rules/05-evidence.md). */
export function inquiryReason({
  blockedBy,
  unmatchedAsked,
}: Pick<ReadinessFacts, "blockedBy" | "unmatchedAsked">): NotReadyReason | undefined {
  const code = "TERMINAL_IN_DOUBT";
  if (blockedBy !== undefined) {
    const says = `order ${blockedBy} is in doubt and asked about`;
    return { code, says, details: { orderId: blockedBy } };
  }
  if (!unmatchedAsked) return undefined;
  const message = "The terminal has an unmatched transaction; it is being asked.";
  return { code, says: "the terminal has an unmatched transaction and is asked", message };
}

/** As last known: a payment asks the terminal again. */
function terminalReason({
  terminal: { link, linkProblem, status },
  silence,
  running,
}: Pick<ReadinessFacts, "terminal" | "silence" | "running">): NotReadyReason | undefined {
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

function changedOf(changed: ReadinessFacts["changed"]): NotReadyReason | undefined {
  try {
    if (!changed()) return undefined;
  } catch {
    return { code: "STORAGE_FAILED", says: "the journal cannot be read: check the data folder" };
  }
  return { code: "TERMINAL_CHANGED", says: "another terminal is connected than before" };
}

/** The wire is not held, neither by a lease nor by an inquiry. */
function isQuiet({ running, terminal }: ReadinessFacts): boolean {
  return !running && !terminal.busy;
}

/**
 * Nothing that happens to money could be written down (docs/design.md 1.3). While the wire is
 * held, no proof keeps the terminal waiting for the disk: what happens then is written by itself.
 */
export function unwritableBy(fault: WriteProof["known"]): NotReadyReason | undefined {
  return fault && { code: "STORAGE_FAILED", says: fault.says, charged: "no" };
}

/** No order that is new here can be paid before the supervisor's orders are imported. */
function gapReason(reason: ReadinessFacts["journalGap"]): NotReadyReason | undefined {
  if (!reason || reason.isImported) return undefined;
  const says = `${reason.because}: the supervisor's orders are being imported`;
  return { code: "STORES_DISAGREE", says };
}

/** The answer of a payment that meets it. */
export function refusalBy({ code, message, details, charged }: NotReadyReason): AppError {
  return new AppError(code, message, { details, ...(charged && { charged }) });
}
