import { compareReports, sameTerminal } from "../matching/comparison.ts";
import { lostSince, type NextFound } from "../matching/facts.ts";
import { type Attempt, endReportOf, saleOf } from "../attempts/payment.ts";
import { REVERSAL_BEGINS } from "../attempts/steps.ts";
import { isTakenOverSale } from "../attempts/taken-over.ts";
import type { Baseline, TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import { attemptColumns, readAttempt, readJson, unfinishedSql } from "./attempt-columns.ts";
import type { Row, Statement, Statements } from "./statements.ts";

/** A terminal's last transaction belongs to one of so many newest attempts, if to any. */
const NEWEST = 20;
const RECEIPT_DIGITS = 4;
const TRACE_DIGITS = 6;
/** No row of the journal has a number above it. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The index of reversals is named: left to itself, SQLite reads every event. */
const reversals = "attempt_event INDEXED BY attempt_event_reversal";

const texts = {
  spelled: `SELECT ${attemptColumns} FROM attempt WHERE receipt_number IN (?1, ?2, ?3)
      AND trace_number IN (?4, ?5, ?6) AND transaction_id <> ?7`,
  newest: `SELECT ${attemptColumns} FROM attempt WHERE transaction_id <> ?
    ORDER BY rowid DESC LIMIT ?`,
  reversed: `SELECT ${attemptColumns} FROM ${reversals} JOIN attempt USING (transaction_id)
    WHERE kind = '${REVERSAL_BEGINS}' AND transaction_id <> ?
    ORDER BY attempt_event.id DESC LIMIT ${NEWEST}`,
  // In the order of insertion: a wall clock can jump.
  begun: `SELECT min(id) AS first,
      max(CASE WHEN kind = '${REVERSAL_BEGINS}' THEN id END) AS reversal
    FROM attempt_event WHERE transaction_id = ?`,
  nextAttempt: `SELECT ${attemptColumns}, attempt.rowid AS position, event.id AS first
    FROM attempt_event AS event CROSS JOIN attempt USING (transaction_id)
    WHERE event.id > ifnull((SELECT ?2 FROM attempt WHERE transaction_id = ?1), ${NEVER})
      AND baseline IS NOT NULL
      AND attempt.rowid > (SELECT rowid FROM attempt WHERE transaction_id = ?1)
      AND NOT EXISTS (SELECT 1 FROM attempt_event AS earlier
        WHERE earlier.transaction_id = event.transaction_id AND earlier.id < event.id)
    ORDER BY event.id LIMIT 1`,
  // Of which nothing was heard yet.
  nextUnheard: `SELECT ${attemptColumns}, rowid AS position
    FROM attempt INDEXED BY attempt_status
    WHERE ${unfinishedSql} AND baseline IS NOT NULL
      AND rowid > (SELECT rowid FROM attempt WHERE transaction_id = ?1)
      AND NOT EXISTS (SELECT 1 FROM attempt_event
        WHERE attempt_event.transaction_id = attempt.transaction_id)
    ORDER BY rowid LIMIT 1`,
  nextReversal: `SELECT * FROM ${reversals} WHERE kind = '${REVERSAL_BEGINS}' AND id > ?
    ORDER BY id LIMIT 1`,
  before: `SELECT ${attemptColumns} FROM attempt
    WHERE rowid < (SELECT rowid FROM attempt WHERE transaction_id = ?) AND baseline IS NOT NULL
    ORDER BY rowid DESC LIMIT ${NEWEST}`,
  doubted: `SELECT 1 FROM store_doubt
    WHERE before_attempt > (SELECT rowid FROM attempt WHERE transaction_id = ?) LIMIT 1`,
  served: `SELECT 1 FROM attempt_event WHERE transaction_id = ? AND id > ?
      AND kind IN ('end-completed', 'end-aborted') LIMIT 1`,
};

/** The journal's knowledge about transactions that a terminal shows (docs/design.md 3.1, 3.2). */
export class EvidenceRows {
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements) {
    this.#sql = statements.prepare("evidence", texts);
  }

  /** See {@link AttemptStore.orderOfReport}. */
  orderOfReport(report: TransactionReport, except: string): string | undefined {
    const ownerAmong = (rows: readonly Row[]): Attempt | undefined =>
      rows.map(readAttempt).find((attempt) => hasReported(attempt, report));
    const owner =
      // Before a payment the terminal nearly always shows the last one.
      ownerAmong(this.#sql.newest.all(except, 1)) ??
      ownerAmong(
        this.#sql.spelled.all(
          ...spellings(report.receiptNumber, RECEIPT_DIGITS),
          ...spellings(report.traceNumber, TRACE_DIGITS),
          except,
        ),
      ) ??
      ownerAmong(this.#sql.newest.all(except, NEWEST)) ??
      ownerAmong(this.#sql.reversed.all(except));
    return owner?.request.orderId;
  }

  /** See {@link AttemptStore.nextCommand}. */
  nextCommand(transactionId: string): NextFound | undefined {
    if (this.#sql.doubted.get(transactionId)) return lostSince;
    const begun = this.#sql.begun.get(transactionId);
    const after = Number(begun?.["reversal"] ?? begun?.["first"] ?? Number.MAX_SAFE_INTEGER - 1);
    const heard = this.#sql.nextAttempt.get(transactionId, after);
    const unheard = this.#sql.nextUnheard.get(transactionId);
    const [attempt] = [heard, unheard].filter((row) => row !== undefined).sort(byPosition);
    const reversal = this.#sql.nextReversal.get(after);
    const first = Number(attempt?.["first"] ?? Number.MAX_SAFE_INTEGER);
    if (reversal && Number(reversal["id"]) < first) return this.#reversal(reversal);
    return attempt && this.#attempt(attempt, first, transactionId);
  }

  #attempt(row: Row, first: number, doubtful: string): NextFound | undefined {
    const { transactionId, baseline, state } = readAttempt(row);
    if (!baseline) return undefined;
    const sale = saleOf(state);
    return {
      identity: baseline.identity,
      found: baseline.last,
      served: this.#served(transactionId, first - 1),
      receiptNumber: sale?.by === "payment" ? sale.report.receiptNumber : null,
      formerReceipt: this.#receiptBefore(doubtful, baseline.identity),
    };
  }

  /** Of a decline or a reversal too: it is a number that the terminal gave. */
  #receiptBefore(transactionId: string, identity: TerminalIdentity): string | null {
    const former = this.#sql.before
      .all(transactionId)
      .map(readAttempt)
      .filter(({ baseline }) => baseline && sameTerminal(baseline.identity, identity))
      .flatMap((attempt) => reportsOf(attempt).at(-1)?.receiptNumber ?? []);
    return former[0] ?? null;
  }

  #reversal(event: Row): NextFound | undefined {
    // Reversals of older versions did not keep what the terminal showed before them.
    const { baseline } = readJson<{ readonly baseline?: Baseline }>(event["detail"]);
    if (!baseline) return { ...nothingTold, ...noNumbers, served: false };
    return {
      identity: baseline.identity,
      found: baseline.last,
      served: this.#served(String(event["transaction_id"]), Number(event["id"])),
      ...noNumbers,
    };
  }

  #served(transactionId: string, after: number): boolean {
    return this.#sql.served.get(transactionId, after) !== undefined;
  }
}

function byPosition(a: Row, b: Row): number {
  return Number(a["position"]) - Number(b["position"]);
}

const nothingTold = {
  identity: { serialNumber: "", deviceId: "", terminalId: "", version: "" },
  found: { kind: "not-told", why: "an older version did not keep it" },
} as const;

const noNumbers = { receiptNumber: null, formerReceipt: null };

/** Whether a report is one of those that an attempt has had itself. */
export function hasReported(attempt: Attempt, report: TransactionReport): boolean {
  return reportsOf(attempt).some((own) => isSame(own, report));
}

/** The sale and the last word about it, which is that of its reversal when it was reversed. */
function reportsOf({ state }: Attempt): TransactionReport[] {
  return [saleOf(state)?.report, endReportOf(state)].filter((report) => report !== undefined);
}

function isSame(own: TransactionReport, report: TransactionReport): boolean {
  return compareReports(own, report) === "same" || isTakenOverSale(own, report);
}

/** As it is, without its leading zeros, and with all of them. */
function spellings(number: string | null, digits: number): [string | null, string, string] {
  const bare = (number ?? "").replace(/^0+(?=\d)/, "");
  return [number, bare, bare.padStart(digits, "0")];
}
