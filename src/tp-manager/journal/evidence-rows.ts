import { lostSince, type NextFound } from "../attempts/next-command.ts";
import { lastReportOf, saleOf } from "../attempts/payment.ts";
import { REVERSAL_BEGINS } from "../attempts/steps.ts";
import { sameTerminal } from "../matching/comparison.ts";
import type { Baseline, TerminalIdentity } from "../terminal/terminal.ts";
import { attemptColumns, readAttempt, readJson, unfinishedSql } from "./attempt-columns.ts";
import type { Row, Statement, Statements } from "./statements.ts";

/** Attempts that are read at once. */
const PAGE = 20;
/** No row of the journal has a number above it. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The index of reversals is named: left to itself, SQLite reads every event. */
const reversals = "attempt_event INDEXED BY attempt_event_reversal";

const texts = {
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
  before: `SELECT ${attemptColumns}, rowid AS position FROM attempt INDEXED BY attempt_sent
    WHERE (baseline IS NOT NULL) = 1 AND baseline IS NOT NULL AND rowid < ?
    ORDER BY rowid DESC LIMIT ?`,
  position: "SELECT rowid AS position FROM attempt WHERE transaction_id = ?",
  doubted: `SELECT 1 FROM store_doubt
    WHERE before_attempt > (SELECT rowid FROM attempt WHERE transaction_id = ?) LIMIT 1`,
  served: `SELECT 1 FROM attempt_event WHERE transaction_id = ? AND id > ?
      AND kind IN ('end-completed', 'end-aborted') LIMIT 1`,
};

/**
 * The journal's knowledge about transactions that a terminal shows (docs/rules/01-baseline.md,
 * docs/rules/02-proof.md).
 */
export class EvidenceRows {
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements) {
    this.#sql = statements.prepare("evidence", texts);
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
    for (let before = this.#sql.position.get(transactionId)?.["position"] ?? 0; ; ) {
      const page = this.#sql.before.all(before, PAGE);
      const number = page
        .map(readAttempt)
        .filter(({ baseline }) => baseline && sameTerminal(baseline.identity, identity))
        .flatMap(({ state }) => lastReportOf(state)?.receiptNumber ?? [])[0];
      const last = page.at(-1);
      if (number !== undefined || !last || page.length < PAGE) return number ?? null;
      before = last["position"] ?? 0;
    }
  }

  #reversal(event: Row): NextFound | undefined {
    // Reversals of older versions did not keep what the terminal showed before them.
    const { baseline } = readJson<{ readonly baseline?: Baseline }>(event["detail"]);
    if (!baseline) return nothingTold;
    return {
      identity: baseline.identity,
      found: baseline.last,
      served: this.#served(String(event["transaction_id"]), Number(event["id"])),
      receiptNumber: null,
      formerReceipt: null,
    };
  }

  #served(transactionId: string, after: number): boolean {
    return this.#sql.served.get(transactionId, after) !== undefined;
  }
}

function byPosition(a: Row, b: Row): number {
  return Number(a["position"]) - Number(b["position"]);
}

const nothingTold: NextFound = {
  ...lostSince,
  found: { kind: "not-told", why: "an older version did not keep it" },
};
