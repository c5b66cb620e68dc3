import type { KnownOrder } from "../../shared/ipc/contract.ts";
import { eventAt, stepOf } from "../attempts/attempt-event.ts";
import { type Attempt, isCharged, isReversed, saleOf } from "../attempts/payment.ts";
import { paymentEventOf } from "../attempts/phase-table.ts";
import { newerState, openReturnOf, requestTakenOver } from "../attempts/taken-over.ts";
import { compareReports, sameTerminal } from "../matching/comparison.ts";
import { canHaveBeenTakenBack } from "../matching/doubt.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import { nextNumber, readJson } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import type { EventRows } from "./event-rows.ts";
import type { KnownRecord, RecordRows } from "./record-rows.ts";
import { type Row, rows, type Statements } from "./statements.ts";
import { closings, mayHaveClosed } from "./terminal-rows.ts";

/** The journal may lack payments: it was lost, or is an older or another one. */
export interface StoreDoubt {
  /** The last loss that it is about. */
  readonly sinceMs: number;
  /** For people. */
  readonly because: string;
  /** The supervisor's database may lack them too, without knowing. */
  readonly both: boolean;
  /** Every order that the supervisor knows is in the journal. */
  readonly isTakenOver: boolean;
  /** Sales that the terminal has stored and that no order here has. */
  readonly ofNoOrder: readonly TransactionReport[];
}

interface TakenPage {
  readonly to: number;
  readonly done: boolean;
}

/**
 * The program runs so long at least before a doubt ends: a kiosk repeats orders of the same day.
 * Other time than that of its own running is not sure, because a clock can be set.
 */
export const DOUBT_MIN_MS = 24 * 3_600_000;

/** The first row that is written from here on. */
const nextAttempt = "(SELECT coalesce(max(rowid), 0) + 1 FROM attempt)";
const nextClosing = "(SELECT coalesce(max(id), 0) + 1 FROM telecollection)";

const texts = {
  open: "SELECT * FROM store_doubt WHERE ended_at_ms IS NULL ORDER BY id LIMIT 1",
  all: "SELECT unmatched FROM store_doubt",
  // An end of day that was begun after the doubt has closed what the terminal had stored before.
  closed: `SELECT 1 FROM ${closings} WHERE id >= ? AND ${mayHaveClosed}
    AND json_extract(result, '$.end') = 'completed' LIMIT 1`,
  begin: `INSERT INTO store_doubt
      (since_ms, because, both, before_attempt, before_telecollection)
    VALUES (?, ?, ?, ${nextAttempt}, ${nextClosing})`,
  add: `UPDATE store_doubt SET because = because || '; ' || ?1, both = max(both, ?2),
      since_ms = max(since_ms, ?3), ran_ms = 0, taken_to = 0, taken_over_at_ms = NULL,
      before_attempt = ${nextAttempt}, before_telecollection = ${nextClosing}
    WHERE ended_at_ms IS NULL`,
  ran: "UPDATE store_doubt SET ran_ms = ran_ms + ? WHERE ended_at_ms IS NULL",
  moveTo: `UPDATE store_doubt SET taken_to = ?1, taken_over_at_ms = ?2 WHERE ended_at_ms IS NULL`,
  end: "UPDATE store_doubt SET ended_at_ms = ?, ended_by = ? WHERE ended_at_ms IS NULL",
  ofNoOrder: "UPDATE store_doubt SET unmatched = ? WHERE ended_at_ms IS NULL",
  // One in the archive was here long before.
  concerns: `SELECT 1 FROM store_doubt WHERE ended_at_ms IS NULL AND before_attempt >
    coalesce((SELECT rowid FROM attempt WHERE transaction_id = ?), 0) LIMIT 1`,
  archived: "SELECT 1 FROM archived_order WHERE transaction_id = ?",
  insert: `INSERT INTO attempt (transaction_id, order_id, number, amount_minor, currency,
      generated_id, answer_delivered, phase, request, state, started_at_ms, ended_at_ms,
      receipt_number, trace_number)
    VALUES (?1, ?2, ${nextNumber("?2")}, ?3, ?4, 0, 1, ?5, ?6, ?7, ?8, ?8, ?9, ?10)`,
  change: `UPDATE attempt SET phase = ?, state = ?, ended_at_ms = ?, receipt_number = ?,
      trace_number = ? WHERE transaction_id = ?`,
  returned: `UPDATE attempt SET notified_return_minor = max(notified_return_minor, ?1),
      returned_some = max(returned_some, ?1 > 0), open_return = coalesce(open_return, ?2)
    WHERE transaction_id = ?3`,
  handOff: `INSERT INTO hand_off (transaction_id, body, acknowledged, delivery, withdrawn)
    VALUES (?1, ?2, 1, ?3, ?4)
    ON CONFLICT (transaction_id) DO UPDATE SET acknowledged = 1, delivery = ?3,
      withdrawn = max(withdrawn, ?4)`,
};

/**
 * The journal's doubt about itself, and orders taken over from the supervisor
 * (docs/rules/17-loss.md). The doubt ends when an end of day was begun after it, the program has
 * run {@link DOUBT_MIN_MS} since its last loss and the supervisor's orders are taken over, or by
 * an operator's word.
 */
export class DoubtRows extends rows("doubts", texts) {
  readonly #events: EventRows;
  readonly #attempts: AttemptRows;
  readonly #records: RecordRows;

  constructor(
    statements: Statements,
    events: EventRows,
    attempts: AttemptRows,
    records: RecordRows,
  ) {
    super(statements);
    this.#events = events;
    this.#attempts = attempts;
    this.#records = records;
  }

  /** The doubt that is open; undefined: the journal is whole. */
  open(): StoreDoubt | undefined {
    const row = this.sql.open.kept();
    if (!row || this.#isOver(row)) return undefined;
    return {
      sinceMs: Number(row["since_ms"]),
      because: String(row["because"]),
      both: row["both"] === 1,
      isTakenOver: row["taken_over_at_ms"] !== null,
      // The taking over may have brought its order.
      ofNoOrder: ofNoOrderIn(row).filter(
        (report) =>
          report.originalTrace === null &&
          this.#told(report).every(({ transactionId }) => transactionId === null),
      ),
    };
  }

  /** Whether an attempt was here before the open one began, whatever the clock says. */
  concerns(transactionId: string): boolean {
    return this.sql.concerns.get(transactionId) !== undefined;
  }

  /** Begins one, or adds to the one that is open. */
  begin(because: string, both: boolean, atMs: number): void {
    if (this.open()) this.sql.add.run(because, both ? 1 : 0, atMs);
    else {
      this.end("end-of-day", atMs);
      this.sql.begin.run(atMs, because, both ? 1 : 0);
    }
  }

  /** Adds to the running time of the open doubt, if there is one. */
  ran(ms: number): void {
    this.sql.ran.run(ms);
  }

  /** Where the taking over of the supervisor's orders goes on. */
  takenTo(): number {
    return Number(this.sql.open.get()?.["taken_to"] ?? 0);
  }

  /** Takes orders over, those that are here already too; `to`: how far; `done`: these were all. */
  takeOver(orders: readonly KnownOrder[], page: TakenPage | null, atMs: number): void {
    this.#events.telling((tell) => {
      for (const known of orders) {
        const before = this.#attempts.read(known.transaction.transactionId);
        const after = this.#take(known, before, atMs);
        if (after) tell("payment", paymentEventOf(after), atMs);
      }
      if (page) this.sql.moveTo.run(page.to, page.done ? atMs : null);
    });
  }

  /**
   * Whether the journal knows a transaction of the terminal: that of an attempt, one that was
   * stored before an attempt, an unmatched one, or one that was recorded as of no order here.
   */
  knowsReport(report: TransactionReport): boolean {
    // Mostly it is the sale of the newest attempt, which needs no search.
    const [newest] = this.#records.sent();
    const own = newest && ownWordOf(newest.state);
    if (own && compareReports(own, report) === "same") return true;
    const isKnown = this.#told(report).some(({ seenAs }) => seenAs !== "of-no-order");
    return isKnown || this.#wasOfNoOrder(report);
  }

  /**
   * Whether the terminal has taken back a sale that it made after the newest charge or reversal of
   * this journal that is one by its own word. An attempt since can have made that sale only where
   * it asked for that amount.
   */
  tookBackLater(report: TransactionReport): boolean {
    const { good, originalTrace } = report;
    if (!good || originalTrace === null) return false;
    // A second sale of a payment, for example, which the terminal was told to take back.
    const isKnown =
      this.#told(report).length > 0 || this.#records.sharingTrace(originalTrace).length > 0;
    if (isKnown || this.#wasOfNoOrder(report)) return false;
    const since: Attempt[] = [];
    for (const attempt of this.#records.sent()) {
      const own = ownWordOf(attempt.state);
      if (!own || !this.#attempts.canHaveLeft(attempt)) {
        since.push(attempt);
        continue;
      }
      if (since.some((one) => !isBeside(one, attempt))) return false;
      // A payment that was not reported as charged, which the terminal reversed by itself.
      const unheard = since.filter((one) => this.#attempts.canHaveLeft(one));
      if (unheard.some((one) => canHaveBeenTakenBack(one, report))) return false;
      // Traces begin again: only a greater one is certainly later.
      return own.traceNumber !== null && Number(originalTrace) > Number(own.traceNumber);
    }
    return false;
  }

  /** A reversal counts as known from then on, and holds nothing up. */
  addOfNoOrder(report: TransactionReport): void {
    const row = this.sql.open.get();
    if (!row) return;
    const known = ofNoOrderIn(row);
    if (known.some((one) => compareReports(one, report) === "same")) return;
    this.sql.ofNoOrder.run(JSON.stringify([...known, report]));
  }

  /** false: none was open. "end-of-day": nobody repeats an earlier order any more. */
  end(by: "end-of-day" | "operator", atMs: number): boolean {
    return this.sql.end.run(atMs, by).changes > 0;
  }

  /** Ended by an end of day and a day since; only when nothing is left to be taken over. */
  #isOver(row: Row): boolean {
    if (row["taken_over_at_ms"] === null || Number(row["ran_ms"]) < DOUBT_MIN_MS) return false;
    return this.sql.closed.get(Number(row["before_telecollection"])) !== undefined;
  }

  /** Records that are the same as `report`. */
  #told(report: TransactionReport): KnownRecord[] {
    const told = this.#records.sharingNumber(report, 0);
    return told.filter(({ record }) => compareReports(record, report) === "same");
  }

  #wasOfNoOrder(report: TransactionReport): boolean {
    const told = this.sql.all.all().flatMap(ofNoOrderIn);
    return told.some((one) => compareReports(one, report) === "same");
  }

  /** undefined: the journal has it as it is, or more of it. */
  #take(known: KnownOrder, before: Attempt | undefined, atMs: number): Attempt | undefined {
    const { transaction, reversed } = known;
    const id = transaction.transactionId;
    if (!before && this.sql.archived.get(id)) return undefined;
    const state = newerState(before?.state, known);
    if (state) this.#write(known, before, state);
    const open = openReturnOf(known);
    this.sql.returned.run(known.returnedMinor, open && JSON.stringify(open), id);
    const withdrawn = reversed ? 2 : 0;
    this.sql.handOff.run(id, JSON.stringify(transaction), known.state, withdrawn);
    if (!state) return undefined;
    const { state: delivery, returnedMinor } = known;
    const taken = { transaction, reversed, delivery, returnedMinor };
    const event = eventAt(atMs, { input: "taken-over", ...taken });
    this.#attempts.addEvent(id, stepOf(event, before?.state));
    return this.#attempts.read(id);
  }

  #write(known: KnownOrder, before: Attempt | undefined, state: Attempt["state"]): void {
    const { transactionId: id, approvedAtMs, ...given } = known.transaction;
    const sale = saleOf(state)?.report;
    const receipt = sale?.receiptNumber ?? null;
    const trace = sale?.traceNumber ?? null;
    const { phase } = state;
    const text = JSON.stringify(state);
    if (before) {
      this.sql.change.run(phase, text, approvedAtMs, receipt, trace, id);
      return;
    }
    const request = JSON.stringify(requestTakenOver(known));
    const { orderId, amountMinor, currency } = given;
    const order = [id, orderId, amountMinor, currency] as const;
    this.sql.insert.run(...order, phase, request, text, approvedAtMs, receipt, trace);
  }
}

/** Whether a later attempt can be of the same terminal; an imported one names none. */
function isBeside({ baseline }: Attempt, { baseline: earlier }: Attempt): boolean {
  return !baseline || !earlier || sameTerminal(baseline.identity, earlier.identity);
}

/** The terminal's own report that a payment was a charge, or that it reversed the charge. */
function ownWordOf(state: Attempt["state"]): TransactionReport | undefined {
  if (isCharged(state)) return state.by === "payment" ? state.report : undefined;
  return isReversed(state) ? state.report : undefined;
}

function ofNoOrderIn(row: Row): TransactionReport[] {
  return readJson(row["unmatched"]);
}
