import type { KnownOrder } from "../../shared/ipc/contract.ts";
import { eventAt, stepOf } from "../attempts/attempt-event.ts";
import {
  canBeToldTwice,
  compareReports,
  namesTrace,
  sameTerminal,
} from "../attempts/comparison-policy.ts";
import {
  canBeReversalOf,
  canBeSaleOf,
  canBeSettledSale,
  canHaveBeenTakenBack,
} from "../attempts/doubt-policy.ts";
import { canHaveLeft } from "../attempts/never-sent.ts";
import {
  type Attempt,
  type AttemptStep,
  endReportOf,
  isCharged,
  isReversed,
  saleOf,
} from "../attempts/payment.ts";
import { paymentEventOf } from "../attempts/payment-event.ts";
import { isInDoubt, isRunning } from "../attempts/phase-table.ts";
import { reversalBeganAtMs } from "../attempts/steps.ts";
import {
  DOUBT_MIN_MS,
  type DoubtEnd,
  type DoubtStore,
  type StoreDoubt,
  type TakenPage,
} from "../attempts/store-doubt.ts";
import { newerState, openReturnOf, requestTakenOver } from "../attempts/taken-over.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import { attemptColumns, readAttempt, readJson } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import type { EventRows } from "./event-rows.ts";
import type { Row, Statement, Statements } from "./statements.ts";

/** A terminal tells its last transaction only: an older attempt cannot have it. */
const ATTEMPTS_LOOKED_AT = 50;

const texts = {
  open: "SELECT * FROM store_doubt WHERE ended_at_ms IS NULL ORDER BY id LIMIT 1",
  all: "SELECT unmatched FROM store_doubt",
  // An end of day that was begun after the doubt has closed what the terminal had stored before.
  closed: `SELECT 1 FROM telecollection INDEXED BY telecollection_closing
    WHERE id >= ? AND json_extract(result, '$.end') = 'completed'
      AND (result IS NULL
        OR json_extract(result, '$.end') NOT IN ('refused', 'open-pre-authorisations'))
    LIMIT 1`,
  begin: `INSERT INTO store_doubt (since_ms, because, both, before_attempt,
      before_telecollection)
    VALUES (?, ?, ?, (SELECT coalesce(max(rowid), 0) + 1 FROM attempt),
      (SELECT coalesce(max(id), 0) + 1 FROM telecollection))`,
  add: `UPDATE store_doubt SET because = because || '; ' || ?1, both = max(both, ?2),
      since_ms = max(since_ms, ?3),
      taken_to = 0, taken_over_at_ms = NULL,
      before_attempt = (SELECT coalesce(max(rowid), 0) + 1 FROM attempt),
      before_telecollection = (SELECT coalesce(max(id), 0) + 1 FROM telecollection)
    WHERE ended_at_ms IS NULL`,
  moveTo: `UPDATE store_doubt SET taken_to = ?1, taken_over_at_ms = ?2 WHERE ended_at_ms IS NULL`,
  end: "UPDATE store_doubt SET ended_at_ms = ?, ended_by = ? WHERE ended_at_ms IS NULL",
  unmatched: "UPDATE store_doubt SET unmatched = ? WHERE ended_at_ms IS NULL",
  hasAttempts: "SELECT 1 FROM attempt WHERE baseline IS NOT NULL LIMIT 1",
  newest: `SELECT ${attemptColumns}, rowid AS position FROM attempt
    ORDER BY rowid DESC LIMIT ?`,
  strays: "SELECT report, unmatched FROM unexpected_report ORDER BY id DESC LIMIT ?",
  position: "SELECT rowid AS position FROM attempt WHERE transaction_id = ?",
  archived: "SELECT 1 FROM archived_order WHERE transaction_id = ?",
  insert: `INSERT INTO attempt (transaction_id, order_id, number, amount_minor, currency,
      generated_id, answer_delivered, phase, request, state, started_at_ms, ended_at_ms,
      receipt_number, trace_number)
    VALUES (?1, ?2, (SELECT coalesce(max(number), 0) + 1 FROM
        (SELECT number, order_id FROM attempt UNION ALL
         SELECT number, order_id FROM archived_order) WHERE order_id = ?2),
      ?3, ?4, 0, 1, ?5, ?6, ?7, ?8, ?8, ?9, ?10)`,
  change: `UPDATE attempt SET phase = ?, state = ?, ended_at_ms = ?, receipt_number = ?,
      trace_number = ? WHERE transaction_id = ?`,
  returned: `UPDATE attempt SET returned_minor = max(returned_minor, ?1),
      returned_some = max(returned_some, ?1 > 0), open_return = coalesce(open_return, ?2)
    WHERE transaction_id = ?3`,
  handOff: `INSERT INTO hand_off (transaction_id, body, acknowledged, delivery, withdrawn)
    VALUES (?1, ?2, 1, ?3, ?4)
    ON CONFLICT (transaction_id) DO UPDATE SET acknowledged = 1, delivery = ?3,
      withdrawn = max(withdrawn, ?4)`,
};

/** The journal's doubt about itself, and orders taken over from the supervisor. */
export class DoubtRows implements DoubtStore {
  readonly #sql: Record<keyof typeof texts, Statement>;
  readonly #events: EventRows;
  readonly #attempts: AttemptRows;

  constructor(statements: Statements, events: EventRows, attempts: AttemptRows) {
    this.#sql = statements.prepare("doubts", texts);
    this.#events = events;
    this.#attempts = attempts;
  }

  open(atMs: number): StoreDoubt | undefined {
    const row = this.#sql.open.kept();
    if (!row || this.#isOver(row, atMs)) return undefined;
    return {
      sinceMs: Number(row["since_ms"]),
      because: String(row["because"]),
      both: row["both"] === 1,
      isTakenOver: row["taken_over_at_ms"] !== null,
      // The taking over may have brought its order.
      unmatched: unmatchedOf(row).filter(
        (report) => report.originalTrace === null && this.#ownerOf(report) === undefined,
      ),
    };
  }

  concerns(transactionId: string): boolean {
    const doubt = this.#sql.open.get();
    const position = this.#sql.position.get(transactionId)?.["position"];
    // One in the archive was here long before.
    return doubt !== undefined && Number(position ?? 0) < Number(doubt["before_attempt"]);
  }

  begin(because: string, both: boolean, atMs: number): void {
    if (this.open(atMs)) this.#sql.add.run(because, both ? 1 : 0, atMs);
    else {
      this.end("end-of-day", atMs);
      this.#sql.begin.run(atMs, because, both ? 1 : 0);
    }
  }

  takenTo(): number {
    return Number(this.#sql.open.get()?.["taken_to"] ?? 0);
  }

  takeOver(orders: readonly KnownOrder[], page: TakenPage | null, atMs: number): void {
    this.#events.telling((tell) => {
      for (const known of orders) {
        const before = this.#attempts.read(known.transaction.transactionId);
        const after = this.#take(known, before, atMs);
        if (after) tell("payment", paymentEventOf(after), atMs);
      }
      if (page) this.#sql.moveTo.run(page.to, page.done ? atMs : null);
    });
  }

  knowsReport(report: TransactionReport, limitMs: number): boolean {
    if (this.#ownerOf(report) !== undefined) return true;
    const attempts = this.#sql.newest.all(ATTEMPTS_LOOKED_AT);
    if (attempts.some((row) => hasSeen(readAttempt(row), report))) return true;
    // An order that was lost may have made it as well as one of before the loss.
    const from = Number(this.#sql.open.get()?.["before_attempt"] ?? 0);
    const whole = attempts.filter((row) => Number(row["position"]) >= from).map(readAttempt);
    if (whole.some((attempt) => this.#mayHaveMade(attempt, report, limitMs))) return true;
    const strays = this.#sql.strays.all(ATTEMPTS_LOOKED_AT);
    const heard = strays.flatMap((row) => (row["unmatched"] === 1 ? [] : [reportOf(row)]));
    const told = this.#sql.all.all().flatMap(unmatchedOf);
    return [...heard, ...told].some((one) => compareReports(one, report) === "same");
  }

  tookBackLater(report: TransactionReport): boolean {
    const { good, originalTrace } = report;
    if (!good || originalTrace === null || this.#ownerOf(report) !== undefined) return false;
    const strays = this.#sql.strays.all(ATTEMPTS_LOOKED_AT).map(reportOf);
    const told = this.#sql.all.all().flatMap(unmatchedOf);
    if ([...strays, ...told].some((one) => isItOrItsSale(one, report))) return false;
    const attempts = this.#sql.newest.all(ATTEMPTS_LOOKED_AT).map(readAttempt);
    const place = attempts.findIndex((one) => ownWordOf(one.state) && this.#wasSent(one));
    const newest = attempts[place];
    const own = newest && ownWordOf(newest.state);
    if (!newest || !own || attempts.slice(0, place).some((one) => !isBeside(one, newest))) {
      return false;
    }
    // Orders that were taken over are later than that command, and their sales known.
    const since = attempts.slice(0, place).map(({ state }) => saleOf(state)?.report);
    if (since.some((one) => one && isItOrItsSale(one, report))) return false;
    // A second sale of that payment, for example, which the terminal was told to take back.
    const heard = attempts.slice(0, place + 1);
    const reports = heard.flatMap((one) => this.#attempts.events(one.transactionId));
    if (reports.flatMap(reportIn).some((one) => isItOrItsSale(one, report))) return false;
    // A payment that was not heard as charged, which the terminal took back by itself.
    const unheard = attempts.slice(0, place).filter((one) => this.#wasSent(one));
    if (unheard.some((one) => canHaveBeenTakenBack(one, report))) return false;
    // Traces begin again: only a greater one is certainly later.
    return own.traceNumber !== null && Number(originalTrace) > Number(own.traceNumber);
  }

  hasAttempts(): boolean {
    return this.#sql.hasAttempts.get() !== undefined;
  }

  addUnmatched(report: TransactionReport): void {
    const row = this.#sql.open.get();
    if (!row) return;
    const known = unmatchedOf(row);
    if (known.some((one) => compareReports(one, report) === "same")) return;
    this.#sql.unmatched.run(JSON.stringify([...known, report]));
  }

  end(by: DoubtEnd, atMs: number): boolean {
    return this.#sql.end.run(atMs, by).changes > 0;
  }

  /** Ended by an end of day and a day since; only when nothing is left to be taken over. */
  #isOver(row: Row, atMs: number): boolean {
    if (row["taken_over_at_ms"] === null) return false;
    // A wall clock that was set back makes the doubt longer.
    if (atMs - Number(row["since_ms"]) < DOUBT_MIN_MS) return false;
    return this.#sql.closed.get(Number(row["before_telecollection"])) !== undefined;
  }

  #ownerOf(report: TransactionReport): string | undefined {
    return this.#attempts.orderOfReport(report, "");
  }

  #wasSent(attempt: Attempt): boolean {
    return canHaveLeft(this.#attempts, attempt);
  }

  /** Whether an attempt that told nothing of it, or told it in another way, can have made it. */
  #mayHaveMade(attempt: Attempt, report: TransactionReport, limitMs: number): boolean {
    const { state, request, transactionId } = attempt;
    if (isRunning(state)) return request.amountMinor === report.amountMinor;
    if (isInDoubt(state)) {
      if (!("sale" in state)) return canBeSaleOf(attempt, state, report, limitMs);
      const sentAtMs = reversalBeganAtMs(this.#attempts.events(transactionId));
      return canBeReversalOf(state, report, { sentAtMs, limitMs });
    }
    const sale = saleOf(state);
    if (!sale) return false;
    // One that was taken over has no baseline, and its report is not the terminal's own.
    const isOwn = attempt.baseline !== null && canBeToldTwice(sale.report, report);
    return isOwn || canBeSettledSale(attempt, sale.report, report, limitMs);
  }

  /** undefined: the journal has it as it is, or more of it. */
  #take(known: KnownOrder, before: Attempt | undefined, atMs: number): Attempt | undefined {
    const { transaction, reversed } = known;
    const id = transaction.transactionId;
    if (!before && this.#sql.archived.get(id)) return undefined;
    const state = newerState(before?.state, known);
    if (state) this.#write(known, before, state);
    const open = openReturnOf(known);
    this.#sql.returned.run(known.returnedMinor, open && JSON.stringify(open), id);
    const withdrawn = reversed ? 2 : 0;
    this.#sql.handOff.run(id, JSON.stringify(transaction), known.state, withdrawn);
    if (!state) return undefined;
    const { state: delivery, returnedMinor } = known;
    const taken = { transaction, reversed, delivery, returnedMinor };
    const event = eventAt(atMs, { input: "taken-over", ...taken });
    this.#attempts.addStep(id, stepOf(event, before?.state));
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
      this.#sql.change.run(phase, text, approvedAtMs, receipt, trace, id);
      return;
    }
    const request = JSON.stringify(requestTakenOver(known));
    const { orderId, amountMinor, currency } = given;
    const order = [id, orderId, amountMinor, currency] as const;
    this.#sql.insert.run(...order, phase, request, text, approvedAtMs, receipt, trace);
  }
}

/** Whether a later attempt was made at the same terminal; one that was taken over tells of none. */
function isBeside({ baseline }: Attempt, { baseline: earlier }: Attempt): boolean {
  return !baseline || !earlier || sameTerminal(baseline.identity, earlier.identity);
}

/** The terminal's own word that a payment was a charge, or that the charge was taken back. */
function ownWordOf(state: Attempt["state"]): TransactionReport | undefined {
  if (isCharged(state)) return state.by === "payment" ? state.report : undefined;
  return isReversed(state) ? state.report : undefined;
}

function reportIn({ detail }: AttemptStep): TransactionReport[] {
  const { report } = detail as { readonly report?: TransactionReport };
  return report ? [report] : [];
}

/** The very reversal, or the sale that it took back. */
function isItOrItsSale(one: TransactionReport, reversal: TransactionReport): boolean {
  return (
    namesTrace(reversal.originalTrace, one.traceNumber) || compareReports(one, reversal) === "same"
  );
}

function unmatchedOf(row: Row): TransactionReport[] {
  return readJson(row["unmatched"]);
}

function reportOf(row: Row): TransactionReport {
  return readJson(row["report"]);
}

/** The attempt has told of it, or the terminal had told of it before the attempt. */
function hasSeen({ state, baseline }: Attempt, report: TransactionReport): boolean {
  const last = "last" in state ? state.last?.report : undefined;
  const seen = [endReportOf(state), last];
  if (baseline?.last.kind === "transaction") seen.push(baseline.last.report);
  return seen.some((one) => one && compareReports(one, report) === "same");
}
