import { type Currency, majorOf } from "../../shared/money.ts";
import { HOUR_MS } from "../../shared/time.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import {
  chargedMinorOf,
  type PaymentStatus,
  paymentStatuses,
  rowOf,
} from "../attempts/phase-table.ts";
import type { HourRow } from "../journal/operator-rows.ts";
import { answerOf } from "./answer.ts";

type Counts = Record<PaymentStatus, number>;

interface Sums {
  readonly currency: Currency;
  sales: number;
  chargedMinor: number;
  returnedMinor: number;
}

/** The figures of one day: counts, sums and durations of its attempts (docs/design.md 5.18). */
export class DayFigures {
  readonly #fromMs: number;
  readonly #hours: Array<{ readonly counts: Counts; readonly durations: number[] }>;
  readonly #sums = new Map<string, Sums>();

  /** Makes the empty figures of one day, which has 23 to 25 hours. */
  constructor(fromMs: number, untilMs: number) {
    this.#fromMs = fromMs;
    const length = Math.ceil((untilMs - fromMs) / HOUR_MS);
    this.#hours = Array.from({ length }, () => ({ counts: noCounts(), durations: [] }));
  }

  add(attempt: Attempt): void {
    const hour = this.#hours[Math.floor((attempt.startedAtMs - this.#fromMs) / HOUR_MS)];
    if (!hour) return;
    hour.counts[answerOf(attempt, null).body.status] += 1;
    const { state, startedAtMs, endedAtMs } = attempt;
    // A sale found by recovery is not timed: its duration would include the recovery.
    const isTimed = isCharged(state) && state.by === "payment" && endedAtMs !== null;
    if (isTimed) hour.durations.push(Math.max(0, endedAtMs - startedAtMs));
    this.#addSum(attempt);
  }

  /**
   * Returns each hour with the durations of its sales in milliseconds, the shortest first.
   * `watched` is null for an hour in which no program ran, or whose record was deleted.
   */
  hours(watched: readonly HourRow[]) {
    return this.#hours.map(({ counts, durations }, index) => {
      const fromMs = this.#fromMs + index * HOUR_MS;
      const row = watched.find(({ atMs }) => atMs >= fromMs && atMs < fromMs + HOUR_MS) ?? null;
      return { fromMs, counts, durations: durations.toSorted((a, b) => a - b), watched: row };
    });
  }

  get counts(): Counts {
    const all = noCounts();
    for (const { counts } of this.#hours) {
      for (const status of paymentStatuses) all[status] += counts[status];
    }
    return all;
  }

  get sums() {
    return [...this.#sums.values()].map(({ currency, sales, chargedMinor, returnedMinor }) => ({
      currency: currency.alpha,
      sales,
      charged: majorOf(chargedMinor, currency),
      returned: majorOf(returnedMinor, currency),
    }));
  }

  #addSum(attempt: Attempt): void {
    const { currency } = attempt.request;
    const chargedMinor = chargedMinorOf(attempt) ?? 0;
    if (chargedMinor === 0) return;
    const none = { currency, sales: 0, chargedMinor: 0, returnedMinor: 0 };
    const sum = this.#sums.get(currency.alpha) ?? none;
    const isBack = rowOf(attempt).charged === "no";
    sum.sales += 1;
    sum.chargedMinor += chargedMinor;
    sum.returnedMinor += isBack ? chargedMinor : attempt.returnedMinor;
    this.#sums.set(currency.alpha, sum);
  }
}

/** Returns which share of the attempts with a known outcome are sales; null without attempts. */
export function successShareOf(counts: Counts): number | null {
  const sold = counts.Success + counts.Reversed;
  const ended = sold + counts.Declined + counts.Cancelled + counts.Failed;
  return ended === 0 ? null : sold / ended;
}

/** Returns the median of sorted values; null for an empty list. */
export function middleOf(values: readonly number[]): number | null {
  return values[Math.floor((values.length - 1) / 2)] ?? null;
}

function noCounts(): Counts {
  return Object.fromEntries(paymentStatuses.map((status) => [status, 0])) as Counts;
}
