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

/** The columns that {@link readAttempt} reads, without `status`, which SQLite computes itself. */
export const attemptColumns = `attempt.transaction_id, attempt.number, attempt.request,
  attempt.state, attempt.started_at_ms, attempt.ended_at_ms, attempt.baseline, attempt.ticket,
  attempt.returned_minor, attempt.notified_return_minor, attempt.returned_some,
  attempt.open_return, attempt.suspicion, attempt.packed`;

/** Returns the attempt in a row with {@link attemptColumns} of the table `attempt`. */
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
 * Returns the amount paid back in all, in minor units: our own sum or the sum that the gateway
 * notified, the larger one. They are not added, because the gateway also notifies our own refunds.
 */
export function returnedOf(row: Row): number {
  return Math.max(Number(row["returned_minor"]), Number(row["notified_return_minor"]));
}

export const returnedSql = "max(returned_minor, notified_return_minor)";

/** The SQL for the number of an order's next attempt; `order` is the SQL for the order id. */
export const nextNumber = (order: string): string => `(SELECT coalesce(max(number), 0) + 1 FROM
  (SELECT number, order_id FROM attempt UNION ALL
   SELECT number, order_id FROM archived_order) WHERE order_id = ${order})`;

/** Parses JSON that the journal itself wrote and that needs no validation. NULL becomes null. */
export function readJson<T>(value: SQLInputValue | undefined): T {
  return JSON.parse(String(value)) as T;
}

const TEXTS_KEPT = 32;
/** The cached texts with their values, newest first; a short list is faster than a hash. */
const keptTexts: Array<{ readonly text: string; readonly value: unknown }> = [];

/**
 * Like {@link readJson}, with a cache, because a payment reads some values several times. Readers
 * of the same text get the same object, which nobody changes.
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

/** Returns the SQL condition that an attempt is in a phase for which `has` is true. */
export function phaseIn(has: Parameters<typeof phasesWith>[0], column = "phase"): string {
  return `${column} IN (${quoted(phasesWith(has))})`;
}

/** The only phase in which an attempt has certainly never been a sale. */
const [unsold = ""] = phasesWith(({ archive }) => archive === "nothing");
export const neverSold = `phase = '${unsold}'`;
/** The SQL condition that an attempt may be a sale; two indexes are made with the same text. */
export const mayBeSold = `phase <> '${unsold}'`;

const openStatuses = paymentStatuses.filter(
  (status) =>
    status === variantTable.approved.status ||
    phasesWith((row) => row.open !== null && row.status === status).length > 0,
);
/** The SQL condition that an attempt has not ended; SQLite finds these by the status index. */
export const unfinishedSql = `status IN (${quoted(openStatuses)})`;
export const endedStatuses = paymentStatuses.filter((status) => !openStatuses.includes(status));

function quoted(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(", ");
}

export interface ListPage {
  readonly sinceMs: number;
  /** Lists only attempts that began before this time, in epoch milliseconds. */
  readonly untilMs?: number;
  readonly status: PaymentStatus | null;
  readonly limit: number;
  /** The {@link ListedAttempt.position} of the previous page's last attempt; null: first page. */
  readonly before: number | null;
}

export interface ListedAttempt {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  readonly position: number;
}

type Listings<T> = Readonly<Record<PaymentStatus | "all", T>>;

/**
 * Returns the SQL for a page of a table: the rows since the time `?3`, newest first, that come
 * after the row with the start time `?1` and row id `?2`. One search per status is merged.
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

/** Returns a page of a listing. `startOf` gives the start time of the attempt at a position. */
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

/** Returns the SQL for the row ids of a table's rows with one of the statuses. */
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

/** How many orders the alarm about unread charges names; its count includes all orders. */
const NAMED_MAX = 5;

const isChargedNow = phaseIn(({ charged }) => charged === "yes");
/** The SQL condition that the kiosk has not read that its order is charged. */
export const isUnread = `unread_since_ms IS NOT NULL AND ${isChargedNow}`;

/** Stores which answers the kiosk has read (docs/rules/11-unread.md). */
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
  /** Returns an order with a generated id that may be charged and whose answer was not read. */
  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined {
    const row = this.sql.undeliveredGenerated.get(amountMinor, currencyAlpha);
    return row && String(row["order_id"]);
  }

  markAnswerDelivered(orderId: string): void {
    this.sql.markAnswerDelivered.run(orderId);
  }

  /** Notes that the kiosk did not read the answer about a charge (docs/rules/11-unread.md). */
  markChargeUnread(orderId: string, atMs: number): void {
    this.sql.markChargeUnread.run(atMs, orderId);
  }

  /** Notes that the kiosk received the whole answer that its order is charged. */
  markChargeRead(orderId: string): void {
    // An UPDATE would take the write lock even if it changes no row.
    if (this.sql.isChargeUnread.get(orderId)) this.sql.markChargeRead.run(orderId);
  }

  /**
   * Returns the charges that the kiosk has not read: their number, since when the oldest of them
   * waits (epoch milliseconds), and the oldest orders; null if there is none.
   */
  unreadCharges() {
    const row = this.sql.countUnread.get();
    const count = Number(row?.["n"]);
    if (count === 0) return null;
    const orderIds = this.sql.unread.all(NAMED_MAX).map((one) => String(one["order_id"]));
    return { count, sinceMs: Number(row?.["since"]), orderIds };
  }
}
