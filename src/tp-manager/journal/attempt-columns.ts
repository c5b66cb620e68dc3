import type { SQLInputValue } from "node:sqlite";
import { type ListStatus, listStatuses } from "../attempts/attempt-store.ts";
import type { Attempt, AttemptState } from "../attempts/payment.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { Row } from "./statements.ts";

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
 * Minor units that went back in all. A return of ours is notified too, so the larger of the two
 * counts: their sum would count that return twice.
 */
export function returnedOf(row: Row): number {
  return Math.max(Number(row["returned_minor"]), Number(row["notified_return_minor"]));
}

/** {@link returnedOf} inside a statement. */
export const returnedSql = "max(returned_minor, notified_return_minor)";

/** The terminal's report of a sale that was charged, returned or not. */
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

/** The very words of the index of these attempts: without them SQLite does not use that index. */
export const unfinishedSql = "phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt')";

const isApproved = `phase = 'sent' AND json_extract(state, '$.goods') IS NOT NULL
  AND json_extract(state, '$.goods.decision') IS NULL`;
const isReturned = `open_return IS NULL AND ${returnedSql} > 0 AND ${returnedSql} >=
  ifnull(json_extract(state, '$.report.amountMinor'), amount_minor)`;
const endedAs = (status: string): string =>
  `(phase = 'not-charged' AND json_extract(state, '$.outcome.status') = '${status}')`;

/** The statuses of answers (orders/answer.ts) as conditions, each in brackets. */
const statusSql: Readonly<Record<ListStatus, string>> = {
  Success: `(phase = 'charged' AND open_return IS NULL AND NOT (${isReturned}))`,
  Approved: `(${isApproved})`,
  Declined: endedAs("declined"),
  Cancelled: endedAs("cancelled"),
  Failed: endedAs("failed"),
  Reversed: `(phase = 'reversed' OR (phase = 'charged' AND (${isReturned})))`,
  Unknown: `(open_return IS NOT NULL
    OR ${unfinishedSql} AND NOT (${isApproved}))`,
};

/** A listing of all attempts, and of those with each status. */
export type Listings<T> = Readonly<Record<ListStatus | "all", T>>;

export function listings(sqlWith: (condition: string) => string): Listings<string> {
  const named = listStatuses.map((status) => [status, sqlWith(statusSql[status])]);
  return { all: sqlWith("TRUE"), ...Object.fromEntries(named) };
}
