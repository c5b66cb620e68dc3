import type {
  Baseline,
  LastTransaction,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import type { JudgedReport } from "./payment.ts";

/**
 * Rules for what one look at the terminal proves about a payment in doubt (docs/design.md 3.1, 3.2;
 * docs/zvt.md 9.2). Pure. Compares with the baseline of the write-ahead record, never by number
 * order alone: numbers wrap and reset.
 */

export interface Doubt {
  readonly baseline: Baseline;
  readonly amountMinor: number;
  /** Only a part of the goods came out: the terminal may have charged this instead. */
  readonly partMinor: number | null;
  readonly currencyNumeric: string;
  /** Wall clock, epoch milliseconds, when the command may have left. */
  readonly sentAtMs: number;
  /**
   * Monotonic milliseconds since when this process is sure that nothing of the payment has left any
   * more: its end was lost then, or the process was started after. A wall clock can jump.
   */
  readonly lostSinceMs: number;
  /** The terminal's own time limit for a payment it was left alone with. */
  readonly paymentLimitMs: number;
  /** The terminal's last report before the end was lost. */
  readonly last: JudgedReport | null;
}

/** The facts that an idle terminal showed when it was asked. */
export interface Look {
  readonly identity: TerminalIdentity;
  readonly last: LastTransaction;
  /** Monotonic milliseconds. */
  readonly atMs: number;
}

/** A look together with what the journal knows about the transaction that it found. */
export interface Observation extends Look {
  /** The order another attempt of which this very transaction is known to belong to. */
  readonly knownAs: string | null;
  /**
   * The last transaction that the next command, begun after this one, found stored; null when no
   * command followed.
   */
  readonly foundByNext: LastTransaction | null;
}

/** How a run of looks ends. */
export type Conclusion =
  /** A reversal in doubt was carried out. */
  | { readonly verdict: "reversed"; readonly report: TransactionReport; readonly because: string }
  /** A reversal in doubt was not carried out: the sale stands. */
  | { readonly verdict: "not-reversed"; readonly because: string }
  | { readonly verdict: "charged"; readonly report: TransactionReport; readonly because: string }
  | { readonly verdict: "not-charged"; readonly because: string }
  /** This look proves nothing; the attempt stays unknown. */
  | { readonly verdict: "unsettled"; readonly because: string };

export type Verdict =
  | Conclusion
  /** Not yet: look again after `waitMs`, and it must show the same. */
  | { readonly verdict: "look-again"; readonly waitMs: number; readonly because: string };

/** Terminal clocks drift and the customer takes time. */
const CLOCK_TOLERANCE_MS = 10 * 60_000;

export function judge(
  doubt: Doubt,
  observation: Observation,
  earlier: Observation | null,
  confirmAfterMs: number,
): Verdict {
  const unsettled = (because: string): Verdict => ({ verdict: "unsettled", because });
  if (!sameTerminal(doubt.baseline.identity, observation.identity)) {
    return unsettled("another terminal is connected than the one that was paid at");
  }
  const { last } = observation;
  if (last.kind === "not-told") return unsettled(`the terminal does not tell: ${last.why}`);
  if (doubt.baseline.last.kind === "not-told") {
    // Without a baseline only the very transaction that was reported to us is known to be new.
    const reported = doubt.last !== null && last.kind === "transaction";
    if (!reported || !sameReport(doubt.last.report, last.report)) {
      return unsettled("what the terminal had stored before the payment is not known");
    }
  }
  if (sameTransaction(doubt.baseline.last, last)) return unchanged(doubt, observation);
  if (last.kind === "none") return unsettled("the terminal's storage was emptied since");
  return changed(doubt, observation, last.report, earlier, confirmAfterMs);
}

function unchanged(doubt: Doubt, { atMs }: Observation): Verdict {
  const leftMs = doubt.paymentLimitMs - (atMs - doubt.lostSinceMs);
  if (leftMs > 0) {
    return {
      verdict: "look-again",
      waitMs: leftMs,
      because: "nothing new is stored, but the lost payment's own time limit is not over",
    };
  }
  return {
    verdict: "not-charged",
    because: "the terminal is idle and its last transaction is the one from before the payment",
  };
}

function changed(
  doubt: Doubt,
  observation: Observation,
  report: TransactionReport,
  earlier: Observation | null,
  confirmAfterMs: number,
): Verdict {
  const unsettled = (because: string): Verdict => ({ verdict: "unsettled", because });
  if (observation.knownAs !== null) {
    return unsettled(`the terminal's last transaction is that of order ${observation.knownAs}`);
  }
  if (report.originalTrace !== null) return reversed(doubt, report);
  if (mayBeOfLater(doubt, observation, report)) {
    return unsettled("the terminal's last transaction can be that of a later payment");
  }
  if (!report.good) return unsettled("the terminal's last transaction is not a good one");
  if (
    (report.amountMinor !== doubt.amountMinor && report.amountMinor !== doubt.partMinor) ||
    (report.currencyNumeric ?? "978") !== doubt.currencyNumeric
  ) {
    return unsettled("the terminal's last transaction has another amount or currency");
  }
  const ownId = doubt.baseline.identity.terminalId;
  if (report.terminalId && ownId && report.terminalId !== ownId) {
    return unsettled("the terminal's last transaction names another terminal id");
  }
  if (!inTimeWindow(doubt, report)) {
    return unsettled("the terminal's last transaction is not from the time of the payment");
  }
  const proven = doubt.last?.acknowledged && sameReport(doubt.last.report, report);
  const confirmed = earlier?.last.kind === "transaction" && sameReport(earlier.last.report, report);
  if (proven || confirmed) {
    return {
      verdict: "charged",
      report,
      because: "the terminal has stored a new transaction that matches the payment",
    };
  }
  return {
    verdict: "look-again",
    waitMs: confirmAfterMs,
    because: "a matching transaction is stored; an automatic reversal could still be running",
  };
}

/**
 * An attempt that stayed unknown is asked about again when later ones may be in doubt as well. Only
 * what was reported to us, or was stored before the next payment began, cannot be theirs.
 */
function mayBeOfLater(
  { last: ours }: Doubt,
  { foundByNext, last }: Observation,
  report: TransactionReport,
): boolean {
  if (foundByNext === null || sameTransaction(foundByNext, last)) return false;
  return ours === null || !sameReport(ours.report, report);
}

/** The reversal of exactly what was reported to us gives the money back: proof of not charged. */
function reversed(doubt: Doubt, report: TransactionReport): Verdict {
  const ours = doubt.last?.report;
  if (
    report.good &&
    ours?.traceNumber &&
    report.originalTrace === ours.traceNumber &&
    report.amountMinor === doubt.amountMinor
  ) {
    return {
      verdict: "not-charged",
      because: `the terminal has reversed the transaction with trace ${ours.traceNumber}`,
    };
  }
  return { verdict: "unsettled", because: "the terminal's last transaction is a reversal" };
}

/**
 * Judges what one look proves about a reversal in doubt (docs/design.md 3.7). `doubt.baseline` is
 * the terminal as it looked before the reversal, `sale` the report of the sale to be reversed.
 */
export function judgeReversalDoubt(
  doubt: Doubt,
  sale: TransactionReport,
  observation: Observation,
  earlier: Observation | null,
  confirmAfterMs: number,
): Verdict {
  const unsettled = (because: string): Verdict => ({ verdict: "unsettled", because });
  if (!sameTerminal(doubt.baseline.identity, observation.identity)) {
    return unsettled("another terminal is connected than the one the sale was made at");
  }
  const { last } = observation;
  if (last.kind === "not-told") return unsettled(`the terminal does not tell: ${last.why}`);
  if (sameTransaction(doubt.baseline.last, last)) {
    const waited = unchanged(doubt, observation);
    if (waited.verdict !== "not-charged") return waited;
    return {
      verdict: "not-reversed",
      because: "the terminal is idle and its last transaction is the one from before the reversal",
    };
  }
  if (last.kind === "none") return unsettled("the terminal's storage was emptied since");
  const { report } = last;
  const isOurs =
    report.good &&
    sale.traceNumber !== null &&
    report.originalTrace === sale.traceNumber &&
    report.amountMinor === sale.amountMinor;
  if (!isOurs) return unsettled("the terminal's last transaction is not the reversal of this sale");
  const proven = doubt.last?.acknowledged && sameReport(doubt.last.report, report);
  const confirmed = earlier?.last.kind === "transaction" && sameReport(earlier.last.report, report);
  if (proven || confirmed) {
    return { verdict: "reversed", report, because: "the terminal has stored the reversal" };
  }
  return {
    verdict: "look-again",
    waitMs: confirmAfterMs,
    because: "the reversal is stored; it could still be taken back",
  };
}

/** Empty members say nothing; what both tell must be equal. */
export function sameTerminal(a: TerminalIdentity, b: TerminalIdentity): boolean {
  const differs = (x: string, y: string): boolean => x !== "" && y !== "" && x !== y;
  return !differs(a.serialNumber, b.serialNumber) && !differs(a.terminalId, b.terminalId);
}

function sameTransaction(a: LastTransaction, b: LastTransaction): boolean {
  if (a.kind === "transaction" && b.kind === "transaction") return sameReport(a.report, b.report);
  return a.kind === "none" && b.kind === "none";
}

/** Equal in everything that tells one stored transaction from another. */
export function sameReport(a: TransactionReport, b: TransactionReport): boolean {
  return identifying.every((field) => a[field] === b[field]);
}

const identifying = [
  "resultCode",
  "amountMinor",
  "receiptNumber",
  "traceNumber",
  "originalTrace",
  "localDate",
  "localTime",
] as const;

function inTimeWindow(doubt: Doubt, report: TransactionReport): boolean {
  if (report.localDate === null || report.localTime === null) return false;
  const saidAtMs = nearestLocalTime(report.localDate, report.localTime, doubt.sentAtMs);
  const atMs = saidAtMs - (doubt.baseline.clockOffsetMs ?? 0);
  const earliest = doubt.sentAtMs - CLOCK_TOLERANCE_MS;
  const latest = doubt.sentAtMs + doubt.paymentLimitMs + CLOCK_TOLERANCE_MS;
  return atMs >= earliest && atMs <= latest;
}

/** Epoch milliseconds of a local MMDD HHMMSS in the year that brings it nearest to `nearMs`. */
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
