import type { AttemptStore } from "../attempts/attempt-store.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { NamedRecord } from "../matching/comparison.ts";
import type { KnownRecord, RecordStore } from "../matching/journal-view.ts";
import { attemptColumns, readAttempt } from "./attempt-columns.ts";
import type { Row, Statement, Statements } from "./statements.ts";
import { mayHaveClosed } from "./terminal-rows.ts";

const ofTrace = `SELECT * FROM record INDEXED BY record_trace
  WHERE CAST(trace_number AS INTEGER) % 1000000 = ?1 AND trace_number IS NOT NULL`;

/** By trace, by moment, and by the receipt number of records that have neither. */
const sharing = (moment: string): string => `${ofTrace}
  UNION ALL SELECT * FROM record INDEXED BY record_moment
  WHERE local_time = ?2 AND local_date = ?3${moment}
  UNION ALL SELECT * FROM record INDEXED BY record_receipt
  WHERE CAST(receipt_number AS INTEGER) = ?4 AND trace_number IS NULL AND local_time IS NULL`;

const texts = {
  sharingName: sharing(""),
  sharingNumber: sharing(" AND coalesce(trace_number, '') = ''"),
  sharingTrace: ofTrace,
  newest: "SELECT * FROM record WHERE id < ? ORDER BY id DESC LIMIT ?",
  closedSince: `SELECT 1 FROM telecollection INDEXED BY telecollection_closing_time
    WHERE started_at_ms >= ? AND ${mayHaveClosed} LIMIT 1`,
  sentBefore: `SELECT ${attemptColumns}, rowid AS position FROM attempt INDEXED BY attempt_sent
    WHERE (baseline IS NOT NULL) = 1 AND baseline IS NOT NULL AND rowid < ?
    ORDER BY rowid DESC LIMIT ?`,
};

const PAGE = 50;

/** The names of every record, and the attempts that can have made one. */
export class RecordRows implements RecordStore {
  readonly #attempts: Pick<AttemptStore, "newest">;
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements, attempts: Pick<AttemptStore, "newest">) {
    this.#attempts = attempts;
    this.#sql = statements.prepare("records", texts);
  }

  sharingName(record: NamedRecord, sinceMs: number): KnownRecord[] {
    return this.#sharing(record, sinceMs, this.#sql.sharingName);
  }

  sharingNumber(record: NamedRecord, sinceMs: number): KnownRecord[] {
    const { sharingName, sharingNumber } = this.#sql;
    // An empty trace says nothing, as none does.
    return this.#sharing(record, sinceMs, record.traceNumber ? sharingNumber : sharingName);
  }

  #sharing(record: NamedRecord, sinceMs: number, statement: Statement): KnownRecord[] {
    const { localDate, localTime, traceNumber, receiptNumber } = record;
    const trace = traceNumber === null ? null : lastDigits(traceNumber);
    const receipt = receiptNumber === null ? null : Number(receiptNumber);
    const rows = statement.all(trace, localTime, localDate, receipt);
    if (localTime === null) rows.push(...this.#since(sinceMs));
    const byId = new Map(rows.map((row) => [Number(row["id"]), row]));
    return [...byId.entries()].sort(([a], [b]) => a - b).map(([, row]) => knownRecordOf(row));
  }

  sharingTrace(trace: string): string[] {
    const rows = this.#sql.sharingTrace.all(lastDigits(trace)).map(knownRecordOf);
    return rows.flatMap(({ transactionId }) => transactionId ?? []);
  }

  closedSince(atMs: number): boolean {
    return this.#sql.closedSince.get(atMs) !== undefined;
  }

  *sent(): Generator<Attempt, void> {
    // Most questions end at the newest attempt, which need not be read.
    const [newest] = this.#attempts.newest(1, null);
    if (newest?.attempt.baseline) yield newest.attempt;
    for (let before = newest?.position; before !== undefined; ) {
      const page = this.#sql.sentBefore.all(before, PAGE);
      for (const row of page) yield readAttempt(row);
      before = page.length < PAGE ? undefined : Number(page.at(-1)?.["position"]);
    }
  }

  #since(sinceMs: number): Row[] {
    const rows: Row[] = [];
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const page = this.#sql.newest.all(before, PAGE);
      rows.push(...page.filter((row) => Number(row["at_ms"]) >= sinceMs));
      const last = page.at(-1);
      if (!last || page.length < PAGE || Number(last["at_ms"]) < sinceMs) return rows;
      before = Number(last["id"]);
    }
  }
}

const TRACES = 1_000_000;

/** docs/zvt.md 7.1: a longer trace may be told by its last digits. A text that is no number: 0. */
function lastDigits(trace: string): number {
  const number = Number.parseInt(trace, 10);
  return Number.isNaN(number) ? 0 : number % TRACES;
}

/** By the words that the journal has had from the beginning. */
const seenAs: Readonly<Record<string, KnownRecord["seenAs"]>> = {
  step: "step",
  stray: "unmatched",
  unmatched: "of-no-order",
  baseline: "baseline",
};

function knownRecordOf(row: Row): KnownRecord {
  const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
  return {
    record: {
      good: row["good"] === 1,
      resultCode: text("result_code"),
      amountMinor: row["amount_minor"] === null ? null : Number(row["amount_minor"]),
      receiptNumber: text("receipt_number"),
      traceNumber: text("trace_number"),
      originalTrace: text("original_trace"),
      terminalId: text("terminal_id"),
      localDate: text("local_date"),
      localTime: text("local_time"),
    },
    transactionId: text("transaction_id"),
    seenAs: seenAs[String(row["seen_as"])] ?? "step",
    atMs: Number(row["at_ms"]),
  };
}
