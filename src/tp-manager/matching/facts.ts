import { invariant } from "../../shared/invariant.ts";
import type { UnmatchedRow } from "../attempts/findings.ts";
import {
  type Attempt,
  currencyNumericOf,
  goodsWindowSeconds,
  type InDoubtState,
  type PaymentRequest,
  type ReversalInDoubtState,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import type { LastTransaction, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import type { Assumptions } from "./assumptions.ts";
import {
  anyTerminal,
  type Comparison,
  compareReports,
  compareStored,
  haveMoments,
  isFromPayment,
  isNextReceipt,
  namesTrace,
  type Stored,
  sameTerminal,
} from "./comparison.ts";

/**
 * Collects the facts of an inquiry: what one probe of the terminal shows, what was received on the
 * wire, and what the journal knows (docs/rules/01-baseline.md, docs/rules/02-proof.md;
 * docs/zvt.md 9.2). Pure. Only table.ts decides what the facts prove.
 */

/** The times that an inquiry needs, of the terminal and of this process. */
interface InquiryTimes {
  /**
   * Since when this process cannot have sent a byte of the command, because its outcome was lost
   * then or the process started later. In monotonic milliseconds, because the wall clock can jump.
   */
  readonly lostSinceMs: number;
  /** How long the terminal continues a command by itself when it has lost the line. */
  readonly limitMs: number;
  /** Whether a sale is final only after its print is acknowledged as well (docs/zvt.md 9.1). */
  readonly printsCount: boolean;
}

/** A sale or reversal in doubt, or an unmatched transaction, about which the terminal is probed. */
export interface Inquiry extends InquiryTimes {
  readonly about: "sale" | "reversal" | "unmatched";
  /** The terminal that received the command, or that has the unmatched transaction. */
  readonly identity: TerminalIdentity;
  /** The last transaction before the command; not known for an unmatched transaction. */
  readonly before: LastTransaction;
  readonly heard: WireEvidence;
  /** The order that a sale must agree with; null for a reversal and an unmatched transaction. */
  readonly asked: Asked | null;
  /** The sale that is to be reversed; null for a sale and an unmatched transaction. */
  readonly sale: TransactionReport | null;
  /**
   * Whether the storage was watched so closely ({@link isProbedInTime}) that no transaction can
   * have been stored and closed since the command. Matters if it is empty and was empty before.
   */
  readonly isWatched?: boolean;
  /** Whether a probe has shown a transaction in a storage that was empty before the command. */
  readonly wasStored?: boolean;
}

type Asked = ReturnType<typeof askedOf>;

/** What the terminal reported on the wire while the command ran. */
interface WireEvidence {
  /** The good result that the terminal reported last, or the unmatched transaction itself. */
  readonly good: TransactionReport | null;
  /** Whether `good` was refused on the wire. */
  readonly refused: boolean;
  /** Whether the terminal has stored `good` and another order is a candidate for it as well. */
  readonly held: boolean;
  /** Whether our ACK of `good` has provably arrived. */
  readonly acknowledged: boolean;
  /** Whether our ACK of an earlier good result arrived; a report followed, so no sale is proven. */
  readonly earlierAckArrived: boolean;
  /** Whether our ACK of `good` may have arrived without a record, because the process ended. */
  readonly ackMayHaveArrived: boolean;
  /** Whether the last report had no clear result, so that a card may have been charged. */
  readonly unclear: boolean;
  /** A second sale that was reported in the payment and refused (docs/rules/20-second-sale.md). */
  readonly second: TransactionReport | null;
  /**
   * How the command ended. "unheard": the line or the process was lost, or the end is not clear.
   * "bad": the terminal reported a failure after another report. "only-bad": only the failure.
   */
  readonly end: "unheard" | "bad" | "only-bad";
}

/** An idle terminal's answer to the question for its last transaction. */
export interface Probe extends Stored {
  /** When the terminal answered, in monotonic milliseconds. */
  readonly atMs: number;
}

/** A probe that was followed by another probe in the same run of probes. */
export interface EarlierProbe extends Probe {
  /** The time of the first of consecutive equal probes, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/** What the matcher finds out about the transaction that a probe found. */
export interface WhoseFound {
  /** The other order that certainly made the found transaction; null: no other order is certain. */
  readonly foundIs: string | null;
  /** Who else can have made the found transaction, as a text for people; null: no other party. */
  readonly otherCandidate: string | null;
  /** Whether the inquiry's own attempt can have made the found transaction. */
  readonly isCandidate: boolean;
}

/** What the journal knows about an inquiry and about the transaction that a probe found. */
export interface Known extends WhoseFound {
  /** The order whose sale the unmatched transaction certainly is; null: no order is certain. */
  readonly unmatchedIs: string | null;
  /** Whether the found transaction was stored before the command of every candidate began. */
  readonly stoodBefore: boolean;
  /** The next command that was sent to the terminal; null when no command followed. */
  readonly next: (NextFound & WhoseFound) | null;
  /** Whether a sale may have been made since the command or the unmatched transaction. */
  readonly soldSince: boolean;
  /** Whether an end of day may have run since the command or the unmatched transaction. */
  readonly closedSince: boolean;
  /** Whether this terminal has shown a completed reversal as its last transaction. */
  readonly storesReversals: boolean;
  /** The assumptions that hold for this terminal. */
  readonly holds: Assumptions;
}

/** The first command that began after the command in doubt, and what it `found` stored. */
export interface NextFound {
  readonly identity: TerminalIdentity;
  readonly found: LastTransaction;
  /** Whether the terminal finished this command, so that no earlier command was running. */
  readonly served: boolean;
  /** The receipt number of the sale that this command made; null when it made no sale. */
  readonly receiptNumber: string | null;
  /** The last receipt number known from before the command in doubt; null when none is known. */
  readonly formerReceipt: string | null;
}

/** Stands for the next command after the journal lost data: any unknown command may have run. */
export const lostSince: NextFound = {
  identity: anyTerminal,
  found: { kind: "not-told", why: "the journal was lost or restored since" },
  served: false,
  receiptNumber: null,
  formerReceipt: null,
};

export type Facts = ReturnType<typeof factsOf>;

/**
 * The longest pause between two probes for which two empty storages count as the same. In less time
 * no terminal charges a card, stores the sale and closes its day by itself; meanwhile it is busy
 * and answers no probe.
 */
const EMPTY_GAP_MS = 10_000;
/** The pause between probes of an empty storage; short enough that a delayed probe still counts. */
export const EMPTY_PROBES_MS = 4_000;

/** Whether two probes of an empty storage are close enough. false if the clock was set back. */
export const isProbedInTime = (gapMs: number): boolean => gapMs >= 0 && gapMs <= EMPTY_GAP_MS;

/** The receipt number up to which numbers may be those of a few sales after a restart. */
const NEW_NUMBERING_MAX = 20;

/** Returns the facts that one probe of an inquiry shows, for table.ts to judge. */
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
    /** Whether our ACK of the last good result, or of an earlier good result, arrived. */
    approvalAcked: (heard.acknowledged || heard.earlierAckArrived) && !inquiry.printsCount,
    ackMayHaveArrived: heard.ackMayHaveArrived && !inquiry.printsCount,
    hasSecond: heard.second !== null,
    noBaseline: before.kind === "not-told",
    /** How the last transaction that the probe found compares with that before the command. */
    asBefore: asBefore(inquiry, last, known, silenceLeftMs),
    asReported: found && good ? compareReports(found, good) : ("nothing-reported" as const),
    takesBack: found && takesBack(inquiry, found),
    mayBeLater: found !== null && mayBeLater(inquiry, found, known),
    /** Why the found transaction is not what was requested; null when it is as requested. */
    unfit: found && unfit(inquiry, found),
    /** Whether the found transaction is of the payment's time; null when it has no time. */
    timely: found && isTimely(inquiry, found),
    /** Whether earlier probes showed the same storage, the first one at least a pause ago. */
    confirmed: isUnchangedSince && pauseLeftMs <= 0,
    /** What is left (ms) of the pause after which an unchanged probe counts as confirmed. */
    pauseLeftMs,
    probedBefore: earlier !== null,
    /** What is left (ms) of the lost command's time limit; zero or less when it is over. */
    silenceLeftMs,
    /** Whether the next sale got the number that this sale would have used; null: not known. */
    numberUnused: numberUnused(inquiry, known),
  };
}

/**
 * Compares the storage with that before the command. An empty storage counts as unchanged only if
 * the watched storage or the next receipt number shows that no transaction was stored and closed
 * meanwhile; after an accepted good result without an outcome, it never counts. Until the lost
 * command's time limit is over, the table only waits for an empty storage.
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
    // Equal numbers without a date and time prove nothing, because numbers restart.
    return is === "same" && !haveMoments(before.report, last.report) ? "unsure" : is;
  }
  if (before.kind !== "none" || last.kind !== "none") return compareStored(before, last);
  const mayHaveStored = heard.good !== null && !heard.refused && heard.end === "unheard";
  if (wasStored || heard.unclear || mayHaveStored || known.closedSince) return "unsure";
  const isWaiting = heard.end === "unheard" && leftMs > 0;
  return isWaiting || isWatched || numberUnused(inquiry, known) === true ? "same" : "unsure";
}

/** Whether the storage is unchanged, as two empty storages within one run of probes also are. */
export function isUnchanged(a: LastTransaction, b: LastTransaction): boolean {
  return (a.kind === "none" && b.kind === "none") || compareStored(a, b) === "same";
}

/** Returns whose sale a found reversal has reversed; null when the found transaction is a sale. */
function takesBack(
  { about, heard, sale }: Inquiry,
  found: TransactionReport,
): "ours" | "the-second" | "another" | null {
  // A record like the reported reversal counts: it may lack the trace number of the sale.
  const isReported =
    heard.good && !heard.refused && found.good && compareReports(found, heard.good) === "same";
  if (about === "reversal" && isReported) return "ours";
  if (found.originalTrace === null) return null;
  if (!found.good) return "another";
  if (about === "reversal") {
    return sale && givesBack(sale, found) ? "ours" : "another";
  }
  if (namesTrace(found.originalTrace, heard.good?.traceNumber ?? null)) {
    // For a sale that we refused, the reversal of any part is enough; others must be in full.
    const whole = heard.refused || about === "unmatched";
    return whole || found.amountMinor === heard.good?.amountMinor ? "ours" : "another";
  }
  return namesTrace(found.originalTrace, heard.second?.traceNumber ?? null)
    ? "the-second"
    : "another";
}

/**
 * Whether the found transaction may be of a later command: it was not reported to us, and it was
 * not stored before the next command began.
 */
function mayBeLater({ heard }: Inquiry, found: TransactionReport, { next }: Known): boolean {
  if (next === null) return false;
  if (heard.good && compareReports(found, heard.good) === "same") return false;
  const stored: LastTransaction = { kind: "transaction", report: found };
  return compareStored(next.found, stored) !== "same";
}

/** Returns why a record is not as requested, by amount and currency; null when it is. */
export function unfitFor(
  { amountsMinor, currencyNumeric }: Pick<Asked, "amountsMinor" | "currencyNumeric">,
  record: Pick<TransactionReport, "amountMinor" | "currencyNumeric">,
): string | null {
  const isAmount = record.amountMinor !== null && amountsMinor.includes(record.amountMinor);
  const isCurrency = currencyNumericOf(record) === currencyNumeric;
  return isAmount && isCurrency ? null : "it has another amount or currency";
}

function unfit({ asked, identity }: Inquiry, found: TransactionReport): string | null {
  if (!asked) return null;
  const what = "the terminal's last transaction";
  if (unfitFor(asked, found) !== null) return `${what} has another amount or currency`;
  if (found.terminalId && identity.terminalId && found.terminalId !== identity.terminalId) {
    return `${what} names another terminal id`;
  }
  return null;
}

function isTimely({ asked, heard }: Inquiry, found: TransactionReport): boolean | null {
  // A report that came during the payment is of the payment's time, whatever a clock shows.
  if (heard.good && compareReports(found, heard.good) === "same") return true;
  return asked && isFromPayment(asked, found);
}

/**
 * Whether the receipt number of the next sale shows that the command in doubt used up no number, as
 * a stored sale would have. null: not known, for example when that command itself reported a
 * number. For an empty storage the numbers before and after decide, unless one is near 1, because a
 * terminal that closes its day by itself restarts its numbers.
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

/** Returns what a record must agree with: amount (requested, or of issued goods) and time. */
export function askedOf({ request, startedAtMs, baseline, state }: Attempt, limitMs: number) {
  const { amountMinor, currency } = request;
  const decision = "goods" in state ? state.goods?.decision : undefined;
  const part = decision?.goods === "partly-issued" ? [decision.amountMinor] : [];
  return {
    /** The requested amount; and the amount of the issued goods if only a part came out. */
    amountsMinor: [amountMinor, ...part] as readonly number[],
    currencyNumeric: currency.numeric,
    sentAtMs: startedAtMs,
    limitMs,
    clockOffsetMs: baseline?.clockOffsetMs ?? null,
  };
}

/** Whether a reversal, by its amount, can have reversed what this payment may have charged. */
export function canHaveBeenTakenBack(
  attempt: Attempt,
  { amountMinor }: Pick<TransactionReport, "amountMinor">,
): boolean {
  return amountMinor === null || askedOf(attempt, 0).amountsMinor.includes(amountMinor);
}

/** Returns the terminal's time limit (ms), with its wait for the goods (docs/zvt.md 8.2). */
export function saleLimitMs(request: PaymentRequest, limitMs: number): number {
  return limitMs + (goodsWindowSeconds(request) ?? 0) * 1_000;
}

export function inquiryOfAttempt(
  attempt: Attempt,
  state: InDoubtState | ReversalInDoubtState,
  given: InquiryTimes,
): Inquiry {
  if ("sale" in state) return inquiryOfReversal(state, given);
  const { baseline, request } = attempt;
  const times = { ...given, limitMs: saleLimitMs(request, given.limitMs) };
  invariant(baseline, "an attempt in doubt has a baseline");
  const { last, earlier = null } = state;
  // A good report counts even if a later report contradicted it.
  const good = last?.report.good ? last : earlier;
  const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
  const onlyBad = last === null || last.judgement === "not-good";
  const heard: WireEvidence = {
    good: good?.report ?? null,
    refused: good !== null && judgeReport(order, good.report) === "disagrees",
    held: state.told !== undefined,
    acknowledged: good?.acknowledged === true,
    earlierAckArrived: state.tookBefore === true,
    ackMayHaveArrived: state.perhapsTaken === true,
    unclear: last?.judgement === "no-result",
    second: state.second ?? null,
    end: !state.heard ? "unheard" : onlyBad && !good && !state.second ? "only-bad" : "bad",
  };
  return {
    ...times,
    about: "sale",
    identity: baseline.identity,
    before: baseline.last,
    heard,
    asked: askedOf(attempt, times.limitMs),
    sale: null,
  };
}

function inquiryOfReversal(
  { sale, baseline, last, heardBad, tookBefore, perhapsTaken }: ReversalInDoubtState,
  times: InquiryTimes,
): Inquiry {
  return {
    ...times,
    about: "reversal",
    identity: baseline.identity,
    before: baseline.last,
    heard: {
      ...nothingHeard,
      good: last?.report.good ? last.report : null,
      refused: last?.judgement === "disagrees",
      acknowledged: last?.report.good === true && last.acknowledged,
      earlierAckArrived: tookBefore === true,
      ackMayHaveArrived: perhapsTaken === true,
      end: heardBad ? "bad" : "unheard",
    },
    asked: null,
    sale: sale.report,
  };
}

/** Returns the inquiry about an unmatched report, which was refused on the wire. */
export function inquiryOfUnmatched(row: UnmatchedRow, times: InquiryTimes): Inquiry {
  return {
    ...times,
    about: "unmatched",
    identity: row.identity,
    before: { kind: "not-told", why: "nobody asked before it" },
    heard: { ...nothingHeard, good: row.report, refused: true },
    asked: null,
    sale: null,
  };
}

const nothingHeard: Omit<WireEvidence, "good" | "refused"> = {
  held: false,
  acknowledged: false,
  earlierAckArrived: false,
  ackMayHaveArrived: false,
  unclear: false,
  second: null,
  end: "unheard",
};
