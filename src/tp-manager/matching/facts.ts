import { invariant } from "../../shared/invariant.ts";
import {
  type Comparison,
  compareReports,
  compareStored,
  haveMoments,
  isFromPayment,
  isNextReceipt,
  namesTrace,
  type Stored,
  sameTerminal,
} from "../attempts/comparison.ts";
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
import {
  type LastTransaction,
  noIdentity,
  type Recollection,
  type TerminalIdentity,
  type TransactionReport,
} from "../terminal/terminal.ts";
import type { Assumptions } from "./assumptions.ts";

/**
 * Collects the facts of an inquiry: what one probe of the terminal shows, what was received on the
 * wire, and what the journal knows (docs/rules/01-baseline.md, docs/rules/02-proof.md;
 * docs/zvt.md 9.2). Pure. Only table.ts decides what the facts prove.
 */

interface InquiryTimes {
  /**
   * The monotonic time (ms) since when this process can send no byte of the command any more: its
   * outcome was lost then, or the process started later.
   */
  readonly lostSinceMs: number;
  /** How long the terminal continues a command by itself when it has lost the line. */
  readonly limitMs: number;
  /** Whether a sale is final only when its print has its ACK as well (docs/zvt.md 9.1). */
  readonly printsCount: boolean;
}

/** A sale or reversal in doubt, or an unmatched transaction, about which the terminal is probed. */
export interface Inquiry extends InquiryTimes {
  readonly about: "sale" | "reversal" | "unmatched";
  /** The terminal that received the command, or that has the unmatched transaction. */
  readonly identity: TerminalIdentity;
  /** The terminal's last transaction before the command; not known for an unmatched transaction. */
  readonly before: LastTransaction;
  readonly heard: WireEvidence;
  /** The amount and time that a sale must have; null for anything but a sale in doubt. */
  readonly asked: Asked | null;
  /** The sale that a reversal in doubt reverses; null for any other inquiry. */
  readonly sale: TransactionReport | null;
  /**
   * Whether the probes were so close ({@link isProbedInTime}) that no transaction can have been
   * stored and closed since the command; used for an empty storage.
   */
  readonly isWatched?: boolean;
  /** Whether a probe has shown a transaction in a storage that was empty before the command. */
  readonly wasStored?: boolean;
}

type Asked = ReturnType<typeof askedOf>;

/** What the terminal reported while the command ran, before any probe. */
interface WireEvidence {
  /** The good result that was reported last, or the unmatched transaction itself. */
  readonly good: TransactionReport | null;
  /** Whether we refused the result `good` instead of sending ACK. */
  readonly refused: boolean;
  /** Whether the terminal has stored `good`, although another order may have made it as well. */
  readonly held: boolean;
  /** Whether our ACK of the result `good` has provably arrived at the terminal. */
  readonly ackArrived: boolean;
  /** Whether our ACK of an earlier good result arrived; a later report leaves its sale unproven. */
  readonly earlierAckArrived: boolean;
  /** Whether our ACK of `good` may have arrived unrecorded, because the process ended. */
  readonly ackMayHaveArrived: boolean;
  /** Whether the last report had no clear result, so that the card may have been charged. */
  readonly unclear: boolean;
  /** A second sale that was reported in the payment and refused (docs/rules/20-second-sale.md). */
  readonly second: TransactionReport | null;
  /** What earlier questions by id about this command were answered. */
  readonly answeredBefore: readonly TransactionReport[];
  /** Whether an earlier question by id was answered with something else. */
  readonly untoldBefore: boolean;
  /**
   * How the command ended. "unheard": the line or the process was lost, or the end is not clear.
   * "bad": the terminal reported a failure after another report. "only-bad": only the failure.
   */
  readonly end: "unheard" | "bad" | "only-bad";
}

/** An idle terminal's answer to a probe: its last stored transaction. */
export interface Probe extends Stored {
  /** When the terminal answered, in monotonic milliseconds. */
  readonly atMs: number;
  /** What the terminal answered about the command itself; missing: it was not asked by id. */
  readonly recalled?: Recollection;
}

/** An earlier probe of the same run of probes. */
export interface EarlierProbe extends Probe {
  /** The time of the first probe in a row of equal probes, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/** Whose transaction a probe has shown, as far as the matcher can say. */
export interface Attribution {
  /** The id of another order that certainly made the found transaction; null: none is certain. */
  readonly foundIs: string | null;
  /** Who else can have made the found transaction, as a text for people; null: no other party. */
  readonly otherCandidate: string | null;
  /** Whether the attempt in doubt itself can have made the found transaction. */
  readonly isCandidate: boolean;
}

/** What the journal knows about the case in doubt and about the probed transaction. */
export interface Known extends Attribution {
  /** The order whose sale the unmatched transaction certainly is; null: no order is certain. */
  readonly unmatchedIs: string | null;
  /** Whether the terminal had stored the found transaction before any candidate's command began. */
  readonly stoodBefore: boolean;
  /** The next command sent to the terminal after the one in doubt; null when none followed. */
  readonly next: (NextCommand & Attribution) | null;
  /** Whether a sale may have been made after the command or the unmatched transaction. */
  readonly soldSince: boolean;
  /** Whether an end of day may have run after the command or the unmatched transaction. */
  readonly closedSince: boolean;
  /** Whether this terminal has shown a completed reversal as its last transaction. */
  readonly storesReversals: boolean;
  readonly holds: Assumptions;
}

/** The next command after the command in doubt, and the transaction that it `found` stored. */
export interface NextCommand {
  readonly identity: TerminalIdentity;
  readonly found: LastTransaction;
  /** Whether the terminal finished this next command, so that no earlier command was running. */
  readonly served: boolean;
  /** The receipt number of the sale that this next command made; null when it made no sale. */
  readonly receiptNumber: string | null;
  /** The last receipt number known from before the command in doubt; null when none is known. */
  readonly formerReceipt: string | null;
}

/** The next command if the journal has lost data: any command may have run since. */
export const lostSince: NextCommand = {
  identity: noIdentity,
  found: { kind: "not-told", why: "the journal was lost or restored since" },
  served: false,
  receiptNumber: null,
  formerReceipt: null,
};

export type Facts = ReturnType<typeof factsOf>;

/**
 * The longest pause between two probes of an empty storage that count as unchanged. In less time no
 * terminal charges a card, stores the sale and closes its day by itself.
 */
const EMPTY_GAP_MS = 10_000;
/** The pause between probes of an empty storage, so short that a delayed probe still counts. */
export const EMPTY_PROBES_MS = 4_000;

/** Whether two probes of an empty storage are close enough; false if the clock was set back. */
export const isProbedInTime = (gapMs: number): boolean => gapMs >= 0 && gapMs <= EMPTY_GAP_MS;

/** Up to this receipt number a terminal may have restarted its numbers a few sales ago. */
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
  const { last, recalled } = probe;
  const found = foundIn(probe);
  const silenceLeftMs = inquiry.limitMs - (probe.atMs - inquiry.lostSinceMs);
  const isUnchangedSince = earlier !== null && isUnchanged(earlier, probe);
  const pauseLeftMs = confirmAfterMs - (isUnchangedSince ? probe.atMs - earlier.sinceMs : 0);
  const { next: _, ...journal } = known;
  const { good } = heard;
  return {
    ...journal,
    ...heard,
    sameTerminal: sameTerminal(inquiry.identity, probe.identity),
    kind: last.kind,
    recalled: recalled?.kind ?? null,
    why: recalled && "why" in recalled ? recalled.why : last.kind === "not-told" ? last.why : "",
    found,
    ackArrived: heard.ackArrived && !inquiry.printsCount,
    /** Whether our ACK of the last good result, or of a good result before it, has arrived. */
    approvalAcked: (heard.ackArrived || heard.earlierAckArrived) && !inquiry.printsCount,
    ackMayHaveArrived: heard.ackMayHaveArrived && !inquiry.printsCount,
    hasSecond: heard.second !== null,
    noBaseline: before.kind === "not-told",
    asBefore: asBefore(inquiry, last, known, silenceLeftMs),
    asReported: found && good ? compareReports(found, good) : ("nothing-reported" as const),
    takesBack: found && takesBack(inquiry, found),
    mayBeLater: found !== null && mayBeLater(inquiry, found, known),
    /** How the found transaction differs from the requested one; null when it does not. */
    unfit: found && unfit(inquiry, found),
    /** Whether the found transaction has the time of the payment; null when it has no time. */
    timely: found && isTimely(inquiry, found),
    /** Whether earlier probes showed the same storage, the first at least the whole pause ago. */
    confirmed: isUnchangedSince && pauseLeftMs <= 0,
    /** After how many ms an unchanged probe counts as confirmed; zero or less: it counts now. */
    pauseLeftMs,
    probedBefore: earlier !== null,
    /** How long the lost command may still run at the terminal, in ms; not positive: it is over. */
    silenceLeftMs,
    numberUnused: numberUnused(inquiry, known),
  };
}

/**
 * Compares the storage with that before the command. A storage empty both times counts as unchanged
 * while the command can still run, because the decision table then only waits; later only if close
 * probes or the next receipt number show that no sale was stored and closed meanwhile; never after
 * an accepted good result without an outcome.
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
    // Equal numbers without date and time prove nothing, because terminals restart their numbers.
    return is === "same" && !haveMoments(before.report, last.report) ? "unsure" : is;
  }
  if (before.kind !== "none" || last.kind !== "none") return compareStored(before, last);
  const mayHaveStored = heard.good !== null && !heard.refused && heard.end === "unheard";
  if (wasStored || heard.unclear || mayHaveStored || known.closedSince) return "unsure";
  const isWaiting = heard.end === "unheard" && leftMs > 0;
  return isWaiting || isWatched || numberUnused(inquiry, known) === true ? "same" : "unsure";
}

/** Returns the transaction that a probe shows, as the last one or as our command's own. */
function foundIn({ last, recalled }: Probe): TransactionReport | null {
  if (recalled?.kind === "answered") return recalled.report;
  return last.kind === "transaction" ? last.report : null;
}

/** Whether two probes in a row are equal; two empty storages, or twice "running", count so. */
export function isUnchanged({ last: a, ...x }: Probe, { last: b, ...y }: Probe): boolean {
  if (x.recalled) return x.recalled.kind === y.recalled?.kind;
  return (a.kind === "none" && b.kind === "none") || compareStored(a, b) === "same";
}

/** Returns whose sale the found transaction has reversed; null when it is no reversal. */
function takesBack(
  { about, heard, sale }: Inquiry,
  found: TransactionReport,
): "ours" | "the-second" | "another" | null {
  // A record that equals the reported reversal counts, even if it does not name the sale.
  const isReported =
    heard.good && !heard.refused && found.good && compareReports(found, heard.good) === "same";
  if (about === "reversal" && isReported) return "ours";
  if (found.originalTrace === null) return null;
  if (!found.good) return "another";
  if (about === "reversal") {
    return sale && givesBack(sale, found) ? "ours" : "another";
  }
  if (namesTrace(found.originalTrace, heard.good?.traceNumber ?? null)) {
    // Of a sale that we refused, a partial reversal counts too; another must be reversed whole.
    const whole = heard.refused || about === "unmatched";
    return whole || found.amountMinor === heard.good?.amountMinor ? "ours" : "another";
  }
  return namesTrace(found.originalTrace, heard.second?.traceNumber ?? null)
    ? "the-second"
    : "another";
}

/**
 * Whether the found transaction may be of a later command than the one in doubt: it was not
 * reported to us, and the terminal had not stored it when the next command began.
 */
function mayBeLater({ heard }: Inquiry, found: TransactionReport, { next }: Known): boolean {
  if (next === null) return false;
  if (heard.good && compareReports(found, heard.good) === "same") return false;
  const stored: LastTransaction = { kind: "transaction", report: found };
  return compareStored(next.found, stored) !== "same";
}

/** Returns how a record differs from the request in amount and currency; null: not at all. */
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
  // A report that came within the payment is the payment's, whatever the clocks show.
  if (heard.good && compareReports(found, heard.good) === "same") return true;
  return asked && isFromPayment(asked, found);
}

/**
 * Whether the receipt number of the next sale shows that the command in doubt stored no sale, which
 * would have used up a number. null: not known. For an empty storage the numbers before and after
 * decide, unless one is near 1: a terminal that closes its day restarts its numbers.
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

/** Returns the amounts (requested, or of issued goods) and the time that a record must have. */
export function askedOf({ request, startedAtMs, baseline, state }: Attempt, limitMs: number) {
  const { amountMinor, currency } = request;
  const decision = "goods" in state ? state.goods?.decision : undefined;
  const part = decision?.goods === "partly-issued" ? [decision.amountMinor] : [];
  return {
    /** The requested amount and, if only a part of the goods came out, the value of this part. */
    amountsMinor: [amountMinor, ...part] as readonly number[],
    currencyNumeric: currency.numeric,
    sentAtMs: startedAtMs,
    limitMs,
    clockOffsetMs: baseline?.clockOffsetMs ?? null,
  };
}

/** Returns the terminal's time limit in ms, with its wait for the goods (docs/zvt.md 8.2). */
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
  // A good report counts as the result, even if a later report contradicted it.
  const good = last?.report.good ? last : earlier;
  const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
  const onlyBad = last === null || last.judgement === "not-good";
  const heard: WireEvidence = {
    good: good?.report ?? null,
    refused: good !== null && judgeReport(order, good.report) === "disagrees",
    held: state.told !== undefined,
    ackArrived: good?.acknowledged === true,
    earlierAckArrived: state.tookBefore === true,
    ackMayHaveArrived: state.perhapsTaken === true,
    unclear: last?.judgement === "no-result",
    second: state.second ?? null,
    answeredBefore: [],
    untoldBefore: false,
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
      ackArrived: last?.report.good === true && last.acknowledged,
      earlierAckArrived: tookBefore === true,
      ackMayHaveArrived: perhapsTaken === true,
      end: heardBad ? "bad" : "unheard",
    },
    asked: null,
    sale: sale.report,
  };
}

/** Returns the inquiry about an unmatched report, which counts as refused by us. */
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
  ackArrived: false,
  earlierAckArrived: false,
  ackMayHaveArrived: false,
  unclear: false,
  second: null,
  answeredBefore: [],
  untoldBefore: false,
  end: "unheard",
};
