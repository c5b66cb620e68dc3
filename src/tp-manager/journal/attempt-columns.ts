import type { SQLInputValue } from "node:sqlite";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Attempt } from "../attempts/payment.ts";
import {
  type PaymentStatus,
  paymentStatuses,
  phasesWith,
  variantTable,
} from "../attempts/phase-table.ts";
import { type Row, rows, type Statement } from "./database/statements.ts";

/** The columns that {@link readAttempt} reads; without the status, which SQLite computes. */
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

/** Minor units that went back in all: the larger sum, as a return of ours is notified too. */
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

/** The number of parsed texts that are kept: those of the newest attempts. */
const TEXTS_KEPT = 32;
/** Texts and what they were parsed to, the newest first. Comparing is faster than a hash. */
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

/** The one phase of attempts that can never have been a sale. */
const [unsold = ""] = phasesWith(({ archive }) => archive === "nothing");
export const neverSold = `phase = '${unsold}'`;
/** The condition that an attempt may be a sale; two indexes are spelt so, and used only then. */
export const mayBeSold = `phase <> '${unsold}'`;

const openStatuses = paymentStatuses.filter(
  (status) =>
    status === variantTable.approved.status ||
    phasesWith((row) => row.open !== null && row.status === status).length > 0,
);
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
 * Listings of a table since `?3`, newest first, after the start `?1` and the position `?2`. Each
 * names its status and its index, so that it reads no row in vain; the one of all merges them.
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

export function listedOf(row: Row, attempt = readAttempt(row)): ListedAttempt {
  const delivery = row["delivery"] as DeliveryState | null;
  return { attempt, delivery, position: Number(row["position"]) };
}

/** Selects the positions of several statuses, for an ORDER BY that SQLite merges unsorted. */
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

/** The most orders that an alarm about unread charges names; it counts all. */
const NAMED_MAX = 5;

const isChargedNow = phaseIn(({ charged }) => charged === "yes");
/** The order is charged now, and the kiosk does not know it. */
export const isUnread = `unread_since_ms IS NOT NULL AND ${isChargedNow}`;

/** The kiosk's knowledge of answers, in columns of the attempts. */
export class AnswerRows extends rows("answers", {
  undeliveredGenerated: `SELECT order_id FROM attempt WHERE generated_id = 1
      AND answer_delivered = 0 AND ${mayBeSold} AND amount_minor = ? AND currency = ?
    LIMIT 1`,
  markAnswerDelivered:
    "UPDATE attempt SET answer_delivered = 1 WHERE order_id = ? AND answer_delivered = 0",
  markChargeUnread: `UPDATE attempt SET unread_since_ms = ? WHERE order_id = ?
      AND unread_since_ms IS NULL AND ${isChargedNow}`,
  isChargeUnread: `SELECT 1 FROM attempt
    WHERE order_id = ? AND unread_since_ms IS NOT NULL LIMIT 1`,
  markChargeRead: `UPDATE attempt SET unread_since_ms = NULL
    WHERE order_id = ? AND unread_since_ms IS NOT NULL`,
  countUnread: `SELECT count(*) AS n, min(unread_since_ms) AS since FROM attempt
    WHERE ${isUnread}`,
  unread: `SELECT order_id FROM attempt WHERE ${isUnread} ORDER BY unread_since_ms LIMIT ?`,
}) {
  /** An order with a generated id, charged or unknown, whose answer the kiosk has not read. */
  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined {
    const row = this.sql.undeliveredGenerated.get(amountMinor, currencyAlpha);
    return row && String(row["order_id"]);
  }

  markAnswerDelivered(orderId: string): void {
    this.sql.markAnswerDelivered.run(orderId);
  }

  /** Notes that no answer with the charge has arrived (docs/rules/11-unread.md). */
  markChargeUnread(orderId: string, atMs: number): void {
    this.sql.markChargeUnread.run(atMs, orderId);
  }

  /** Notes that an answer with the charge has arrived whole. */
  markChargeRead(orderId: string): void {
    // Nearly always there is nothing to change, and a change begins with the lock of writers.
    if (this.sql.isChargeUnread.get(orderId)) this.sql.markChargeRead.run(orderId);
  }

  /**
   * The charges that the kiosk does not know: how many, since when the oldest waits (epoch
   * milliseconds), and the orders of the oldest; null: it knows every charge.
   */
  unreadCharges() {
    const row = this.sql.countUnread.get();
    const count = Number(row?.["n"]);
    if (count === 0) return null;
    const orderIds = this.sql.unread.all(NAMED_MAX).map((one) => String(one["order_id"]));
    return { count, sinceMs: Number(row?.["since"]), orderIds };
  }
}
