import type { KnownOrder } from "../../shared/ipc/contract.ts";
import { eventAt, stepOf } from "../attempts/attempt-event.ts";
import { compareReports, sameTerminal } from "../attempts/comparison.ts";
import { type Attempt, isCharged, isReversed, saleOf } from "../attempts/payment.ts";
import { paymentEventOf } from "../attempts/phase-table.ts";
import { importedRequest, newerState, openReturnOf } from "../attempts/rebuilt-attempt.ts";
import { askedOf } from "../matching/facts.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import { nextNumber, readJson } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import { type Row, rows } from "./database/statements.ts";
import type { EventRows } from "./event-rows.ts";
import type { KnownRecord, RecordRows } from "./record-rows.ts";
import { closings, mayHaveClosed } from "./terminal-rows.ts";

/** A state in which the journal may lack payments, because it was lost or is an older copy. */
export type JournalGap = NonNullable<ReturnType<GapRows["open"]>>;

/**
 * How long the program has to run before a journal gap is closed without an operator: a kiosk
 * repeats only orders of the same day. Running time counts, because the wall clock can be set.
 */
const GAP_MIN_MS = 24 * 3_600_000;

/** The SQL for the numbers of the next attempt and of the next end of day. */
const nextAttempt = "(SELECT coalesce(max(rowid), 0) + 1 FROM attempt)";
const nextClosing = "(SELECT coalesce(max(id), 0) + 1 FROM telecollection)";

/**
 * Stores the journal gap, and the orders imported from the supervisor
 * (docs/rules/34-journal-gap.md). An operator closes the gap, or it is closed when the orders are
 * imported, an end of day began after the loss, and the program ran {@link GAP_MIN_MS} since it.
 */
export class GapRows extends rows("gaps", {
  open: "SELECT * FROM store_doubt WHERE ended_at_ms IS NULL ORDER BY id LIMIT 1",
  all: "SELECT unmatched FROM store_doubt",
  // An end of day after the loss counts: it has emptied the terminal's storage of older sales.
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
  // An attempt without a row in `attempt` is archived, so it is older than the journal gap.
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
      withdrawn = iif(?4 = 0, withdrawn, 2)`,
  isToRestore: `SELECT 1 FROM hand_off
    WHERE transaction_id = ? AND withdrawn = -1 AND acknowledged = 0`,
})<{ events: EventRows; attempts: AttemptRows; records: RecordRows }> {
  /** Returns the journal gap that is open; undefined when the journal has no gap. */
  open() {
    const row = this.sql.open.kept();
    if (!row || this.#isOver(row)) return undefined;
    return {
      /** The time of the last loss, in epoch milliseconds. */
      sinceMs: Number(row["since_ms"]),
      because: String(row["because"]),
      /** Whether the supervisor's database, too, may lack payments. */
      both: row["both"] === 1,
      /** Whether every order that the supervisor knows has been imported into the journal. */
      isImported: row["taken_over_at_ms"] !== null,
      /** The sales in the terminal's storage that are of no order in the journal. */
      ofNoOrder: ofNoOrderIn(row).filter(
        (report) =>
          report.originalTrace === null &&
          // A sale of no order is left out once its order has been imported.
          this.#recordsLike(report).every(({ transactionId }) => transactionId === null),
      ),
    };
  }

  /** Whether an attempt began before the open journal gap, by its row id and not by the clock. */
  concerns(transactionId: string): boolean {
    return this.sql.concerns.get(transactionId) !== undefined;
  }

  /** Opens a journal gap, or adds another loss of data to the open gap. */
  begin(because: string, both: boolean, atMs: number): void {
    if (this.open()) this.sql.add.run(because, both ? 1 : 0, atMs);
    else {
      this.end("end-of-day", atMs);
      this.sql.begin.run(atMs, because, both ? 1 : 0);
    }
  }

  /** Adds to the time that the program has run since the open gap began. */
  ran(ms: number): void {
    this.sql.ran.run(ms);
  }

  /** Returns the position up to which the supervisor's orders are imported; 0 without a gap. */
  importedTo(): number {
    return Number(this.sql.open.get()?.["taken_to"] ?? 0);
  }

  /** Imports orders, even known ones. `page`: how far the import has come. */
  importOrders(
    orders: readonly KnownOrder[],
    page: { readonly to: number; readonly done: boolean } | null,
    atMs: number,
  ): void {
    this.parts.events.commit((emit) => {
      for (const known of orders) {
        const before = this.parts.attempts.read(known.transaction.transactionId);
        const after = this.#take(known, before, atMs);
        if (after) emit("payment", paymentEventOf(after), atMs);
      }
      if (page) this.sql.moveTo.run(page.to, page.done ? atMs : null);
    });
  }

  /**
   * Whether the journal knows a transaction of the terminal: as an attempt's own, as an attempt's
   * baseline, as an unmatched one, or as one of no order that a journal gap lists.
   */
  knowsReport(report: TransactionReport): boolean {
    // Usually the report is of the newest attempt, which is found without a search.
    const [newest] = this.parts.records.sent();
    const own = newest && ownReportOf(newest.state);
    if (own && compareReports(own, report) === "same") return true;
    const isKnown = this.#recordsLike(report).some(({ source }) => source !== "of-no-order");
    return isKnown || this.#wasOfNoOrder(report);
  }

  /**
   * Whether the terminal reversed a sale that is newer than the journal's newest transaction. This
   * proves that the journal lost the sale, unless a later attempt can have made it.
   */
  tookBackLater(report: TransactionReport): boolean {
    const { good, originalTrace } = report;
    if (!good || originalTrace === null) return false;
    // A known record proves no loss, for example a second sale in a payment, which was reversed.
    const isKnown =
      this.#recordsLike(report).length > 0 ||
      this.parts.records.sharingTrace(originalTrace).length > 0;
    if (isKnown || this.#wasOfNoOrder(report)) return false;
    const since: Attempt[] = [];
    for (const attempt of this.parts.records.sent()) {
      const own = ownReportOf(attempt.state);
      if (!own || !this.parts.attempts.canHaveLeft(attempt)) {
        since.push(attempt);
        continue;
      }
      // The search ends at an attempt at another terminal; an imported attempt names no terminal.
      const isElsewhere = since.some(
        ({ baseline: its }) =>
          its && attempt.baseline && !sameTerminal(its.identity, attempt.baseline.identity),
      );
      if (isElsewhere) return false;
      // No loss is proven if a payment without a report can be the one that was reversed.
      const unheard = since.filter((one) => this.parts.attempts.canHaveLeft(one));
      if (unheard.some((one) => canHaveBeenTakenBack(one, report))) return false;
      // Trace numbers restart at times, so only a greater trace number is certainly a later one.
      return own.traceNumber !== null && Number(originalTrace) > Number(own.traceNumber);
    }
    return false;
  }

  /** Notes a transaction of no order in the gap: a later reversal of it then blocks no sale. */
  addOfNoOrder(report: TransactionReport): void {
    const row = this.sql.open.get();
    if (!row) return;
    const known = ofNoOrderIn(row);
    if (isAmong(report, known)) return;
    this.sql.ofNoOrder.run(JSON.stringify([...known, report]));
  }

  /** Closes the gap. Returns false if no gap is open. */
  end(by: "end-of-day" | "operator", atMs: number): boolean {
    return this.sql.end.run(atMs, by).changes > 0;
  }

  #isOver(row: Row): boolean {
    if (row["taken_over_at_ms"] === null || Number(row["ran_ms"]) < GAP_MIN_MS) return false;
    return this.sql.closed.get(Number(row["before_telecollection"])) !== undefined;
  }

  #recordsLike(report: TransactionReport): KnownRecord[] {
    const sharing = this.parts.records.sharingNumber(report, 0);
    return sharing.filter(({ record }) => compareReports(record, report) === "same");
  }

  #wasOfNoOrder(report: TransactionReport): boolean {
    return isAmong(report, this.sql.all.all().flatMap(ofNoOrderIn));
  }

  /** Imports an order. Returns its attempt, or undefined if the attempt's state did not change. */
  #take(known: KnownOrder, before: Attempt | undefined, atMs: number): Attempt | undefined {
    const { transaction, reversed } = known;
    const id = transaction.transactionId;
    if (!before && this.sql.archived.get(id)) return undefined;
    // The supervisor does not know yet that the sale it has withdrawn is charged after all.
    const isToRestore = this.sql.isToRestore.get(id) !== undefined;
    const state = isToRestore ? undefined : newerState(before?.state, known);
    if (state) this.#write(known, before, state);
    const open = openReturnOf(known);
    this.sql.returned.run(known.returnedMinor, open && JSON.stringify(open), id);
    if (isToRestore) return undefined;
    this.sql.handOff.run(id, JSON.stringify(transaction), known.state, reversed ? 2 : 0);
    if (!state) return undefined;
    const { state: delivery, returnedMinor } = known;
    const taken = { transaction, reversed, delivery, returnedMinor };
    const event = eventAt(atMs, { input: "imported", ...taken });
    this.parts.attempts.addEvent(id, stepOf(event, before?.state));
    return this.parts.attempts.read(id);
  }

  #write(known: KnownOrder, before: Attempt | undefined, state: Attempt["state"]): void {
    const { transactionId: id, approvedAtMs, ...given } = known.transaction;
    const { receiptNumber = null, traceNumber = null } = saleOf(state)?.report ?? {};
    const rest = [JSON.stringify(state), approvedAtMs, receiptNumber, traceNumber] as const;
    if (before) {
      this.sql.change.run(state.phase, ...rest, id);
      return;
    }
    const order = [id, given.orderId, given.amountMinor, given.currency] as const;
    this.sql.insert.run(...order, state.phase, JSON.stringify(importedRequest(known)), ...rest);
  }
}

function isAmong(report: TransactionReport, known: readonly TransactionReport[]): boolean {
  return known.some((one) => compareReports(one, report) === "same");
}

/** Returns the report of a charge within its payment, or of a reversal; otherwise undefined. */
function ownReportOf(state: Attempt["state"]): TransactionReport | undefined {
  if (isCharged(state)) return state.by === "payment" ? state.report : undefined;
  return isReversed(state) ? state.report : undefined;
}

function ofNoOrderIn(row: Row): TransactionReport[] {
  return readJson(row["unmatched"]);
}

/** Whether the sale that a payment may have made is a candidate for a reversal of the amount. */
function canHaveBeenTakenBack(
  attempt: Attempt,
  { amountMinor }: Pick<TransactionReport, "amountMinor">,
): boolean {
  return amountMinor === null || askedOf(attempt, 0).amountsMinor.includes(amountMinor);
}
