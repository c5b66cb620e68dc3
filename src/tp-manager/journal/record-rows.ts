import type { SQLInputValue } from "node:sqlite";
import { type NamedRecord, sameTerminal } from "../attempts/comparison.ts";
import { type Attempt, lastReportOf, REVERSAL_BEGINS, saleOf } from "../attempts/payment.ts";
import { lostSince, type NextCommand } from "../matching/facts.ts";
import type { Baseline, TerminalIdentity } from "../terminal/terminal.ts";
import { attemptColumns, readAttempt, readJson, unfinishedSql } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import { type Row, rows, type Statement } from "./database/statements.ts";
import { mayHaveClosed } from "./terminal-rows.ts";

/** A record of a transaction that a terminal reported or had stored, as the journal knows it. */
export interface KnownRecord {
  readonly record: NamedRecord;
  /** The attempt that the record belongs to; null: it came outside a payment, or is older. */
  readonly transactionId: string | null;
  /**
   * How the record was found. "step": in a payment's events. "unmatched": of no attempt for
   * certain. "of-no-order": no order can have made it. "baseline": stored before a command of ours.
   */
  readonly source: "step" | "unmatched" | "of-no-order" | "baseline";
  /** When the journal first stored the record, in epoch milliseconds. */
  readonly atMs: number;
}

const NEVER = Number.MAX_SAFE_INTEGER;

const ofTrace = `SELECT * FROM record INDEXED BY record_trace
  WHERE CAST(trace_number AS INTEGER) % 1000000 = ?1 AND trace_number IS NOT NULL`;

/** Returns the SQL for records with a trace number, a time, a name or, alone, a receipt number. */
const sharing = (moment: string): string => `${ofTrace}
  UNION ALL SELECT * FROM record INDEXED BY record_moment
  WHERE local_time = ?2 AND local_date = ?3${moment}
  UNION ALL SELECT * FROM record INDEXED BY record_name
  WHERE receipt_number = ?5 AND receipt_number GLOB '*[^0-9]*'
  UNION ALL SELECT * FROM record INDEXED BY record_receipt
  WHERE CAST(receipt_number AS INTEGER) = ?4 AND trace_number IS NULL AND local_time IS NULL`;

const PAGE = 50;

/** Finds records of the terminal by number and time, and the next command after an attempt. */
export class RecordRows extends rows("records", {
  sharingName: sharing(""),
  sharingNumber: sharing(" AND coalesce(trace_number, '') = ''"),
  sharingTrace: ofTrace,
  newest: "SELECT * FROM record WHERE id < ? ORDER BY id DESC LIMIT ?",
  closedSince: `SELECT 1 FROM telecollection INDEXED BY telecollection_closing_time
    WHERE started_at_ms >= ? AND ${mayHaveClosed} LIMIT 1`,
  sentBefore: `SELECT ${attemptColumns}, rowid AS position FROM attempt INDEXED BY attempt_sent
    WHERE (baseline IS NOT NULL) = 1 AND baseline IS NOT NULL AND rowid < ?
    ORDER BY rowid DESC LIMIT ?`,
  // Sorted by row id and not by time, because the wall clock can be set back.
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
  // The next attempt without any event yet: the terminal has reported nothing about it.
  nextUnheard: `SELECT ${attemptColumns}, rowid AS position
    FROM attempt INDEXED BY attempt_status
    WHERE ${unfinishedSql} AND baseline IS NOT NULL
      AND rowid > (SELECT rowid FROM attempt WHERE transaction_id = ?1)
      AND NOT EXISTS (SELECT 1 FROM attempt_event
        WHERE attempt_event.transaction_id = attempt.transaction_id)
    ORDER BY rowid LIMIT 1`,
  // The query names its index, because otherwise SQLite would read every event.
  nextReversal: `SELECT * FROM attempt_event INDEXED BY attempt_event_reversal
    WHERE kind = '${REVERSAL_BEGINS}' AND id > ? ORDER BY id LIMIT 1`,
  position: "SELECT rowid AS position FROM attempt WHERE transaction_id = ?",
  doubted: `SELECT 1 FROM store_doubt
    WHERE before_attempt > (SELECT rowid FROM attempt WHERE transaction_id = ?) LIMIT 1`,
  served: `SELECT 1 FROM attempt_event WHERE transaction_id = ? AND id > ?
      AND kind IN ('end-completed', 'end-aborted') LIMIT 1`,
})<{ attempts: AttemptRows }> {
  /**
   * Returns the records, even archived ones, that have a number, the name or the time of this
   * record, the oldest first. If this record has no time, all records stored since `sinceMs` are
   * returned too.
   */
  sharingName(record: NamedRecord, sinceMs: number): KnownRecord[] {
    return this.#sharing(record, sinceMs, this.sql.sharingName);
  }

  /** Like {@link sharingName}, but an equal time does not count if the trace numbers differ. */
  sharingNumber(record: NamedRecord, sinceMs: number): KnownRecord[] {
    const { sharingName, sharingNumber } = this.sql;
    // An empty trace number counts as missing.
    return this.#sharing(record, sinceMs, record.traceNumber ? sharingNumber : sharingName);
  }

  #sharing(record: NamedRecord, sinceMs: number, statement: Statement): KnownRecord[] {
    const { localDate, localTime, traceNumber, receiptNumber, namedAt } = record;
    const trace = traceNumber === null ? null : lastDigits(traceNumber);
    const receipt = receiptNumber === null ? null : Number(receiptNumber);
    const name = namedAt === undefined ? null : receiptNumber;
    const rows = statement.all(trace, localTime, localDate, receipt, name);
    if (localTime === null) rows.push(...this.#since(sinceMs));
    const byId = new Map(rows.map((row) => [Number(row["id"]), row]));
    return [...byId.entries()].sort(([a], [b]) => a - b).map(([, row]) => knownRecordOf(row));
  }

  /** Returns the attempts whose terminal reported a record with this trace number, oldest first. */
  sharingTrace(trace: string): string[] {
    const rows = this.sql.sharingTrace.all(lastDigits(trace)).map(knownRecordOf);
    return rows.flatMap(({ transactionId }) => transactionId ?? []);
  }

  /** Whether an end of day may have run since the time `atMs` of the wall clock. */
  closedSince(atMs: number): boolean {
    return this.sql.closedSince.get(atMs) !== undefined;
  }

  /** Yields the attempts with a write-ahead record, newest first, also those never sent. */
  *sent(): Generator<Attempt, void> {
    // Most callers need only the newest attempt, which is often cached.
    const newest = this.parts.attempts.newestRow();
    if (newest?.attempt.baseline) yield newest.attempt;
    if (newest) yield* this.#sentBefore(newest.position);
  }

  *#sentBefore(position: SQLInputValue): Generator<Attempt, void> {
    for (const row of this.sql.sentBefore.pages("position", position, PAGE)) yield readAttempt(row);
  }

  /** Returns the first sale or reversal begun at the terminal after the attempt's last command. */
  nextCommand(transactionId: string): NextCommand | undefined {
    if (this.sql.doubted.get(transactionId)) return lostSince;
    const begun = this.sql.begun.get(transactionId);
    const after = Number(begun?.["reversal"] ?? begun?.["first"] ?? NEVER - 1);
    const heard = this.sql.nextAttempt.get(transactionId, after);
    const unheard = this.sql.nextUnheard.get(transactionId);
    const [attempt] = [heard, unheard]
      .filter((row) => row !== undefined)
      .sort((a, b) => Number(a["position"]) - Number(b["position"]));
    const reversal = this.sql.nextReversal.get(after);
    const first = Number(attempt?.["first"] ?? NEVER);
    if (reversal && Number(reversal["id"]) < first) return this.#reversal(reversal);
    return attempt && this.#attempt(attempt, first, transactionId);
  }

  #attempt(row: Row, first: number, about: string): NextCommand | undefined {
    const { transactionId, baseline, state } = readAttempt(row);
    if (!baseline) return undefined;
    const sale = saleOf(state);
    return {
      identity: baseline.identity,
      found: baseline.last,
      served: this.#served(transactionId, first - 1),
      receiptNumber: sale?.by === "payment" ? sale.report.receiptNumber : null,
      formerReceipt: this.#receiptBefore(about, baseline.identity),
    };
  }

  /** Returns the last receipt number that the terminal had reported when an attempt began. */
  #receiptBefore(transactionId: string, identity: TerminalIdentity): string | null {
    const position = this.sql.position.get(transactionId)?.["position"] ?? 0;
    for (const { baseline, state } of this.#sentBefore(position)) {
      if (!baseline || !sameTerminal(baseline.identity, identity)) continue;
      const number = lastReportOf(state)?.receiptNumber;
      if (number != null) return number;
    }
    return null;
  }

  #reversal(event: Row): NextCommand | undefined {
    // Older versions stored no baseline before a reversal, so what was stored is unknown.
    const { baseline } = readJson<{ readonly baseline?: Baseline }>(event["detail"]);
    if (!baseline) {
      return { ...lostSince, found: { kind: "not-told", why: "an older version did not keep it" } };
    }
    return {
      identity: baseline.identity,
      found: baseline.last,
      served: this.#served(String(event["transaction_id"]), Number(event["id"])),
      receiptNumber: null,
      formerReceipt: null,
    };
  }

  #served(transactionId: string, after: number): boolean {
    return this.sql.served.get(transactionId, after) !== undefined;
  }

  #since(sinceMs: number): Row[] {
    const found: Row[] = [];
    for (let before = NEVER; ; ) {
      const page = this.sql.newest.all(before, PAGE);
      found.push(...page.filter((row) => Number(row["at_ms"]) >= sinceMs));
      const last = page.at(-1);
      if (!last || page.length < PAGE || Number(last["at_ms"]) < sinceMs) return found;
      before = Number(last["id"]);
    }
  }
}

/**
 * Returns the last six digits of a trace number, to which terminals may cut it (docs/zvt.md 7.1).
 * Returns 0 when the text is no number.
 */
function lastDigits(trace: string): number {
  return (Number.parseInt(trace, 10) || 0) % 1_000_000;
}

const sources: Readonly<Record<string, KnownRecord["source"]>> = {
  step: "step",
  stray: "unmatched",
  unmatched: "of-no-order",
  baseline: "baseline",
};

function knownRecordOf(row: Row): KnownRecord {
  return {
    record: {
      good: row["good"] === 1,
      resultCode: row["result_code"] as string | null,
      amountMinor: row["amount_minor"] as number | null,
      receiptNumber: row["receipt_number"] as string | null,
      traceNumber: row["trace_number"] as string | null,
      originalTrace: row["original_trace"] as string | null,
      terminalId: row["terminal_id"] as string | null,
      localDate: row["local_date"] as string | null,
      localTime: row["local_time"] as string | null,
    },
    transactionId: row["transaction_id"] as string | null,
    source: sources[String(row["seen_as"])] ?? "step",
    atMs: Number(row["at_ms"]),
  };
}
