import type { SQLInputValue } from "node:sqlite";
import type { Attempt } from "../attempts/payment.ts";
import {
  type PaymentStatus,
  paymentStatuses,
  phasesWith,
  variantTable,
} from "../attempts/phase-table.ts";
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
    suspicion: row["suspicion"] === null ? null : readJson(row["suspicion"]),
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

/** The journal reads only what it wrote itself; a newer schema is refused at opening. */
export function readJson<T>(value: SQLInputValue | undefined): T {
  return JSON.parse(String(value)) as T;
}

/** The phases whose row fits, as a condition; `column` is an expression for the phase. */
export function phaseIn(fits: Parameters<typeof phasesWith>[0], column = "phase"): string {
  return `${column} IN (${phasesWith(fits)
    .map((phase) => `'${phase}'`)
    .join(", ")})`;
}

/**
 * The very words of the index of these attempts: without them SQLite does not use that index. The
 * table of phases has their order.
 */
export const unfinishedSql = phaseIn(({ open }) => open !== null);

const [unsold = ""] = phasesWith(({ sold }) => !sold);
/** Nothing of the attempt can ever have been a sale. */
export const neverSold = `phase = '${unsold}'`;
/** As in the index of answers that nobody has read. */
export const mayBeSold = `phase <> '${unsold}'`;

const isApproved = `phase = '${variantTable.approved.of}'
  AND json_extract(state, '$.goods') IS NOT NULL
  AND json_extract(state, '$.goods.decision') IS NULL`;
const isReturned = `open_return IS NULL AND ${returnedSql} > 0 AND ${returnedSql} >=
  ifnull(json_extract(state, '$.report.amountMinor'), amount_minor)`;
const isOf = (wanted: PaymentStatus): string => phaseIn(({ status }) => status === wanted);
const endedAs = (status: string): string =>
  `(${phaseIn((row) => row.status === "as ended")}
    AND json_extract(state, '$.outcome.status') = '${status}')`;

/** The statuses of answers (docs/design.md 1.4) as conditions, each in brackets. */
const statusSql: Readonly<Record<PaymentStatus, string>> = {
  Success: `(${isOf("Success")} AND NOT (${isReturned}))`,
  Approved: `(${isApproved})`,
  Declined: endedAs("declined"),
  Cancelled: endedAs("cancelled"),
  Failed: endedAs("failed"),
  Reversed: `(${isOf("Reversed")} OR (${isOf("Success")} AND (${isReturned})))`,
  Unknown: `(${unfinishedSql} AND NOT (${isApproved}))`,
};

/** A listing of all attempts, and of those with each status. */
export type Listings<T> = Readonly<Record<PaymentStatus | "all", T>>;

export function listings(sqlWith: (condition: string) => string): Listings<string> {
  const named = paymentStatuses.map((status) => [status, sqlWith(statusSql[status])]);
  return { all: sqlWith("TRUE"), ...Object.fromEntries(named) };
}
