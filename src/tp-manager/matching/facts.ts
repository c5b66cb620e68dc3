import type { NextCommand } from "../attempts/next-command.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import type { LastTransaction, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import type { Assumptions } from "./assumptions.ts";
import {
  type Comparison,
  compareReports,
  compareStored,
  isNextReceipt,
  type NamedRecord,
  namesTrace,
  sameTerminal,
  tellMoments,
} from "./comparison.ts";
import { isFromPayment, type PaymentTime } from "./own-time.ts";

/**
 * The facts about a doubt that one look at the terminal shows, together with what was heard on the
 * wire and what the journal knows (docs/rules/01-baseline.md, docs/rules/02-proof.md; docs/zvt.md
 * 9.2). Pure. Only table.ts says what the facts prove.
 */

/** Facts about the terminal and this process that belong to a doubt. */
export interface DoubtTimes {
  /**
   * Monotonic milliseconds since when this process is sure that nothing of the command has left any
   * more: its end was lost then, or the process was started after. A wall clock can jump.
   */
  readonly lostSinceMs: number;
  /** The terminal's own time limit for a command it was left alone with. */
  readonly limitMs: number;
  /** The acknowledgements of the receipt's print count as well (docs/zvt.md 9.1). */
  readonly printsCount: boolean;
}

/** A question about money that only the terminal can answer. */
export interface Doubt extends DoubtTimes {
  readonly about: "sale" | "reversal" | "unmatched";
  /** The terminal that the command was sent to, or that has the unmatched transaction. */
  readonly identity: TerminalIdentity;
  /** The terminal's last transaction before the command; of an unmatched one nothing is known. */
  readonly before: LastTransaction;
  readonly heard: Heard;
  /** The order that a sale must fit; null for the other two. */
  readonly asked: Asked | null;
  /** The sale that is to be reversed; null for the other two. */
  readonly sale: TransactionReport | null;
  /**
   * Nothing can have been stored and closed out of our sight since the command may have left
   * ({@link isSeenInTime}). Asked of a storage that was empty before and is empty now.
   */
  readonly isWatched?: boolean;
  /** Of a storage that was empty before: a look has shown a transaction since. */
  readonly wasStored?: boolean;
}

/** The order of a sale in doubt. */
export interface Asked extends PaymentTime {
  /** One amount; two when only a part of the goods came out and either may have been charged. */
  readonly amountsMinor: readonly number[];
  readonly currencyNumeric: string;
}

/** The terminal's words on the wire while the command ran. */
export interface Heard {
  /** The good result that the terminal reported last, or the unmatched one itself. */
  readonly good: TransactionReport | null;
  /** That result was refused on the wire. */
  readonly refused: boolean;
  /** The terminal was found to hold that result, and another order fits it as well. */
  readonly held: boolean;
  /** The arrival of our acknowledgement of that result is proven. */
  readonly acknowledged: boolean;
  /** As before, of a good result that another report followed: no proof of what is stored. */
  readonly tookBefore: boolean;
  /** The acknowledgement may have arrived; the process ended before it could write that. */
  readonly perhapsTook: boolean;
  /** The terminal's last report was neither good nor bad: a card may have been charged. */
  readonly unclear: boolean;
  /** A second sale reported in the same payment, and refused (docs/rules/20-second-sale.md). */
  readonly second: TransactionReport | null;
  /**
   * "unheard": link lost, process gone, or an end that says nothing. "bad": the terminal said that
   * it did not work, after having said something else. "own-word": it never said anything else.
   */
  readonly end: "unheard" | "bad" | "own-word";
}

/** The facts that an idle terminal showed when it was asked. */
export interface Look {
  readonly identity: TerminalIdentity;
  readonly last: LastTransaction;
  /** Monotonic milliseconds. */
  readonly atMs: number;
}

/** A look that another one followed in the same run. */
export interface EarlierLook extends Look {
  /** When the first of the looks that have shown the same was made; monotonic milliseconds. */
  readonly sinceMs: number;
}

/** The journal's knowledge about a doubt and about what a look has found. */
export interface Known {
  /** The order, other than the doubt's own, that the found transaction belongs to. */
  readonly foundIs: string | null;
  /** Who else can have made the found transaction, in words: another order, an outsider. */
  readonly rival: string | null;
  /** The matcher names the doubt's own attempt as one that can have made it. */
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

export interface Facts
  extends Omit<Known, "next">,
    Pick<Heard, "good" | "refused" | "held" | "acknowledged" | "perhapsTook" | "unclear" | "end"> {
  readonly sameTerminal: boolean;
  readonly kind: LastTransaction["kind"];
  readonly why: string;
  readonly found: TransactionReport | null;
  /** Acknowledged, or so was a good result that another report followed. */
  readonly tookGood: boolean;
  readonly hasSecond: boolean;
  /** Nobody knows what was stored before. */
  readonly noBaseline: boolean;
  /** The found transaction and the one from before. */
  readonly asBefore: Comparison;
  /** The found transaction and the good result that was reported. */
  readonly asReported: Comparison | "nothing-reported";
  /** The sale that a found reversal took back; null when the found transaction is none. */
  readonly takesBack: "ours" | "the-second" | "another" | null;
  /** The found transaction can be that of a later command. */
  readonly mayBeLater: boolean;
  /** Why the found transaction is not what was asked for; null when it is. */
  readonly unfit: string | null;
  /** Whether the found transaction is from the payment's own time; null when it tells no time. */
  readonly timely: boolean | null;
  /** The looks before showed the same, the first of them a whole pause ago. */
  readonly confirmed: boolean;
  /** The rest of the pause after which the same counts as confirmed. */
  readonly pauseLeftMs: number;
  readonly lookedBefore: boolean;
  /** The rest of the time limit of the lost command; not positive: over. */
  readonly silenceLeftMs: number;
  /** The next sale got the receipt number right behind the one from before; null: not known. */
  readonly numberUnused: boolean | null;
}

/**
 * How long a terminal may be out of sight until two empty storages are no longer taken for one. In
 * less time no terminal charges a card, stores the sale and closes its day by itself; while it does
 * either it is busy, and a busy terminal tells nothing.
 */
export const EMPTY_GAP_MS = 10_000;
/** Looks at an empty storage follow each other so closely that each may come a bit late. */
export const EMPTY_LOOKS_MS = 4_000;

/** Whether two sights of an empty storage are close enough; a wall clock may have been set back. */
export const isSeenInTime = (gapMs: number): boolean => gapMs >= 0 && gapMs <= EMPTY_GAP_MS;

/**
 * A numbering that begins anew does not reach this number within the few commands that a doubt
 * looks back, so a number right behind a greater one is none of a new numbering.
 */
const NEW_NUMBERING_MAX = 20;

export function factsOf(
  told: Doubt,
  look: Look,
  known: Known,
  earlier: EarlierLook | null,
  confirmAfterMs: number,
): Facts {
  const isOwn = told.about !== "sale" || known.holds.has("own-report");
  const doubt = isOwn ? told : { ...told, heard: { ...told.heard, good: null } };
  const { heard, before } = doubt;
  const { last } = look;
  const found = last.kind === "transaction" ? last.report : null;
  const silenceLeftMs = doubt.limitMs - (look.atMs - doubt.lostSinceMs);
  const isShownAgain = earlier !== null && isUnchanged(earlier.last, last);
  const pauseLeftMs = confirmAfterMs - (isShownAgain ? look.atMs - earlier.sinceMs : 0);
  const { next: _, ...journal } = known;
  return {
    ...journal,
    good: heard.good,
    refused: heard.refused,
    held: heard.held,
    unclear: heard.unclear,
    end: heard.end,
    sameTerminal: sameTerminal(doubt.identity, look.identity),
    kind: last.kind,
    why: last.kind === "not-told" ? last.why : "",
    found,
    acknowledged: heard.acknowledged && !doubt.printsCount,
    tookGood: (heard.acknowledged || heard.tookBefore) && !doubt.printsCount,
    perhapsTook: heard.perhapsTook && !doubt.printsCount,
    hasSecond: heard.second !== null,
    noBaseline: before.kind === "not-told",
    asBefore: asBefore(doubt, last, known, silenceLeftMs),
    asReported: found && heard.good ? compareReports(found, heard.good) : "nothing-reported",
    takesBack: found && takesBack(doubt, found),
    mayBeLater: found !== null && mayBeLater(doubt, found, known),
    unfit: found && unfit(doubt, found),
    timely: found && isTimely(doubt, found),
    confirmed: isShownAgain && pauseLeftMs <= 0,
    pauseLeftMs,
    lookedBefore: earlier !== null,
    silenceLeftMs,
    numberUnused: numberUnused(doubt, known),
  };
}

/**
 * An empty storage is unchanged only while nothing can have been stored and closed meanwhile: it
 * was watched, or the next receipt number shows it. After a good result that we took, and no word
 * to the contrary, a terminal most likely has done both. Until the silence is over it decides
 * nothing.
 */
function asBefore(doubt: Doubt, last: LastTransaction, known: Known, leftMs: number): Comparison {
  const { before, heard, wasStored, isWatched } = doubt;
  if (before.kind === "transaction" && last.kind === "transaction") {
    const is = compareStored(before, last);
    // Without a moment equal numbers can be those of another period.
    return is === "same" && !tellMoments(before.report, last.report) ? "cannot-tell" : is;
  }
  if (before.kind !== "none" || last.kind !== "none") return compareStored(before, last);
  const mayHaveStored = heard.good !== null && !heard.refused && heard.end === "unheard";
  if (wasStored || heard.unclear || mayHaveStored || known.closedSince) return "cannot-tell";
  const isWaiting = heard.end === "unheard" && leftMs > 0;
  return isWaiting || isWatched || numberUnused(doubt, known) === true ? "same" : "cannot-tell";
}

/** Within one run of looks an empty storage that stays empty is the same one. */
export function isUnchanged(a: LastTransaction, b: LastTransaction): boolean {
  return (a.kind === "none" && b.kind === "none") || compareStored(a, b) === "same";
}

function takesBack({ about, heard, sale }: Doubt, found: TransactionReport): Facts["takesBack"] {
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
function isReported({ good, refused }: Heard, found: TransactionReport): boolean {
  return good !== null && !refused && found.good && compareReports(found, good) === "same";
}

/**
 * An attempt that stayed unknown is asked about again when later ones may be in doubt as well. Only
 * what was reported to us, or was stored before the next command began, cannot be theirs.
 */
function mayBeLater({ heard }: Doubt, found: TransactionReport, { next }: Known): boolean {
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

function unfit({ asked, identity }: Doubt, found: TransactionReport): string | null {
  if (!asked) return null;
  const words = unfitFor(asked, found);
  if (words !== null) return "the terminal's last transaction has another amount or currency";
  if (found.terminalId && identity.terminalId && found.terminalId !== identity.terminalId) {
    return "the terminal's last transaction names another terminal id";
  }
  return null;
}

function isTimely({ asked, heard }: Doubt, found: TransactionReport): boolean | null {
  // A report that came while the payment ran is of its time, whatever a clock says.
  if (heard.good && compareReports(found, heard.good) === "same") return true;
  return asked && isFromPayment(asked, found);
}

/**
 * A sale that was stored has used up a receipt number. None counts as unused when the doubtful
 * command itself has told one: between two numbers it may be, or was given twice. Of an empty
 * storage the numbers before it tell; a first number tells nothing, because a terminal may begin
 * anew when it closes by itself.
 */
function numberUnused({ before, heard }: Doubt, { next, closedSince }: Known): boolean | null {
  const { receiptNumber: number = null, formerReceipt = null } = next ?? {};
  if (number === null || closedSince || before.kind === "not-told") return null;
  if (before.kind === "transaction") {
    const isUnused = isNextReceipt(before.report.receiptNumber, number);
    return isUnused && heard.good?.receiptNumber != null ? null : isUnused;
  }
  const isTelling = [formerReceipt, number].every((each) => Number(each) > NEW_NUMBERING_MAX);
  return isTelling ? isNextReceipt(formerReceipt, number) : null;
}
