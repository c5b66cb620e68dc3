import type { SQLInputValue } from "node:sqlite";
import type { Attempt, AttemptState } from "../attempts/payment.ts";
import type { TransactionReport } from "../terminal/terminal.ts";

export type Row = Record<string, SQLInputValue>;

/** One row of the table `attempt`. */
export function readAttempt(row: Row): Attempt {
  return {
    transactionId: String(row["transaction_id"]),
    number: Number(row["number"]),
    request: readJson(row["request"]),
    state: readJson(row["state"]),
    startedAtMs: Number(row["started_at_ms"]),
    endedAtMs: row["ended_at_ms"] === null ? null : Number(row["ended_at_ms"]),
    baseline: row["baseline"] === null ? null : readJson(row["baseline"]),
    ticket: String(row["ticket"]),
    returnedMinor: returnedOf(row),
    returnedSome: row["returned_some"] === 1 || returnedOf(row) > 0,
    openReturn: row["open_return"] === null ? null : readJson(row["open_return"]),
  };
}

/**
 * What went back in all. A return of ours is notified too, so the larger of the two counts: their
 * sum would count it twice.
 */
export function returnedOf(row: Row): number {
  return Math.max(Number(row["returned_minor"]), Number(row["notified_return_minor"]));
}

/** What the terminal reported of a sale that was charged, returned or not. */
export function saleOf(state: AttemptState): TransactionReport | undefined {
  switch (state.phase) {
    case "charged":
      return state.report;
    case "reversing":
    case "reversal-in-doubt":
    case "reversed":
      return state.sale.report;
    case "sent":
    case "in-doubt":
    case "not-charged":
      return undefined;
  }
}

/** The journal reads only what it wrote itself; a newer schema is refused at opening. */
export function readJson<T>(value: SQLInputValue | undefined): T {
  return JSON.parse(String(value)) as T;
}
