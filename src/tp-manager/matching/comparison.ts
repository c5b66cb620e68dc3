import type { LastTransaction, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";

/**
 * The one comparison of two transactions that a terminal told of (docs/design.md 3.1). Pure.
 *
 * Terminals spell the same record differently from time to time: a number without its leading
 * zeros, a member left out, a trace cut to six digits. A member that one side does not tell says
 * nothing. So the answer has three values, and "cannot-tell" is never proof of anything: it proves
 * no charge, it disproves none, and no alarm is left out for it.
 */
export type Comparison = "same" | "different" | "cannot-tell";

/** Two reports; whether they are of one transaction. */
export function compareReports(a: TransactionReport, b: TransactionReport): Comparison {
  if (told(a.terminalId, b.terminalId, equalNumbers) === "differ") return "different";
  const moment = compareMoments(a, b);
  if (moment === "differ") return "different";
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  const trace = told(a.traceNumber, b.traceNumber, equalTraces);
  const differs = [receipt, trace].filter((each) => each === "differ").length;
  const agrees = receipt === "agree" || trace === "agree";
  if (differs === 2) return "different";
  if (differs === 1 && agrees) {
    // A sale and its reversal may carry one receipt number.
    const isOneReversal = (a.originalTrace === null) !== (b.originalTrace === null);
    return isOneReversal && trace === "differ" ? "different" : "cannot-tell";
  }
  if (differs === 1) return moment === "agree" ? "cannot-tell" : "different";
  if (agrees) return moment === "agree" && sameContent(a, b) ? "same" : "cannot-tell";
  const otherAmount = told(a.amountMinor, b.amountMinor, Object.is) === "differ";
  return moment === "silent" && otherAmount ? "different" : "cannot-tell";
}

/**
 * Whether two reports can be one transaction that was told in two ways: one leaves members out, and
 * nothing that both tell differs, of which the moment or a number is told by both.
 */
export function canBeToldTwice(a: TransactionReport, b: TransactionReport): boolean {
  const terminal = told(a.terminalId, b.terminalId, equalNumbers);
  const moment = compareMoments(a, b);
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  const trace = told(a.traceNumber, b.traceNumber, equalTraces);
  const names = [moment, receipt, trace];
  const isDifferent = [terminal, ...names].includes("differ") || !sameContent(a, b);
  return names.includes("agree") && !isDifferent;
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
 * (docs/design.md 3.20).
 */
export function namesAnotherSale(a: TransactionReport, b: TransactionReport): boolean {
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  const trace = told(a.traceNumber, b.traceNumber, equalTraces);
  return receipt !== "agree" && trace !== "agree" && [receipt, trace].includes("differ");
}

/**
 * Whether two good results may be of two sales although no number says so: they name none, and are
 * of different moments (docs/design.md 3.20).
 */
export function mayBeAnotherSale(a: TransactionReport, b: TransactionReport): boolean {
  const receipt = told(a.receiptNumber, b.receiptNumber, equalNumbers);
  const trace = told(a.traceNumber, b.traceNumber, equalTraces);
  return receipt === "silent" && trace === "silent" && compareMoments(a, b) === "differ";
}

/** A reversal's record names the trace of what it took back. */
export function namesTrace(originalTrace: string | null, trace: string | null): boolean {
  return told(originalTrace, trace, equalTraces) === "agree";
}

/** Whether `next` is the receipt number right behind `before`; null when either is no number. */
export function isNextReceipt(before: string | null, next: string | null): boolean | null {
  if (!isNumber(before) || !isNumber(next)) return null;
  const from = Number(before);
  const to = Number(next);
  return to === from + 1 || (from === RECEIPT_MAX && to <= 1);
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

function sameContent(a: TransactionReport, b: TransactionReport): boolean {
  const agreements = [
    told(a.resultCode, b.resultCode, Object.is),
    told(a.amountMinor, b.amountMinor, Object.is),
    told(a.originalTrace, b.originalTrace, equalTraces),
    a.good === b.good ? "agree" : "differ",
  ];
  return !agreements.includes("differ");
}

/** "silent" too when the two are whole hours apart: the records, or only the clock, may differ. */
function compareMoments(a: TransactionReport, b: TransactionReport): Agreement {
  const [x, y] = [secondOf(a), secondOf(b)];
  if (x === null || y === null) return "silent";
  if (x === y) return "agree";
  const apart = Math.abs(x - y);
  const hours = Math.round(apart / 3_600);
  const shifted =
    hours >= 1 &&
    hours <= SHIFT_HOURS_MAX &&
    Math.abs(apart - hours * 3_600) <= SHIFT_TOLERANCE_SECONDS;
  return shifted ? "silent" : "differ";
}

/** Seconds since the beginning of a year that has every day; null when not told. */
function secondOf({ localDate, localTime }: TransactionReport): number | null {
  if (!/^\d{4}$/.test(localDate ?? "") || !/^\d{6}$/.test(localTime ?? "")) return null;
  const part = (text: string | null, at: number): number => Number(text?.slice(at, at + 2));
  const [month, day] = [part(localDate, 0), part(localDate, 2)];
  const [hour, minute, second] = [part(localTime, 0), part(localTime, 2), part(localTime, 4)];
  return Date.UTC(2024, month - 1, day, hour, minute, second) / 1_000;
}
