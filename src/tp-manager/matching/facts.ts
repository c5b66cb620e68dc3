import { invariant } from "../../shared/invariant.ts";
import type { UnmatchedRow } from "../attempts/findings.ts";
import {
  type Attempt,
  currencyNumericOf,
  goodsWindowSeconds,
  type InDoubtState,
  type JudgedReport,
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
 * The facts of an inquiry: what one probe of the terminal shows, what was heard on the wire, and
 * what the journal knows (docs/rules/01-baseline.md, docs/rules/02-proof.md; docs/zvt.md 9.2).
 * Pure. Only table.ts says what the facts prove.
 */

/** Facts about the terminal and this process that belong to an inquiry. */
interface InquiryTimes {
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

/** The request that a record of a sale must agree with. */
type Asked = ReturnType<typeof askedOf>;

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
export interface Probe extends Stored {
  /** Monotonic milliseconds. */
  readonly atMs: number;
}

/** A probe that another one followed in the same run. */
export interface EarlierProbe extends Probe {
  /** When the first of the probes that have shown the same was made; monotonic milliseconds. */
  readonly sinceMs: number;
}

/** What the matcher says of a transaction that was found stored. */
export interface WhoseFound {
  /** The order, other than the inquiry's own, that the found transaction belongs to. */
  readonly foundIs: string | null;
  /** Who else can have made the found transaction, for people: another order, an outsider. */
  readonly otherCandidate: string | null;
  /** The matcher names the inquiry's own attempt as one that can have made it. */
  readonly isCandidate: boolean;
}

/** The journal's knowledge about an inquiry and about what a probe has found. */
export interface Known extends WhoseFound {
  /** The order that the unmatched transaction is the sale of. */
  readonly unmatchedIs: string | null;
  /** The found transaction stood before each command that the unmatched one can be of. */
  readonly stoodBefore: boolean;
  /** The next command at the terminal; null when none followed. */
  readonly next: (NextFound & WhoseFound) | null;
  /** Something may have been sold since. */
  readonly soldSince: boolean;
  /** An end of day may have run since. */
  readonly closedSince: boolean;
  /** This terminal has shown a completed reversal as its last transaction. */
  readonly storesReversals: boolean;
  /** The assumptions that hold for this terminal. */
  readonly holds: Assumptions;
}

/** The first command that was begun after the one in doubt, and what it `found` stored. */
export interface NextFound {
  readonly identity: TerminalIdentity;
  readonly found: LastTransaction;
  /** The terminal carried it out to its end, so nothing earlier was running any more. */
  readonly served: boolean;
  /** The receipt number of the sale it made; null when it made none. */
  readonly receiptNumber: string | null;
  /** The last number that the terminal is known to have given before the command in doubt. */
  readonly formerReceipt: string | null;
}

/** The next command where the journal was lost since: nobody here knows of it. */
export const lostSince: NextFound = {
  identity: anyTerminal,
  found: { kind: "not-told", why: "the journal was lost or restored since" },
  served: false,
  receiptNumber: null,
  formerReceipt: null,
};

/** The facts that {@link factsOf} returns. */
export type Facts = ReturnType<typeof factsOf>;

/**
 * How long a terminal may go unprobed until two empty storages are no longer taken for one. In
 * less time no terminal charges a card, stores the sale and closes its day by itself; while it does
 * any of that it is busy, and a busy terminal answers no probe.
 */
export const EMPTY_GAP_MS = 10_000;
/** The pause between probes of an empty storage, short enough for each to come a bit late. */
export const EMPTY_PROBES_MS = 4_000;

/** Whether two probes of an empty storage are close enough; a wall clock may be set back. */
export const isProbedInTime = (gapMs: number): boolean => gapMs >= 0 && gapMs <= EMPTY_GAP_MS;

/** The receipt number that a numbering begun anew does not reach within a few commands. */
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
    noBaseline: before.kind === "not-told",
    /** The found transaction and the one from before. */
    asBefore: asBefore(inquiry, last, known, silenceLeftMs),
    /** The found transaction and the good result that was reported. */
    asReported: found && good ? compareReports(found, good) : ("nothing-reported" as const),
    takesBack: found && takesBack(inquiry, found),
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
 * number shows it. After a good result that was not refused, and whose end nobody heard, both are
 * likely. Until the silence is over an empty storage decides nothing.
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

/** The sale that a found reversal took back; null when the found transaction is none. */
function takesBack(
  { about, heard, sale }: Inquiry,
  found: TransactionReport,
): "ours" | "the-second" | "another" | null {
  // The very report of the reversal: a terminal may leave the trace of the sale out of it.
  const isReported =
    heard.good && !heard.refused && found.good && compareReports(found, heard.good) === "same";
  if (about === "reversal" && isReported) return "ours";
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

/**
 * Whether the found transaction can be that of a later command: anything but what was reported to
 * us, or was stored before the next command began.
 */
function mayBeLater({ heard }: Inquiry, found: TransactionReport, { next }: Known): boolean {
  if (next === null) return false;
  if (heard.good && compareReports(found, heard.good) === "same") return false;
  const stored: LastTransaction = { kind: "transaction", report: found };
  return compareStored(next.found, stored) !== "same";
}

/** Why a record is not what was asked for, by amount and currency; null: it is. */
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
  // A report that came while the payment ran is of its time, whatever a clock says.
  if (heard.good && compareReports(found, heard.good) === "same") return true;
  return asked && isFromPayment(asked, found);
}

/**
 * Whether the number of the next sale shows that the command in doubt used up none, as a stored
 * sale has. It shows nothing when that command itself reported a number: the sale may lie between
 * the two, or a number was given twice. Of an empty storage the numbers before it decide, but no
 * first number: a terminal may begin anew when it closes by itself.
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

/** Returns the request that a record must agree with; also with the amount of issued goods. */
export function askedOf({ request, startedAtMs, baseline, state }: Attempt, limitMs: number) {
  const { amountMinor, currency } = request;
  const decision = "goods" in state ? state.goods?.decision : undefined;
  const part = decision?.goods === "partly-issued" ? [decision.amountMinor] : [];
  return {
    /** One amount; two when only a part of the goods came out and either may have been charged. */
    amountsMinor: [amountMinor, ...part] as readonly number[],
    currencyNumeric: currency.numeric,
    sentAtMs: startedAtMs,
    limitMs,
    clockOffsetMs: baseline?.clockOffsetMs ?? null,
  };
}

/** Whether a reversal can have taken back, by its amount, what this payment may have charged. */
export function canHaveBeenTakenBack(
  attempt: Attempt,
  { amountMinor }: Pick<TransactionReport, "amountMinor">,
): boolean {
  return amountMinor === null || askedOf(attempt, 0).amountsMinor.includes(amountMinor);
}

/** The terminal's limit, with its wait for the goods of an approved sale (docs/zvt.md 8.2). */
export function saleLimitMs(request: PaymentRequest, limitMs: number): number {
  return limitMs + (goodsWindowSeconds(request) ?? 0) * 1_000;
}

/** The inquiry about an attempt in doubt. */
export function inquiryOfAttempt(
  attempt: Attempt,
  state: InDoubtState | ReversalInDoubtState,
  given: InquiryTimes,
): Inquiry {
  if ("sale" in state) return inquiryOfReversal(state, given);
  const { baseline, request } = attempt;
  const times = { ...given, limitMs: saleLimitMs(request, given.limitMs) };
  invariant(baseline, "an attempt in doubt has a baseline");
  const good = goodOf(state);
  const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
  const onlyBad = state.last === null || state.last.judgement === "not-good";
  const heard: WireEvidence = {
    good: good?.report ?? null,
    refused: good !== null && judgeReport(order, good.report) === "disagrees",
    held: state.told !== undefined,
    acknowledged: good?.acknowledged === true,
    earlierAckArrived: state.tookBefore === true,
    ackMayHaveArrived: state.perhapsTaken === true,
    unclear: state.last?.judgement === "no-result",
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

/** The good report that counts, also when a later one contradicted it. */
function goodOf({ last, earlier }: InDoubtState): JudgedReport | null {
  return last?.report.good ? last : (earlier ?? null);
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

/** The inquiry about a report that was refused on the wire; the storage before it is unknown. */
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
