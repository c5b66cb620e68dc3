import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Chore } from "../../shared/daily.ts";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { type Currency, formatMajor } from "../../shared/money.ts";
import { transaction } from "../../shared/sqlite.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import { bareReport } from "../attempts/bare-report.ts";
import type {
  Attempt,
  AttemptState,
  ChargedBy,
  NotChargedState,
  PaymentRequest,
} from "../attempts/payment.ts";
import type { ListedAttempt, ListPage } from "../attempts/payment-store.ts";
import { type Row, returnedOf } from "./attempt-row.ts";
import { statusSql } from "./status-sql.ts";

const DAY_MS = 24 * 3_600_000;
/** Attempts per transaction: a payment that begins meanwhile waits for a few milliseconds. */
const BATCH = 100;
const BETWEEN_BATCHES_MS = 20;

/** What stays of an attempt beside its order, amount and ids. */
interface Kept {
  /** Whole: a currency that is abolished one day must still be readable. */
  readonly currency: Currency;
  readonly end:
    | {
        readonly phase: "charged" | "reversed";
        readonly by: ChargedBy;
        /** Less than was asked for when only a part of the goods came out. */
        readonly chargedMinor: number | null;
        /** Given back at the gateway. */
        readonly returnedMinor: number;
      }
    | NotChargedState;
}

/**
 * An order is put away whole, and only when nothing of it is open: every attempt has ended before
 * the cut-off, what was charged is with the gateway or closed, what was reversed is known to the
 * supervisor, and the answer of a generated order id was read (docs/design.md 3.11).
 */
const IS_ARCHIVABLE = `
  SELECT min((
    phase IN ('charged', 'not-charged', 'reversed')
    AND open_return IS NULL
    AND ended_at_ms IS NOT NULL AND max(ended_at_ms, started_at_ms) < ?
    AND (phase = 'not-charged' OR generated_id = 0 OR answer_delivered = 1)
    AND CASE phase
      WHEN 'not-charged' THEN hand_off.id IS NULL OR withdrawn = 2
      WHEN 'charged' THEN acknowledged = 1 AND withdrawn = 0 AND delivery IN ('sent', 'closed')
      ELSE acknowledged = 1 AND withdrawn = 2
    END) IS TRUE) AS archivable
  FROM attempt LEFT JOIN hand_off USING (transaction_id) WHERE order_id = ?`;

export interface ArchiveStep {
  /** Orders that were put away. */
  readonly archived: number;
  /** Where the next step goes on; undefined when every attempt was looked at. */
  readonly next: number | undefined;
}

/**
 * Looks at the orders of the next `limit` attempts behind `after`, the oldest first, and puts away
 * those that may be; in one transaction.
 */
export function archiveOrders(
  database: DatabaseSync,
  beforeMs: number,
  limit: number,
  after = 0,
): ArchiveStep {
  return transaction(database, () => {
    const seen = database
      .prepare("SELECT rowid, order_id FROM attempt WHERE rowid > ? ORDER BY rowid LIMIT ?")
      .all(after, limit) as Row[];
    const isArchivable = database.prepare(IS_ARCHIVABLE);
    const orders = [...new Set(seen.map((row) => String(row["order_id"])))].filter(
      (orderId) => isArchivable.get(beforeMs, orderId)?.["archivable"] === 1,
    );
    for (const orderId of orders) putAway(database, orderId);
    const last = seen.length === limit ? seen.at(-1) : undefined;
    return { archived: orders.length, next: last && Number(last["rowid"]) };
  });
}

function putAway(database: DatabaseSync, orderId: string): void {
  const keep = database.prepare(
    `INSERT INTO archived_order (transaction_id, order_id, number, amount_minor, currency,
       generated_id, delivery, started_at_ms, ended_at_ms, kept)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const attempts = database
    .prepare(
      `SELECT attempt.*, delivery FROM attempt LEFT JOIN hand_off USING (transaction_id)
       WHERE order_id = ?`,
    )
    .all(orderId) as Row[];
  for (const row of attempts) {
    keep.run(...keptColumns(row));
    for (const table of ["hand_off", "attempt_event", "attempt"]) {
      const sql = `DELETE FROM ${table} WHERE transaction_id = ?`;
      database.prepare(sql).run(row["transaction_id"] as string);
    }
  }
}

function keptColumns(row: Row): SQLInputValue[] {
  const { currency } = JSON.parse(String(row["request"])) as PaymentRequest;
  const state = JSON.parse(String(row["state"])) as AttemptState;
  const kept: Kept = { currency, end: keptEnd(state, returnedOf(row)) };
  const before = ["transaction_id", "order_id", "number", "amount_minor", "currency"];
  const after = ["generated_id", "delivery", "started_at_ms", "ended_at_ms"];
  const columns = [...before, ...after].map((name) => row[name] as SQLInputValue);
  return [...columns, JSON.stringify(kept)];
}

function keptEnd(state: AttemptState, returnedMinor: number): Kept["end"] {
  switch (state.phase) {
    case "charged":
      return {
        phase: "charged",
        by: state.by,
        chargedMinor: state.report.amountMinor,
        returnedMinor,
      };
    case "reversed": {
      const { by, report } = state.sale;
      return { phase: "reversed", by, chargedMinor: report.amountMinor, returnedMinor };
    }
    case "not-charged":
      return state;
    case "sent":
    case "in-doubt":
    case "reversing":
    case "reversal-in-doubt":
      invariant(false, `an attempt that is ${state.phase} is never archived`);
  }
}

/** What the journal answers of an order that was put away: the truth, without its details. */
export function archivedAttempts(database: DatabaseSync, orderId: string): Attempt[] {
  return (
    database
      .prepare("SELECT * FROM archived_order WHERE order_id = ? ORDER BY number")
      .all(orderId) as Row[]
  ).map(attemptOf);
}

export function archivedDelivery(
  database: DatabaseSync,
  transactionId: string,
): DeliveryState | null {
  const row = database
    .prepare("SELECT delivery FROM archived_order WHERE transaction_id = ?")
    .get(transactionId);
  return (row?.["delivery"] ?? null) as DeliveryState | null;
}

/**
 * Newest first; `position` is the order in which they were put away. The columns that the
 * conditions of a status name are made from what was kept.
 */
const LISTED = `
  SELECT * FROM (
    SELECT *, rowid AS position,
      json_extract(kept, '$.end.phase') AS phase,
      json_object(
        'outcome', json_extract(kept, '$.end.outcome'),
        'report', json_object('amountMinor', json_extract(kept, '$.end.chargedMinor'))) AS state,
      ifnull(json_extract(kept, '$.end.returnedMinor'), 0) AS returned_minor,
      0 AS notified_return_minor,
      NULL AS open_return
    FROM archived_order WHERE started_at_ms >= ? AND rowid < ?)`;

export function listArchived(
  database: DatabaseSync,
  { sinceMs, status, limit, before }: ListPage,
): ListedAttempt[] {
  const condition = status ? statusSql[status] : "TRUE";
  return (
    database
      .prepare(`${LISTED} WHERE (${condition}) ORDER BY position DESC LIMIT ?`)
      .all(sinceMs, before ?? Number.MAX_SAFE_INTEGER, limit) as Row[]
  ).map((row) => ({
    attempt: attemptOf(row),
    delivery: row["delivery"] as DeliveryState | null,
    position: Number(row["position"]),
  }));
}

const ARCHIVED = "the order is in the archive: receipt, ticket, basket and customer are gone";

function attemptOf(row: Row): Attempt {
  const { currency, end } = JSON.parse(String(row["kept"])) as Kept;
  const amountMinor = Number(row["amount_minor"]);
  const request: PaymentRequest = {
    orderId: String(row["order_id"]),
    generatedId: row["generated_id"] === 1,
    amountMinor,
    currency,
    echo: { amount: Number(formatMajor(amountMinor, currency.exponent)) },
    cart: [],
    customerEmail: null,
    customData: {},
    delivery: null,
    warnings: [ARCHIVED],
  };
  return {
    transactionId: String(row["transaction_id"]),
    number: Number(row["number"]),
    request,
    state: stateOf(end, currency),
    startedAtMs: Number(row["started_at_ms"]),
    endedAtMs: Number(row["ended_at_ms"]),
    baseline: null,
    ticket: "",
    returnedMinor: end.phase === "not-charged" ? 0 : end.returnedMinor,
    returnedSome: end.phase !== "not-charged" && end.returnedMinor > 0,
    openReturn: null,
  };
}

function stateOf(end: Kept["end"], currency: Currency): AttemptState {
  if (end.phase === "not-charged") return end;
  const report = bareReport(currency, end.chargedMinor);
  const sale = { report, by: end.by };
  return end.phase === "charged"
    ? { phase: "charged", ...sale }
    : { phase: "reversed", sale, report };
}

/** Charged long ago, and not known here to be with the gateway: the supervisor may know better. */
function unsentBefore(database: DatabaseSync, beforeMs: number): string[] {
  const rows = database
    .prepare(
      `SELECT transaction_id FROM attempt JOIN hand_off USING (transaction_id)
       WHERE ended_at_ms < ? AND acknowledged = 1 AND delivery = 'pending' AND withdrawn = 0`,
    )
    .all(beforeMs) as Row[];
  return rows.map((row) => String(row["transaction_id"]));
}

/** Puts away what is older than JOURNAL_DAYS. `learn` asks the supervisor what became of one. */
export function archiveChore(
  database: DatabaseSync,
  days: number,
  clock: Clock,
  learn: (transactionId: string) => Promise<unknown>,
): Chore {
  return {
    name: "archive of the journal",
    async run() {
      const beforeMs = clock.now() - days * DAY_MS;
      for (const transactionId of unsentBefore(database, beforeMs)) await learn(transactionId);
      let { next } = archiveOrders(database, beforeMs, BATCH);
      while (next !== undefined) {
        await sleep(clock, "archive of the journal", BETWEEN_BATCHES_MS);
        ({ next } = archiveOrders(database, beforeMs, BATCH, next));
      }
    },
  };
}
