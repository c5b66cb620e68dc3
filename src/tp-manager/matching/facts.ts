import type { NextCommand } from "../attempts/next-command.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import type { LastTransaction, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import type { Assumptions } from "./assumptions.ts";
import {
  type Comparison,
  compareReports,
  compareStored,
  haveMoments,
  isFromPayment,
  isNextReceipt,
  type NamedRecord,
  namesTrace,
  type PaymentTime,
  sameTerminal,
} from "./comparison.ts";

/**
 * The facts of an inquiry: what one probe of the terminal shows, what was heard on the wire, and
 * what the journal knows (docs/rules/01-baseline.md, docs/rules/02-proof.md; docs/zvt.md 9.2).
 * Pure. Only table.ts says what the facts prove.
 */

/** Facts about the terminal and this process that belong to an inquiry. */
export interface InquiryTimes {
  /**
   * Since when nothing of the command can have left this process: its end was lost then, or the
   * process was started later. Monotonic milliseconds, because a wall clock can jump.
   */
  readonly lostSinceMs: number;
  /** The terminal's own time limit for a command it was left alone with. */
  readonly limitMs: number;
  /** The ACKs of the receipt's print count as well (docs/zvt.md 9.1). */
  readonly printsCount: boolean;
}

/** A sale or reversal in doubt, or an unmatched transaction: only the terminal can clear it up. */
export interface Inquiry extends InquiryTimes {
  readonly about: "sale" | "reversal" | "unmatched";
  /** The terminal that the command was sent to, or that has the unmatched transaction. */
  readonly identity: TerminalIdentity;
  /** The terminal's last transaction before the command; of an unmatched one nothing is known. */
  readonly before: LastTransaction;
  readonly heard: WireEvidence;
  /** The order that a sale must agree with; null for the other two. */
  readonly asked: Asked | null;
  /** The sale that is to be reversed; null for the other two. */
  readonly sale: TransactionReport | null;
  /**
   * Nothing can have been stored and closed unnoticed since the command may have left
   * ({@link isProbedInTime}). Asked of a storage that was empty before and is empty now.
   */
  readonly isWatched?: boolean;
  /** Of a storage that was empty before: a probe has shown a transaction since. */
  readonly wasStored?: boolean;
}

/** The order of a sale in doubt. */
export interface Asked extends PaymentTime {
  /** One amount; two when only a part of the goods came out and either may have been charged. */
  readonly amountsMinor: readonly number[];
  readonly currencyNumeric: string;
}

/** Facts that the terminal reported on the wire while the command ran. */
export interface WireEvidence {
  /** The good result that the terminal reported last, or the unmatched one itself. */
  readonly good: TransactionReport | null;
  /** That result was refused on the wire. */
  readonly refused: boolean;
  /** The terminal was found to hold that result, and another order is a candidate as well. */
  readonly held: boolean;
  /** The arrival of our ACK of that result is proven. */
  readonly acknowledged: boolean;
  /** As `acknowledged`, of a good result that another report followed: it proves nothing stored. */
  readonly earlierAckArrived: boolean;
  /** The ACK may have arrived; the process ended before it could write that. */
  readonly ackMayHaveArrived: boolean;
  /** The terminal's last report was neither good nor bad: a card may have been charged. */
  readonly unclear: boolean;
  /** A second sale reported in the same payment, and refused (docs/rules/20-second-sale.md). */
  readonly second: TransactionReport | null;
  /**
   * "unheard": link lost, process gone, or an end that says nothing. "bad": the terminal reported a
   * failure after it had reported something else. "only-bad": it reported nothing but the failure.
   */
  readonly end: "unheard" | "bad" | "only-bad";
}

/** The answer of an idle terminal to the question for its last transaction. */
export interface Probe {
  readonly identity: TerminalIdentity;
  readonly last: LastTransaction;
  /** Monotonic milliseconds. */
  readonly atMs: number;
}

/** A probe that another one followed in the same run. */
export interface EarlierProbe extends Probe {
  /** When the first of the probes that have shown the same was made; monotonic milliseconds. */
  readonly sinceMs: number;
}

/** The journal's knowledge about an inquiry and about what a probe has found. */
export interface Known {
  /** The order, other than the inquiry's own, that the found transaction belongs to. */
  readonly foundIs: string | null;
  /** Who else can have made the found transaction, for people: another order, an outsider. */
  readonly otherCandidate: string | null;
  /** The matcher names the inquiry's own attempt as one that can have made it. */
  readonly isCandidate: boolean;
  /** The order that the unmatched transaction is the sale of. */
  readonly unmatchedIs: string | null;
  /** The found transaction stood before each command that the unmatched one can be of. */
  readonly stoodBefore: boolean;
  /** The next command at the terminal; null when none followed. */
  readonly next: NextCommand | null;
  /** Something may have been sold since. */
  readonly soldSince: boolean;
  /** An end of day may have run since. */
  readonly closedSince: boolean;
  /** This terminal has shown a completed reversal as its last transaction. */
  readonly storesReversals: boolean;
  /** Taken for granted about this terminal. */
  readonly holds: Assumptions;
}

/** The facts that {@link factsOf} returns. */
export type Facts = ReturnType<typeof factsOf>;

/**
 * How long a terminal may go unprobed until two empty storages are no longer taken for one. In
 * less time no terminal charges a card, stores the sale and closes its day by itself; while it does
 * any of that it is busy, and a busy terminal answers no probe.
 */
export const EMPTY_GAP_MS = 10_000;
/** Probes of an empty storage follow each other so closely that each may come a bit late. */
export const EMPTY_PROBES_MS = 4_000;

/** Whether two probes of an empty storage are close enough; a wall clock may be set back. */
export const isProbedInTime = (gapMs: number): boolean => gapMs >= 0 && gapMs <= EMPTY_GAP_MS;

/**
 * A numbering that begins anew does not reach this number within the few commands since the one in
 * doubt, so a number that follows a greater one is none of a new numbering.
 */
const NEW_NUMBERING_MAX = 20;

/** Returns what one probe of an inquiry shows; table.ts judges it. */
export function factsOf(
  begun: Inquiry,
  probe: Probe,
  known: Known,
  earlier: EarlierProbe | null,
  confirmAfterMs: number,
) {
  const isOwn = begun.about !== "sale" || known.holds.has("own-report");
  const inquiry = isOwn ? begun : { ...begun, heard: { ...begun.heard, good: null } };
  const { heard, before } = inquiry;
  const { last } = probe;
  const found = last.kind === "transaction" ? last.report : null;
  const silenceLeftMs = inquiry.limitMs - (probe.atMs - inquiry.lostSinceMs);
  const isUnchangedSince = earlier !== null && isUnchanged(earlier.last, last);
  const pauseLeftMs = confirmAfterMs - (isUnchangedSince ? probe.atMs - earlier.sinceMs : 0);
  const { next: _, ...journal } = known;
  const { good } = heard;
  return {
    ...journal,
    ...heard,
    sameTerminal: sameTerminal(inquiry.identity, probe.identity),
    kind: last.kind,
    why: last.kind === "not-told" ? last.why : "",
    found,
    acknowledged: heard.acknowledged && !inquiry.printsCount,
    /** Acknowledged, or so was a good result that another report followed. */
    approvalAcked: (heard.acknowledged || heard.earlierAckArrived) && !inquiry.printsCount,
    ackMayHaveArrived: heard.ackMayHaveArrived && !inquiry.printsCount,
    hasSecond: heard.second !== null,
    /** Nobody knows what was stored before. */
    noBaseline: before.kind === "not-told",
    /** The found transaction and the one from before. */
    asBefore: asBefore(inquiry, last, known, silenceLeftMs),
    /** The found transaction and the good result that was reported. */
    asReported: found && good ? compareReports(found, good) : ("nothing-reported" as const),
    /** The sale that a found reversal took back; null when the found transaction is none. */
    takesBack: found && takesBack(inquiry, found),
    /** The found transaction can be that of a later command. */
    mayBeLater: found !== null && mayBeLater(inquiry, found, known),
    /** Why the found transaction is not what was asked for; null when it is. */
    unfit: found && unfit(inquiry, found),
    /** Whether the found transaction is from the payment's own time; null when it has no time. */
    timely: found && isTimely(inquiry, found),
    /** The probes before showed the same, the first of them a whole pause ago. */
    confirmed: isUnchangedSince && pauseLeftMs <= 0,
    /** The rest of the pause after which the same counts as confirmed. */
    pauseLeftMs,
    probedBefore: earlier !== null,
    /** The rest of the time limit of the lost command; not positive: over. */
    silenceLeftMs,
    /** The next sale got the receipt number that follows the one from before; null: not known. */
    numberUnused: numberUnused(inquiry, known),
  };
}

/**
 * Compares the storage with the one from before the command. An empty storage is unchanged only
 * while nothing can have been stored and closed meanwhile: it was watched, or the next receipt
 * number shows it. After a good result that was not refused, and whose end nobody heard, a terminal
 * most likely has done both. Until the silence is over an empty storage decides nothing.
 */
function asBefore(
  inquiry: Inquiry,
  last: LastTransaction,
  known: Known,
  leftMs: number,
): Comparison {
  const { before, heard, wasStored, isWatched } = inquiry;
  if (before.kind === "transaction" && last.kind === "transaction") {
    const is = compareStored(before, last);
    // Without a moment equal numbers can be those of another period.
    return is === "same" && !haveMoments(before.report, last.report) ? "unsure" : is;
  }
  if (before.kind !== "none" || last.kind !== "none") return compareStored(before, last);
  const mayHaveStored = heard.good !== null && !heard.refused && heard.end === "unheard";
  if (wasStored || heard.unclear || mayHaveStored || known.closedSince) return "unsure";
  const isWaiting = heard.end === "unheard" && leftMs > 0;
  return isWaiting || isWatched || numberUnused(inquiry, known) === true ? "same" : "unsure";
}

/** Within one run of probes an empty storage that stays empty is the same one. */
export function isUnchanged(a: LastTransaction, b: LastTransaction): boolean {
  return (a.kind === "none" && b.kind === "none") || compareStored(a, b) === "same";
}

function takesBack(
  { about, heard, sale }: Inquiry,
  found: TransactionReport,
): "ours" | "the-second" | "another" | null {
  if (about === "reversal" && isReported(heard, found)) return "ours";
  if (found.originalTrace === null) return null;
  if (!found.good) return "another";
  if (about === "reversal") {
    return sale && givesBack(sale, found) ? "ours" : "another";
  }
  if (namesTrace(found.originalTrace, heard.good?.traceNumber ?? null)) {
    // Of a sale that we refused any part that went back is enough, of another one only all of it.
    const whole = heard.refused || about === "unmatched";
    return whole || found.amountMinor === heard.good?.amountMinor ? "ours" : "another";
  }
  return namesTrace(found.originalTrace, heard.second?.traceNumber ?? null)
    ? "the-second"
    : "another";
}

/** The very report of the reversal; a terminal may leave the trace of the sale out of it. */
function isReported({ good, refused }: WireEvidence, found: TransactionReport): boolean {
  return good !== null && !refused && found.good && compareReports(found, good) === "same";
}

/**
 * Whether the found transaction can be that of a later command. An attempt that stayed unknown is
 * asked about again when later ones may be in doubt as well. Only what was reported to us, or was
 * stored before the next command began, cannot be theirs.
 */
function mayBeLater({ heard }: Inquiry, found: TransactionReport, { next }: Known): boolean {
  if (next === null) return false;
  if (heard.good && compareReports(found, heard.good) === "same") return false;
  const stored: LastTransaction = { kind: "transaction", report: found };
  return compareStored(next.found, stored) !== "same";
}

/** docs/zvt.md 4.2: no currency means the euro. */
const EURO = "978";

/** Why a record is not what was asked for, by amount and currency; null: it is. */
export function unfitFor(
  { amountsMinor, currencyNumeric }: Pick<Asked, "amountsMinor" | "currencyNumeric">,
  record: NamedRecord & Pick<TransactionReport, "currencyNumeric">,
): string | null {
  const isAmount = record.amountMinor !== null && amountsMinor.includes(record.amountMinor);
  const isCurrency = (record.currencyNumeric ?? EURO) === currencyNumeric;
  return isAmount && isCurrency ? null : "it has another amount or currency";
}

function unfit({ asked, identity }: Inquiry, found: TransactionReport): string | null {
  if (!asked) return null;
  if (unfitFor(asked, found) !== null)
    return "the terminal's last transaction has another amount or currency";
  if (found.terminalId && identity.terminalId && found.terminalId !== identity.terminalId) {
    return "the terminal's last transaction names another terminal id";
  }
  return null;
}

function isTimely({ asked, heard }: Inquiry, found: TransactionReport): boolean | null {
  // A report that came while the payment ran is of its time, whatever a clock says.
  if (heard.good && compareReports(found, heard.good) === "same") return true;
  return asked && isFromPayment(asked, found);
}

/**
 * Whether the next sale shows that the command in doubt used up no receipt number, as a stored sale
 * has. The next sale shows nothing when that command itself reported a number: the sale may lie
 * between the two, or a number was given twice. Of an empty storage the numbers before it decide; a
 * first number decides nothing, because a terminal may begin anew when it closes by itself.
 */
function numberUnused({ before, heard }: Inquiry, { next, closedSince }: Known): boolean | null {
  const { receiptNumber: number = null, formerReceipt = null } = next ?? {};
  if (number === null || closedSince || before.kind === "not-told") return null;
  if (before.kind === "transaction") {
    const isUnused = isNextReceipt(before.report.receiptNumber, number);
    return isUnused && heard.good?.receiptNumber != null ? null : isUnused;
  }
  const areOldNumbers = [formerReceipt, number].every((each) => Number(each) > NEW_NUMBERING_MAX);
  return areOldNumbers ? isNextReceipt(formerReceipt, number) : null;
}
