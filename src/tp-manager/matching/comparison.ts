import type { LastTransaction, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";

/**
 * The one comparison of two transactions that a terminal told of (docs/matching.md). Pure.
 *
 * Receipt number, trace and moment name a transaction together. Terminals spell the same record
 * differently from time to time: a number without its leading zeros, a member left out, a trace cut
 * to six digits. A member that one side does not tell says nothing. So the answer has three values,
 * and "cannot-tell" is never proof of anything: it proves no charge, it disproves none, and no
 * alarm is left out for it.
 */
export type Comparison = "same" | "different" | "cannot-tell";

/** The members of a report by which two are compared. */
export type NamedRecord = Pick<
  TransactionReport,
  | ("good" | "resultCode" | "amountMinor" | "receiptNumber" | "traceNumber" | "originalTrace")
  | ("terminalId" | "localDate" | "localTime")
>;

/**
 * Whether two reports are of one transaction. "same": every name that both tell agrees, and one is
 * told by both. "different": moment and numbers both differ. Equal numbers at another moment are
 * "cannot-tell" while both can lie in one numbering period, and so is one second with other
 * numbers: a terminal that spells a record anew does either.
 */
export function compareReports(a: NamedRecord, b: NamedRecord): Comparison {
  if (told(a.terminalId, b.terminalId, equalNumbers) === "differ") return "different";
  const moment = compareMoments(a, b);
  const numbers = compareNumbers(a, b);
  const content = sameContent(a, b);
  // A sale and its reversal may carry one receipt number, and one second.
  if (numbers !== "agree" && isReversalOfOther(a, b)) return "different";
  switch (moment) {
    case "agree":
      if (numbers === "differ") return content ? "cannot-tell" : "different";
      return content && numbers !== "mixed" ? "same" : "cannot-tell";
    case "near":
      return content && sharesNumber(a, b) ? "cannot-tell" : "different";
    case "apart":
      return content && agreeInBoth(a, b) ? "cannot-tell" : "different";
    case "shifted":
    case "silent":
      if (numbers === "differ" || (numbers === "silent" && isOtherAmount(a, b))) return "different";
      return moment === "silent" && numbers === "agree" && content ? "same" : "cannot-tell";
  }
}

/** Both tell when they were: without that equal numbers can be those of another period. */
export function tellMoments(a: NamedRecord, b: NamedRecord): boolean {
  return secondOf(a) !== null && secondOf(b) !== null;
}

/**
 * Two answers about the last stored transaction; whether the terminal has stored the same. Two
 * empty storages cannot be told apart from one that was filled and closed between them.
 */
export function compareStored(a: LastTransaction, b: LastTransaction): Comparison {
  if (a.kind === "not-told" || b.kind === "not-told") return "cannot-tell";
  if (a.kind === "transaction" && b.kind === "transaction") {
    return compareReports(a.report, b.report);
  }
  return a.kind === b.kind ? "cannot-tell" : "different";
}

/**
 * Whether two good results name two sales: both name a receipt or trace, and these differ
 * (docs/rules/20-second-sale.md).
 */
export function namesAnotherSale(a: TransactionReport, b: TransactionReport): boolean {
  return compareNumbers(a, b) === "differ";
}

/**
 * Whether two good results may be of two sales although no number says so: they name none, and are
 * of different moments (docs/rules/20-second-sale.md).
 */
export function mayBeAnotherSale(a: TransactionReport, b: TransactionReport): boolean {
  return (
    compareNumbers(a, b) === "silent" && ["near", "shifted", "apart"].includes(compareMoments(a, b))
  );
}

/** A reversal's record names the trace of what it took back. */
export function namesTrace(originalTrace: string | null, trace: string | null): boolean {
  return told(originalTrace, trace, equalTraces) === "agree";
}

/**
 * Whether `next` is the receipt number right behind `before`; null when either is no number, or
 * nobody knows whether 0000 lies between the greatest number and 0001.
 */
export function isNextReceipt(before: string | null, next: string | null): boolean | null {
  if (!isNumber(before) || !isNumber(next)) return null;
  const from = Number(before);
  const to = Number(next);
  if (from === RECEIPT_MAX) return to === 1 ? null : to === 0;
  return to === from + 1;
}

/** Empty members say nothing; what both tell must be equal. */
export function sameTerminal(a: TerminalIdentity, b: TerminalIdentity): boolean {
  const differs = (x: string, y: string): boolean => x !== "" && y !== "" && x !== y;
  return !differs(a.serialNumber, b.serialNumber) && !differs(a.terminalId, b.terminalId);
}

/** docs/zvt.md 9.4: receipt numbers have four digits. */
export const RECEIPT_MAX = 9_999;
/** docs/zvt.md 7.1: a longer trace may be told by its last digits. */
const TRACE_DIGITS = 6;
/** A clock that is set, or changes to summer time, shifts what a terminal tells of its records. */
const SHIFT_HOURS_MAX = 3;
const SHIFT_TOLERANCE_SECONDS = 2;
/** No terminal numbers so fast, or closes so often, that a number comes again within it. */
const ONE_PERIOD_SECONDS = 3_600;

type Agreement = "agree" | "differ" | "silent";

function told<T>(a: T | null, b: T | null, equal: (a: T, b: T) => boolean): Agreement {
  if (a === null || b === null || a === "" || b === "") return "silent";
  return equal(a, b) ? "agree" : "differ";
}

function isNumber(text: string | null): text is string {
  return text !== null && /^\d+$/.test(text);
}

function bare(number: string): string {
  return isNumber(number) ? number.replace(/^0+(?=\d)/, "") : number;
}

function equalNumbers(a: string, b: string): boolean {
  return bare(a) === bare(b);
}

function equalTraces(a: string, b: string): boolean {
  const [x, y] = [bare(a), bare(b)];
  if (x.length <= TRACE_DIGITS && y.length <= TRACE_DIGITS) return x === y;
  return x === y || bare(x.slice(-TRACE_DIGITS)) === bare(y.slice(-TRACE_DIGITS));
}

function sameContent(a: NamedRecord, b: NamedRecord): boolean {
  const agreements = [
    told(a.resultCode, b.resultCode, Object.is),
    told(a.amountMinor, b.amountMinor, Object.is),
    told(a.originalTrace, b.originalTrace, equalTraces),
    a.good === b.good ? "agree" : "differ",
  ];
  return !agreements.includes("differ");
}

/**
 * "shifted": whole hours apart, so the records, or only the clock, may differ. "near": so close
 * that no terminal has closed its day and reached the same number again.
 */
function compareMoments(
  a: NamedRecord,
  b: NamedRecord,
): "agree" | "near" | "shifted" | "apart" | "silent" {
  const [x, y] = [secondOf(a), secondOf(b)];
  if (x === null || y === null) return "silent";
  if (x === y) return "agree";
  const apart = Math.abs(x - y);
  const hours = Math.round(apart / 3_600);
  const shifted =
    hours >= 1 &&
    hours <= SHIFT_HOURS_MAX &&
    Math.abs(apart - hours * 3_600) <= SHIFT_TOLERANCE_SECONDS;
  if (shifted) return "shifted";
  return apart <= ONE_PERIOD_SECONDS ? "near" : "apart";
}

/** "mixed": one number agrees and the other differs. */
function compareNumbers(a: NamedRecord, b: NamedRecord): Agreement | "mixed" {
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  const trace = told(a.traceNumber, b.traceNumber, equalTraces);
  const both = [receipt, trace];
  if (!both.includes("differ")) return both.includes("agree") ? "agree" : "silent";
  return both.includes("agree") ? "mixed" : "differ";
}

/** Both tell receipt number and trace, and both agree. */
function agreeInBoth(a: NamedRecord, b: NamedRecord): boolean {
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  return receipt === "agree" && told(a.traceNumber, b.traceNumber, equalTraces) === "agree";
}

/** The trace; a receipt number where no trace is told: declines do not use one up. */
export function sharesNumber(a: NamedRecord, b: NamedRecord): boolean {
  const trace = told(a.traceNumber, b.traceNumber, equalTraces);
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  return trace === "agree" || (trace === "silent" && receipt === "agree");
}

function isOtherAmount(a: NamedRecord, b: NamedRecord): boolean {
  return told(a.amountMinor, b.amountMinor, Object.is) === "differ";
}

/** One of the two is a reversal, and their traces differ. */
function isReversalOfOther(a: NamedRecord, b: NamedRecord): boolean {
  const isOneReversal = (a.originalTrace === null) !== (b.originalTrace === null);
  return isOneReversal && told(a.traceNumber, b.traceNumber, equalTraces) === "differ";
}

/** Seconds since the beginning of a year that has every day; null when not told. */
function secondOf({ localDate, localTime }: NamedRecord): number | null {
  if (!/^\d{4}$/.test(localDate ?? "") || !/^\d{6}$/.test(localTime ?? "")) return null;
  const part = (text: string | null, at: number): number => Number(text?.slice(at, at + 2));
  const [month, day] = [part(localDate, 0), part(localDate, 2)];
  const [hour, minute, second] = [part(localTime, 0), part(localTime, 2), part(localTime, 4)];
  return Date.UTC(2024, month - 1, day, hour, minute, second) / 1_000;
}
