import type { TransactionReport } from "../terminal/terminal.ts";

/** Whether a record is from a payment's time, without year and zone (docs/rules/02-proof.md). */

/** Terminal clocks drift and the customer takes time. */
const CLOCK_TOLERANCE_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface PaymentTime {
  /** Wall clock, epoch milliseconds, when the command may have left. */
  readonly sentAtMs: number;
  /** The terminal's own time limit for a payment it was left alone with. */
  readonly limitMs: number;
  /** Terminal clock minus ours before the payment; null when the terminal did not tell. */
  readonly clockOffsetMs: number | null;
}

/** Whether the record's date and time can be those of the payment; null when it tells none. */
export function isFromPayment(time: PaymentTime, report: TransactionReport): boolean | null {
  if (report.localDate === null || report.localTime === null) return null;
  const saidAtMs = nearestLocalTime(report.localDate, report.localTime, time.sentAtMs);
  const atMs = saidAtMs - (time.clockOffsetMs ?? 0);
  const earliest = time.sentAtMs - CLOCK_TOLERANCE_MS;
  const latest = time.sentAtMs + time.limitMs + CLOCK_TOLERANCE_MS;
  return shifts(time.sentAtMs).some((ms) => atMs + ms >= earliest && atMs + ms <= latest);
}

/** Around a change to or from summer time a terminal's clock may have followed or not. */
function shifts(nearMs: number): readonly number[] {
  const zoneOf = (ms: number): number => new Date(ms).getTimezoneOffset();
  const changes = zoneOf(nearMs - DAY_MS) !== zoneOf(nearMs + DAY_MS);
  return changes ? [0, HOUR_MS, -HOUR_MS] : [0];
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
