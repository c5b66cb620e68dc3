import type {
  Baseline,
  LastTransaction,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";

/** A terminal, and the last transaction that it has stored (docs/rules/01-baseline.md). */
export type Stored = Pick<Baseline, "identity" | "last">;

/**
 * The outcome of comparing two transactions that a terminal reported (docs/matching.md). Receipt
 * number, trace number and time together identify a transaction, but a terminal may write the same
 * record differently: without leading zeros, shortened, with a member left out. "unsure" therefore
 * proves neither a charge nor its absence, and suppresses no alarm.
 */
export type Comparison = "same" | "different" | "unsure";

/** The members of a terminal's report that identify its transaction. */
export type NamedRecord = Pick<
  TransactionReport,
  | ("good" | "resultCode" | "amountMinor" | "receiptNumber" | "traceNumber" | "originalTrace")
  | ("terminalId" | "localDate" | "localTime" | "namedAt")
>;

/**
 * Compares two reports. "same": every number and time that both have agrees, and they share at
 * least one. "different": time and numbers both differ. Equal numbers at different times are
 * "unsure" as long as the numbers cannot have restarted in between, and so are different numbers in
 * one second, because a terminal that writes a record anew can do either. A receipt number that is
 * unique for ever decides alone.
 */
export function compareReports(a: NamedRecord, b: NamedRecord): Comparison {
  const isName = (a.namedAt ?? b.namedAt) !== undefined;
  if (isName && a.receiptNumber !== null && b.receiptNumber !== null) {
    if (a.receiptNumber !== b.receiptNumber) return "different";
    return sameContent(a, b) ? "same" : "unsure";
  }
  if (agreement(a.terminalId, b.terminalId, equalNumbers) === "differ") return "different";
  const moment = compareMoments(a, b);
  const numbers = compareNumbers(a, b);
  const content = sameContent(a, b);
  // A sale and its reversal can agree in receipt number and time; their trace numbers differ.
  if (numbers !== "agree" && isReversalOfOther(a, b)) return "different";
  switch (moment) {
    case "agree":
      if (numbers === "differ") return content ? "unsure" : "different";
      return content && numbers !== "mixed" ? "same" : "unsure";
    case "near":
      return content && sharesNumber(a, b) ? "unsure" : "different";
    case "apart":
      return content && agreeInBoth(a, b) ? "unsure" : "different";
    case "shifted":
    case "silent":
      if (numbers === "differ" || (numbers === "silent" && isOtherAmount(a, b))) return "different";
      return moment === "silent" && numbers === "agree" && content ? "same" : "unsure";
  }
}

/** Whether a record has at least a receipt number, a trace number or a time. */
export function isNamed({ receiptNumber, traceNumber, localTime }: NamedRecord): boolean {
  return [receiptNumber, traceNumber, localTime].some((one) => one !== null);
}

/** Whether both records have date and time; without these, equal numbers may be of two sales. */
export function haveMoments(a: NamedRecord, b: NamedRecord): boolean {
  return secondOf(a) !== null && secondOf(b) !== null;
}

/**
 * Compares two answers of the terminal about its last transaction. Two empty storages are "unsure":
 * a transaction may have been stored and closed by an end of day in between.
 */
export function compareStored(a: LastTransaction, b: LastTransaction): Comparison {
  if (a.kind === "not-told" || b.kind === "not-told") return "unsure";
  if (a.kind === "transaction" && b.kind === "transaction") {
    return compareReports(a.report, b.report);
  }
  return a.kind === b.kind ? "unsure" : "different";
}

/**
 * Whether two good results are certainly of two sales: each has a receipt or trace number, and
 * these numbers differ (docs/rules/20-second-sale.md).
 */
export function namesAnotherSale(a: TransactionReport, b: TransactionReport): boolean {
  return compareNumbers(a, b) === "differ";
}

/**
 * Whether two good results may be two sales although no number shows it: they have no number in
 * common, and their times differ (docs/rules/20-second-sale.md).
 */
export function mayBeAnotherSale(a: TransactionReport, b: TransactionReport): boolean {
  return (
    compareNumbers(a, b) === "silent" && ["near", "shifted", "apart"].includes(compareMoments(a, b))
  );
}

/** Whether `trace` is the trace number by which a reversal names its original sale. */
export function namesTrace(originalTrace: string | null, trace: string | null): boolean {
  return agreement(originalTrace, trace, equalTraces) === "agree";
}

/** Whether `next` follows `before`. null: not a number, or 0001 after 9999, which may skip 0000. */
export function isNextReceipt(before: string | null, next: string | null): boolean | null {
  if (!isNumber(before) || !isNumber(next)) return null;
  const from = Number(before);
  const to = Number(next);
  if (from === RECEIPT_MAX) return to === 1 ? null : to === 0;
  return to === from + 1;
}

/** Whether two identities can be of one terminal: serial number and terminal id do not differ. */
export function sameTerminal(a: TerminalIdentity, b: TerminalIdentity): boolean {
  const serialNumbers = agreement(a.serialNumber, b.serialNumber, Object.is);
  return ![serialNumbers, agreement(a.terminalId, b.terminalId, Object.is)].includes("differ");
}

/** The greatest receipt number, which has four digits (docs/zvt.md 9.4). */
export const RECEIPT_MAX = 9_999;
/** A terminal may cut a trace number to this many last digits (docs/zvt.md 7.1). */
const TRACE_DIGITS = 6;
/** The largest shift of a record's time by setting a clock or by summer time, in hours. */
const SHIFT_HOURS_MAX = 3;
const SHIFT_TOLERANCE_SECONDS = 2;
/** Within this time no terminal closes its day and then reaches the same number again. */
const ONE_PERIOD_SECONDS = 3_600;

type Agreement = "agree" | "differ" | "silent";

function agreement<T>(a: T | null, b: T | null, equal: (a: T, b: T) => boolean): Agreement {
  if (a === null || b === null || a === "" || b === "") return "silent";
  return equal(a, b) ? "agree" : "differ";
}

function isNumber(text: string | null): text is string {
  return text !== null && /^\d+$/.test(text);
}

function bare(number: string): string {
  return number.replace(/^0+(?=\d+$)/, "");
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
    agreement(a.resultCode, b.resultCode, Object.is),
    agreement(a.amountMinor, b.amountMinor, Object.is),
    agreement(a.originalTrace, b.originalTrace, equalTraces),
    a.good === b.good ? "agree" : "differ",
  ];
  return !agreements.includes("differ");
}

/**
 * Compares two records' times. "shifted": whole hours apart, as after a clock change. "near": so
 * close that no terminal has closed its day and reached the same number again in between.
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

function numbersIn(a: NamedRecord, b: NamedRecord): Record<"receipt" | "trace", Agreement> {
  return {
    receipt: agreement(a.receiptNumber, b.receiptNumber, equalNumbers),
    trace: agreement(a.traceNumber, b.traceNumber, equalTraces),
  };
}

/** Compares the numbers of two records. "mixed": receipt or trace agrees, the other differs. */
function compareNumbers(a: NamedRecord, b: NamedRecord): Agreement | "mixed" {
  const both = Object.values(numbersIn(a, b));
  if (!both.includes("differ")) return both.includes("agree") ? "agree" : "silent";
  return both.includes("agree") ? "mixed" : "differ";
}

function agreeInBoth(a: NamedRecord, b: NamedRecord): boolean {
  return Object.values(numbersIn(a, b)).every((each) => each === "agree");
}

/**
 * Whether the trace numbers agree or, if one is missing, the receipt numbers. Trace numbers come
 * first, because a declined payment uses up no receipt number.
 */
export function sharesNumber(a: NamedRecord, b: NamedRecord): boolean {
  const { receipt, trace } = numbersIn(a, b);
  return trace === "agree" || (trace === "silent" && receipt === "agree");
}

function isOtherAmount(a: NamedRecord, b: NamedRecord): boolean {
  return agreement(a.amountMinor, b.amountMinor, Object.is) === "differ";
}

/** Whether exactly one of two records is a reversal, and their trace numbers differ. */
function isReversalOfOther(a: NamedRecord, b: NamedRecord): boolean {
  const isOneReversal = (a.originalTrace === null) !== (b.originalTrace === null);
  return isOneReversal && agreement(a.traceNumber, b.traceNumber, equalTraces) === "differ";
}

/** Returns a record's date and time as seconds of a leap year; null if one of them is missing. */
function secondOf({ localDate, localTime }: NamedRecord): number | null {
  const found = /^(\d\d)(\d\d) (\d\d)(\d\d)(\d\d)$/.exec(`${localDate} ${localTime}`);
  if (!found) return null;
  const [month = 0, day = 0, ...time] = found.slice(1).map(Number);
  return Date.UTC(2024, month - 1, day, ...time) / 1_000;
}

/** A clock's largest error, plus the time that a customer takes (docs/rules/02-proof.md). */
const CLOCK_TOLERANCE_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface PaymentTime {
  /** When the payment command may have been sent, in epoch milliseconds of the wall clock. */
  readonly sentAtMs: number;
  /** How long the terminal continues a payment by itself when it has lost the line. */
  readonly limitMs: number;
  /** The terminal's clock minus ours before the payment, in ms; null when it reported no time. */
  readonly clockOffsetMs: number | null;
}

/** Whether the record's time can be the payment's; null when the record has no time. */
export function isFromPayment(time: PaymentTime, report: TransactionReport): boolean | null {
  if (report.localDate === null || report.localTime === null) return null;
  const saidAtMs = nearestLocalTime(report.localDate, report.localTime, time.sentAtMs);
  const atMs = saidAtMs - (time.clockOffsetMs ?? 0);
  const earliest = time.sentAtMs - CLOCK_TOLERANCE_MS;
  const latest = time.sentAtMs + time.limitMs + CLOCK_TOLERANCE_MS;
  return shifts(time.sentAtMs).some((ms) => atMs + ms >= earliest && atMs + ms <= latest);
}

/** Returns by how many ms the terminal's clock may be off because of summer time. */
function shifts(nearMs: number): readonly number[] {
  const zoneOf = (ms: number): number => new Date(ms).getTimezoneOffset();
  const changes = zoneOf(nearMs - DAY_MS) !== zoneOf(nearMs + DAY_MS);
  return changes ? [0, HOUR_MS, -HOUR_MS] : [0];
}

/** Returns the local date MMDD and time HHMMSS in epoch ms, in the year nearest to `nearMs`. */
export function nearestLocalTime(date: string, time: string, nearMs: number): number {
  const number = (text: string, at: number): number => Number(text.slice(at, at + 2));
  const year = new Date(nearMs).getFullYear();
  const candidates = [year - 1, year, year + 1].map((y) =>
    new Date(
      y,
      number(date, 0) - 1,
      number(date, 2),
      number(time, 0),
      number(time, 2),
      number(time, 4),
    ).getTime(),
  );
  return candidates.reduce((best, ms) =>
    Math.abs(ms - nearMs) < Math.abs(best - nearMs) ? ms : best,
  );
}
