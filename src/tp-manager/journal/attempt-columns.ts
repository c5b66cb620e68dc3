import type { SQLInputValue } from "node:sqlite";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Attempt } from "../attempts/payment.ts";
import {
  type PaymentStatus,
  paymentStatuses,
  phasesWith,
  variantTable,
} from "../attempts/phase-table.ts";
import type { Row, Statement } from "./database/statements.ts";

/**
 * The columns that {@link readAttempt} reads. Not the status, which SQLite would compute from the
 * whole state each time.
 */
export const attemptColumns = `attempt.transaction_id, attempt.number, attempt.request,
  attempt.state, attempt.started_at_ms, attempt.ended_at_ms, attempt.baseline, attempt.ticket,
  attempt.returned_minor, attempt.notified_return_minor, attempt.returned_some,
  attempt.open_return, attempt.suspicion`;

/** One row of the table `attempt`, with {@link attemptColumns}. */
export function readAttempt(row: Row): Attempt {
  return {
    transactionId: String(row["transaction_id"]),
    number: Number(row["number"]),
    request: readKept(row["request"]),
    state: readKept(row["state"]),
    startedAtMs: Number(row["started_at_ms"]),
    endedAtMs: row["ended_at_ms"] as number | null,
    baseline: readKept(row["baseline"]),
    ticket: String(row["ticket"]),
    returnedMinor: returnedOf(row),
    returnedSome: row["returned_some"] === 1 || returnedOf(row) > 0,
    openReturn: readJson(row["open_return"]),
    suspicion: readJson(row["suspicion"]),
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

/** The number of an order's next attempt; `order` is an expression for its id. */
export const nextNumber = (order: string): string => `(SELECT coalesce(max(number), 0) + 1 FROM
  (SELECT number, order_id FROM attempt UNION ALL
   SELECT number, order_id FROM archived_order) WHERE order_id = ${order})`;

/** JSON that the journal wrote itself: a newer schema is refused at opening. NULL is null. */
export function readJson<T>(value: SQLInputValue | undefined): T {
  return JSON.parse(String(value)) as T;
}

/** How many parsed texts are kept: those of the newest attempts. */
const TEXTS_KEPT = 32;
/** The newest first. A comparison of long texts takes less time than a hash of one. */
const keptTexts: Array<{ readonly text: string; readonly value: unknown }> = [];

/**
 * Like {@link readJson}, for what is read several times in one payment. Readers of the same text
 * share one value, which nobody changes.
 */
function readKept<T>(value: SQLInputValue | undefined): T {
  const text = String(value);
  const kept = keptTexts.find((one) => one.text === text);
  if (kept !== undefined) return kept.value as T;
  const read = readJson<T>(text);
  keptTexts.unshift({ text, value: read });
  if (keptTexts.length > TEXTS_KEPT) keptTexts.pop();
  return read;
}

/** The condition that the phase's row satisfies `has`; `column` is an expression for the phase. */
export function phaseIn(has: Parameters<typeof phasesWith>[0], column = "phase"): string {
  return `${column} IN (${quoted(phasesWith(has))})`;
}

/** SQLite uses the index of possible sales only for a condition that is spelt as the index is. */
const [unsold = ""] = phasesWith(({ archive }) => archive === "nothing");
/** The condition that the attempt can never have been a sale. */
export const neverSold = `phase = '${unsold}'`;
/** The condition of two indexes: of unread answers, and of attempts that may be a sale. */
export const mayBeSold = `phase <> '${unsold}'`;

const openStatuses = paymentStatuses.filter((status) => {
  const isOpenVariant = status === variantTable.approved.status;
  return (
    isOpenVariant || phasesWith((row) => row.open !== null && row.status === status).length > 0
  );
});
/** The condition, by the index of statuses, that an attempt has not ended. */
export const unfinishedSql = `status IN (${quoted(openStatuses)})`;
/** The statuses of attempts that have ended. */
export const endedStatuses = paymentStatuses.filter((status) => !openStatuses.includes(status));

function quoted(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(", ");
}

export interface ListPage {
  readonly sinceMs: number;
  /** Only attempts that began before. */
  readonly untilMs?: number;
  readonly status: PaymentStatus | null;
  readonly limit: number;
  /** The {@link ListedAttempt.position} of the last attempt on the page before. */
  readonly before: number | null;
}

export interface ListedAttempt {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  readonly position: number;
}

/** A listing of all attempts, and of those with each status. */
type Listings<T> = Readonly<Record<PaymentStatus | "all", T>>;

/**
 * Listings of a table, newest first, after `(?1, ?2)`, which are a start and a position, since
 * `?3`. Each names its status and its index, so that it reads nothing that it does not give; the
 * one of all merges them.
 */
export function listings(
  table: string,
  index: string,
  sqlOf: (page: string) => string,
): Listings<string> {
  const isNext = "started_at_ms >= ?3 AND (started_at_ms, rowid) < (?1, ?2)";
  const page = (statuses: readonly PaymentStatus[]): string =>
    sqlOf(`${merged(statuses, table, index, isNext)}
      ORDER BY started_at_ms DESC, position DESC LIMIT ?4`);
  const named = paymentStatuses.map((status) => [status, page([status])]);
  return { all: page(paymentStatuses), ...Object.fromEntries(named) };
}

/** A page of listings. `startOf`: the statement for the start of the attempt at a position. */
export function listedIn(
  all: Listings<Statement>,
  startOf: Statement,
  { sinceMs, untilMs, status, limit, before }: ListPage,
): Row[] {
  const end = before ?? Number.MAX_SAFE_INTEGER;
  const start = startOf.get(end)?.["started_at_ms"];
  const sql = all[status ?? "all"];
  if (start !== undefined) return sql.all(start, end, sinceMs, limit);
  return sql.all(untilMs ?? Number.MAX_SAFE_INTEGER, 0, sinceMs, limit);
}

export function listedOf(row: Row, attempt: Attempt): ListedAttempt {
  const delivery = row["delivery"] as DeliveryState | null;
  return { attempt, delivery, position: Number(row["position"]) };
}

/** Positions of several statuses, for an ORDER BY that SQLite merges without sorting. */
export function merged(
  statuses: readonly PaymentStatus[],
  table: string,
  index: string,
  condition: string,
): string {
  const of = (status: PaymentStatus): string =>
    `SELECT started_at_ms, rowid AS position FROM ${table} INDEXED BY ${index}
      WHERE status = '${status}' AND ${condition}`;
  return statuses.map(of).join(" UNION ALL ");
}
