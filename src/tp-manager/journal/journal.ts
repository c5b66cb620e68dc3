import type { SQLInputValue } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import {
  type Attempt,
  type AttemptEvent,
  type AttemptState,
  unfinishedPhases,
} from "../attempts/payment.ts";
import { paymentEventOf } from "../attempts/payment-event.ts";
import type {
  HandOffRow,
  ListedAttempt,
  ListPage,
  PaymentStore,
  PendingHandOff,
} from "../attempts/payment-store.ts";
import { sameReport } from "../attempts/recovery-policy.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";
import { archivedAttempts, archivedDelivery, listArchived } from "./archive.ts";
import { readAttempt, readJson, saleOf } from "./attempt-row.ts";
import { ReturnJournal } from "./return-journal.ts";
import { returnedSql, statusSql } from "./status-sql.ts";

type NewAttempt = Omit<
  Attempt,
  "number" | "ticket" | "returnedMinor" | "returnedSome" | "openReturn"
>;

/**
 * The payment journal in SQLite: implements {@link PaymentStore}. Every change is one transaction
 * that is synced to disk when the method returns.
 */
export class Journal extends ReturnJournal implements PaymentStore {
  /** Told every step of an attempt once it is on disk. Must not throw. */
  onStep: (attempt: Attempt, step: AttemptEvent) => void = () => {};

  latestAttempt(orderId: string): Attempt | undefined {
    const recent = this.#attemptOf(
      "SELECT * FROM attempt WHERE order_id = ? ORDER BY number DESC LIMIT 1",
      orderId,
    );
    return recent ?? archivedAttempts(this.database, orderId).at(-1);
  }

  attempts(orderId: string): Attempt[] {
    const recent = this.sql.all(
      "SELECT * FROM attempt WHERE order_id = ? ORDER BY number",
      orderId,
    );
    return [...archivedAttempts(this.database, orderId), ...recent.map(readAttempt)];
  }

  attempt(transactionId: string): Attempt | undefined {
    return this.#attemptOf("SELECT * FROM attempt WHERE transaction_id = ?", transactionId);
  }

  events(transactionId: string): AttemptEvent[] {
    return this.sql
      .all("SELECT * FROM attempt_event WHERE transaction_id = ? ORDER BY id", transactionId)
      .map((row) => ({
        atMs: Number(row["at_ms"]),
        kind: String(row["kind"]),
        detail: readJson(row["detail"]),
      }));
  }

  begin({ baseline, ...attempt }: Parameters<PaymentStore["begin"]>[0]): Attempt {
    const state: AttemptState = { phase: "sent", last: null, goods: null };
    return this.#insert({ ...attempt, state, baseline, endedAtMs: null });
  }

  recordFailure(attempt: Parameters<PaymentStore["recordFailure"]>[0]): Attempt {
    return this.#insert({ ...attempt, baseline: null, endedAtMs: attempt.startedAtMs });
  }

  update(transactionId: string, change: Parameters<PaymentStore["update"]>[1]): Attempt {
    const { state, event, ticket, handOff, withdraw } = change;
    const attempt = this.telling((tell) => {
      const before = this.#mustRead(transactionId);
      const report = saleOf(state);
      const ended = !(unfinishedPhases as readonly string[]).includes(state.phase);
      const { changes } = this.sql.run(
        `UPDATE attempt SET phase = ?, state = ?, ticket = coalesce(?, ticket), ended_at_ms = ?,
           receipt_number = ?, trace_number = ? WHERE transaction_id = ? AND phase = ?
           AND (?1 <> 'reversing' OR (open_return IS NULL AND ${returnedSql} = 0))`,
        state.phase,
        JSON.stringify(state),
        ticket ?? null,
        ended ? event.atMs : null,
        report?.receiptNumber ?? null,
        report?.traceNumber ?? null,
        transactionId,
        change.from,
      );
      invariant(changes === 1, `attempt ${transactionId} is not ${change.from} in the journal`);
      this.addEvent(transactionId, event);
      if (handOff) {
        this.sql.run(
          "INSERT INTO hand_off (transaction_id, body) VALUES (?, ?)",
          transactionId,
          JSON.stringify(handOff),
        );
      }
      if (withdraw) {
        this.sql.run("UPDATE hand_off SET withdrawn = 1 WHERE transaction_id = ?", transactionId);
      }
      const after = this.#mustRead(transactionId);
      const data = paymentEventOf(after);
      if (!isDeepStrictEqual(data, paymentEventOf(before))) tell("payment", data, event.atMs);
      return after;
    });
    this.onStep(attempt, event);
    return attempt;
  }

  addEvent(transactionId: string, { atMs, kind, detail }: AttemptEvent): void {
    this.sql.run(
      "INSERT INTO attempt_event (transaction_id, at_ms, kind, detail) VALUES (?, ?, ?, ?)",
      transactionId,
      atMs,
      kind,
      JSON.stringify(detail),
    );
  }

  listArchived(page: ListPage): ListedAttempt[] {
    return listArchived(this.database, page);
  }

  list({ sinceMs, status, limit, before }: ListPage): ListedAttempt[] {
    return this.sql
      .all(
        `SELECT attempt.*, attempt.rowid AS position, hand_off.delivery AS delivery
       FROM attempt LEFT JOIN hand_off USING (transaction_id)
       WHERE started_at_ms >= ? AND attempt.rowid < ? AND (${status ? statusSql[status] : "TRUE"})
       ORDER BY attempt.rowid DESC LIMIT ?`,
        sinceMs,
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      )
      .map((row) => ({
        attempt: readAttempt(row),
        delivery: row["delivery"] as DeliveryState | null,
        position: Number(row["position"]),
      }));
  }

  unfinished(): Attempt[] {
    return this.sql
      .all(
        `SELECT * FROM attempt
       WHERE phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt')
       ORDER BY rowid`,
      )
      .map(readAttempt);
  }

  orderOfReport(report: TransactionReport, except: string): string | undefined {
    return this.sql
      .all(
        `SELECT * FROM attempt WHERE receipt_number = ? AND trace_number IS ?
         AND transaction_id <> ?`,
        report.receiptNumber,
        report.traceNumber,
        except,
      )
      .map(readAttempt)
      .find(({ state }) => {
        const sale = saleOf(state);
        return sale !== undefined && sameReport(sale, report);
      })?.request.orderId;
  }

  /** In the order of insertion: a wall clock can jump. */
  nextBaseline(transactionId: string): Baseline | undefined {
    const row = this.sql.get(
      `SELECT baseline FROM attempt WHERE baseline IS NOT NULL
         AND rowid > (SELECT rowid FROM attempt WHERE transaction_id = ?)
       ORDER BY rowid LIMIT 1`,
      transactionId,
    );
    return row && readJson(row["baseline"]);
  }

  handOff(transactionId: string): HandOffRow | undefined {
    const row = this.sql.get("SELECT * FROM hand_off WHERE transaction_id = ?", transactionId);
    return (
      row && {
        transaction: readJson(row["body"]),
        acknowledged: row["acknowledged"] === 1,
        delivery: row["delivery"] as DeliveryState,
      }
    );
  }

  archivedDelivery(transactionId: string): DeliveryState | null {
    return archivedDelivery(this.database, transactionId);
  }

  pendingHandOffs(limit: number): PendingHandOff[] {
    return this.sql
      .all(
        `SELECT body, withdrawn FROM hand_off WHERE acknowledged = 0 OR withdrawn = 1
       ORDER BY id LIMIT ?`,
        limit,
      )
      .map((row) => ({
        what: row["withdrawn"] === 1 ? "reversed" : "charged",
        transaction: readJson<Transaction>(row["body"]),
      }));
  }

  /** For the status line. */
  countPendingHandOffs(): number {
    return Number(
      this.sql.get("SELECT count(*) AS n FROM hand_off WHERE acknowledged = 0 OR withdrawn = 1")?.[
        "n"
      ],
    );
  }

  countInDoubt(): number {
    const sql = "SELECT count(*) AS n FROM attempt WHERE phase IN ('in-doubt','reversal-in-doubt')";
    return Number(this.sql.get(sql)?.["n"]);
  }

  acknowledgeHandOff(transactionId: string): void {
    this.sql.run("UPDATE hand_off SET acknowledged = 1 WHERE transaction_id = ?", transactionId);
  }

  acknowledgeWithdrawal(transactionId: string): void {
    this.sql.run(
      "UPDATE hand_off SET acknowledged = 1, withdrawn = 2 WHERE transaction_id = ?",
      transactionId,
    );
  }

  setDelivery(transactionId: string, delivery: DeliveryState, atMs: number): void {
    this.telling((tell) => {
      const { changes } = this.sql.run(
        "UPDATE hand_off SET delivery = ? WHERE transaction_id = ? AND delivery <> ?",
        delivery,
        transactionId,
        delivery,
      );
      if (changes === 0) return;
      const { orderId } = this.#mustRead(transactionId).request;
      const notificationGatewaySent = delivery === "sent";
      tell("delivery", { orderId, transactionId, delivery, notificationGatewaySent }, atMs);
    });
  }

  undelivered(limit: number): string[] {
    return this.sql
      .all(
        `SELECT transaction_id FROM hand_off
       WHERE acknowledged = 1 AND delivery IN ('pending', 'parked')
       ORDER BY delivery = 'parked', id DESC LIMIT ?`,
        limit,
      )
      .map((row) => String(row["transaction_id"]));
  }

  undeliveredGenerated(amountMinor: number, currencyAlpha: string): string | undefined {
    const row = this.sql.get(
      `SELECT order_id FROM attempt WHERE generated_id = 1 AND answer_delivered = 0
         AND phase <> 'not-charged' AND amount_minor = ? AND currency = ? LIMIT 1`,
      amountMinor,
      currencyAlpha,
    );
    return row && String(row["order_id"]);
  }

  markAnswerDelivered(orderId: string): void {
    this.sql.run(
      "UPDATE attempt SET answer_delivered = 1 WHERE order_id = ? AND answer_delivered = 0",
      orderId,
    );
  }

  #insert(attempt: NewAttempt): Attempt {
    return this.telling((tell) => {
      this.#insertRow(attempt);
      const inserted = this.#mustRead(attempt.transactionId);
      tell("payment", paymentEventOf(inserted), attempt.startedAtMs);
      return inserted;
    });
  }

  #insertRow(attempt: NewAttempt): void {
    const { request, state } = attempt;
    this.sql.run(
      `INSERT INTO attempt (transaction_id, order_id, number, amount_minor, currency, generated_id,
         phase, request, state, baseline, started_at_ms, ended_at_ms, after_telecollection)
       VALUES (?1, ?2, (SELECT coalesce(max(number), 0) + 1 FROM
           (SELECT number, order_id FROM attempt UNION ALL
            SELECT number, order_id FROM archived_order) WHERE order_id = ?2),
         ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
         (SELECT coalesce(max(id), 0) FROM telecollection))`,
      attempt.transactionId,
      request.orderId,
      request.amountMinor,
      request.currency.alpha,
      request.generatedId ? 1 : 0,
      state.phase,
      JSON.stringify(request),
      JSON.stringify(state),
      attempt.baseline && JSON.stringify(attempt.baseline),
      attempt.startedAtMs,
      attempt.endedAtMs,
    );
  }

  #mustRead(transactionId: string): Attempt {
    const attempt = this.attempt(transactionId);
    invariant(attempt, `attempt ${transactionId} is not in the journal`);
    return attempt;
  }

  #attemptOf(sql: string, ...values: SQLInputValue[]): Attempt | undefined {
    const row = this.sql.get(sql, ...values);
    return row && readAttempt(row);
  }
}
