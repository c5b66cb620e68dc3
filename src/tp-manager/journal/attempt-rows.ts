import { isDeepStrictEqual } from "node:util";
import { invariant } from "../../shared/invariant.ts";
import type { Transaction } from "../../shared/transaction.ts";
import {
  type Attempt,
  type AttemptPhase,
  type AttemptState,
  type AttemptStep,
  begun,
  isCharged,
  isNeverSent,
  isNotCharged,
  isUnconfirmed,
  isWithoutGoods,
  type NotCharged,
  notCharged,
  REVERSAL_BEGINS,
  reportSteps,
  saleOf,
} from "../attempts/payment.ts";
import { chargedOf, paymentEventOf, phaseTable } from "../attempts/phase-table.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";
import type { Archive } from "./archive.ts";
import {
  attemptColumns,
  type ListedAttempt,
  type ListPage,
  listedIn,
  listedOf,
  listings,
  nextNumber,
  phaseIn,
  readAttempt,
  readJson,
  returnedSql,
  unfinishedSql,
} from "./attempt-columns.ts";
import { type Row, rows } from "./database/statements.ts";
import type { EventRows } from "./event-rows.ts";
import type { HandOffRows } from "./hand-off-rows.ts";

/** The most attempts and events since a sale that are read before the sale is reversed. */
const LATER_MAX = 5_000;
/** The number of ids in one page. LAST_ID sorts after every transaction id. */
const IDS = 500;
const LAST_ID = "~";
const PAGE = 50;
const NEVER = Number.MAX_SAFE_INTEGER;

/** The SQL condition that an update begins the reversal of a charge (docs/rules/07-returns.md). */
const isReserving = `(${phaseIn(({ charged }) => charged === "yes")}
  AND ${phaseIn(({ open }) => open === "running", "?1")})`;

const listed = listings(
  "attempt",
  "attempt_status",
  (page) => `SELECT ${attemptColumns}, page.position AS position, hand_off.delivery AS delivery
    FROM (${page}) AS page CROSS JOIN attempt ON attempt.rowid = page.position
      LEFT JOIN hand_off USING (transaction_id)`,
);

/** A result that the terminal reported, and the attempt whose command it answered. */
export interface ReportedResult {
  readonly transactionId: string;
  readonly report: TransactionReport;
}

type Begun = Pick<Attempt, "transactionId" | "request" | "startedAtMs">;

/** A new state of an attempt, and all that is written with the state in one transaction. */
interface Change {
  /** The phase that the attempt must have before the change; otherwise `update` throws. */
  readonly from: AttemptPhase;
  readonly state: AttemptState;
  readonly steps: readonly AttemptStep[];
  readonly ticket?: string | undefined;
  readonly handOff?: Transaction | undefined;
  /** Whether the sale was reversed and must not reach the gateway. */
  readonly withdraw?: boolean;
  /** What the gateway has paid back in all, in minor units; missing: nothing new is known. */
  readonly returnedMinor?: number | undefined;
}

/** The attempt that was written last, cached because a payment reads it at each step. */
interface Known {
  readonly attempt: Attempt;
  /** The row id of the attempt if it is the newest attempt; null if a newer one may exist. */
  readonly position: number | null;
  /** The number of writes to the tables so far; the cache is stale after any later write. */
  readonly stamp: number;
}

/**
 * Stores attempts and their events. As everywhere in the journal, a change is one commit, which is
 * on disk when the method returns; the method throws when the change could not be written. Methods
 * are synchronous, so that nothing else can run between a decision and its record.
 */
export class AttemptRows extends rows("attempts", {
  latest: `SELECT ${attemptColumns} FROM attempt WHERE order_id = ?
    ORDER BY number DESC LIMIT 1`,
  ofOrder: `SELECT ${attemptColumns} FROM attempt WHERE order_id = ? ORDER BY number`,
  read: `SELECT ${attemptColumns} FROM attempt WHERE transaction_id = ?`,
  orderOf: `SELECT order_id FROM attempt WHERE transaction_id = ?1
    UNION ALL SELECT order_id FROM archived_order WHERE transaction_id = ?1`,
  events: "SELECT * FROM attempt_event WHERE transaction_id = ? ORDER BY id",
  addEvent: `INSERT INTO attempt_event (transaction_id, at_ms, kind, detail, input)
    VALUES (?, ?, ?, ?, ?)`,
  insert: `INSERT INTO attempt (transaction_id, order_id, number, amount_minor, currency,
      generated_id, phase, request, state, baseline, started_at_ms, ended_at_ms,
      after_telecollection)
    VALUES (?1, ?2, ${nextNumber("?2")}, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
      (SELECT coalesce(max(id), 0) FROM telecollection))
    RETURNING number, rowid AS position`,
  update: `UPDATE attempt SET phase = ?, state = ?, ticket = coalesce(?, ticket),
      ended_at_ms = iif(phase = ?1, ended_at_ms, ?), receipt_number = ?, trace_number = ?,
      unread_since_ms = coalesce(?, unread_since_ms),
      notified_return_minor = max(notified_return_minor, ?)
    WHERE transaction_id = ? AND phase = ?
      AND (NOT ${isReserving} OR (open_return IS NULL AND ${returnedSql} = 0))`,
  // Sets only the columns that change, because SQLite rewrites the index of each column set.
  updateInPhase: `UPDATE attempt SET state = ?, ticket = coalesce(?, ticket)
    WHERE transaction_id = ? AND phase = ?`,
  unfinished: `SELECT ${attemptColumns} FROM attempt WHERE ${unfinishedSql} ORDER BY rowid`,
  countInDoubt: `SELECT count(*) AS n FROM attempt
    WHERE ${unfinishedSql} AND ${phaseIn(({ open }) => open === "doubt")}`,
  later: `SELECT ${attemptColumns} FROM attempt
    WHERE rowid > (SELECT rowid FROM attempt WHERE transaction_id = ?)
    ORDER BY rowid LIMIT ?`,
  // Sorted by row id and not by time, because the wall clock can be set back.
  newest: `SELECT ${attemptColumns}, attempt.rowid AS position, hand_off.delivery AS delivery
    FROM attempt LEFT JOIN hand_off USING (transaction_id)
    WHERE attempt.rowid < ? ORDER BY attempt.rowid DESC LIMIT ?`,
  newestAlone: `SELECT ${attemptColumns}, rowid AS position FROM attempt WHERE rowid < ?
    ORDER BY rowid DESC LIMIT ?`,
  // Transaction ids begin with their time, so the newest ids are found in their index.
  ids: `SELECT transaction_id FROM attempt WHERE transaction_id < ?
    ORDER BY transaction_id DESC LIMIT ?`,
  startOf: "SELECT started_at_ms FROM attempt WHERE rowid >= ? ORDER BY rowid LIMIT 1",
  laterEvents: `SELECT * FROM attempt_event WHERE id >
      (SELECT min(id) FROM attempt_event WHERE transaction_id = ?)
    ORDER BY id LIMIT ?`,
})<{ events: EventRows; handOffs: HandOffRows; archive: Archive }> {
  readonly #listed = this.statements.add("attempts listed", listed);
  #known: Known | undefined;
  /** The attempt that runs after a request for it was answered without the outcome. */
  unanswered: string | undefined;
  /** Called with every event of an attempt when the event is on disk. Must not throw. */
  onStep: (attempt: Attempt, step: AttemptStep) => void = () => {};

  /**
   * Returns the attempt that decides an order's status: the newest one, or an earlier one that is
   * charged, in doubt, or not charged with goods that may be out, if the newer attempts charged
   * nothing (docs/rules/19-late.md). Returns undefined for an unknown order.
   */
  decisive(orderId: string): Attempt | undefined {
    const recent = this.sql.latest.kept(orderId);
    if (!recent) return speaksFor(this.parts.archive.ofOrder(orderId));
    const newest = readAttempt(recent);
    const isRepeated = newest.number > 1 && chargedOf(newest) === "no";
    return isRepeated ? speaksFor(this.ofOrder(orderId)) : newest;
  }

  /** Returns every attempt of an order, oldest first. */
  ofOrder(orderId: string): Attempt[] {
    const recent = this.sql.ofOrder.all(orderId);
    return [...this.parts.archive.ofOrder(orderId), ...recent.map(readAttempt)];
  }

  read(transactionId: string): Attempt | undefined {
    const known = this.#knownNow();
    if (known?.attempt.transactionId === transactionId) return known.attempt;
    const row = this.sql.read.get(transactionId);
    return row && readAttempt(row);
  }

  /** Whether the terminal can have received a command of this attempt. */
  canHaveLeft({ transactionId, baseline }: Attempt): boolean {
    return baseline !== null && !isNeverSent(this.events(transactionId));
  }

  /** Whether an attempt was approved or charged, so that its goods can have come out. */
  hadGoods({ transactionId, state }: Attempt): boolean {
    if (saleOf(state) || isWithoutGoods(state)) return true;
    return this.events(transactionId).some(({ kind }) => kind === "approved");
  }

  /** Returns the order id of an attempt, even of an archived one. */
  orderOf(transactionId: string): string | undefined {
    const row = this.sql.orderOf.get(transactionId);
    return row && String(row["order_id"]);
  }

  events(transactionId: string): AttemptStep[] {
    return this.sql.events.all(transactionId).map((row) => ({
      atMs: Number(row["at_ms"]),
      kind: String(row["kind"]),
      detail: readJson(row["detail"]),
      ...(row["input"] === null ? {} : { input: readJson(row["input"]) }),
    }));
  }

  /** Writes the write-ahead record of a payment: an attempt in the phase "sent". */
  begin({ limitMs, ...attempt }: Begun & { baseline: Baseline; limitMs?: number | undefined }) {
    this.statements.proof.assertKept();
    return this.#insert({ ...attempt, state: begun, endedAtMs: null }, limitMs);
  }

  /** Writes an attempt that failed before its financial command could be sent. */
  recordFailure({ outcome, ...attempt }: Begun & { outcome: NotCharged }): Attempt {
    const state = notCharged(outcome);
    return this.#insert({ ...attempt, state, baseline: null, endedAtMs: attempt.startedAtMs });
  }

  /**
   * Writes a new state with the events that led to it. The same transaction writes the hand-off of
   * an attempt that became charged, or the withdrawal of an attempt that was reversed.
   */
  update(transactionId: string, change: Change): Attempt {
    const { state, steps, ticket, handOff, withdraw } = change;
    const last = steps.at(-1);
    invariant(last, "there is a step to be written");
    const { atMs } = last;
    const known = this.#knownNow();
    const [attempt, stamp] = this.parts.events.commit((emit) => {
      const before = this.#mustRead(transactionId);
      // What comes after the end, and leaves the phase as it is, does not end the attempt again.
      const endMs = before.state.phase === state.phase ? before.endedAtMs : atMs;
      const endedAtMs = phaseTable[state.phase].open === null ? endMs : null;
      const changes = this.#updateRow(before, change, atMs);
      invariant(changes === 1, `attempt ${transactionId} is not ${change.from} in the journal`);
      for (const step of steps) this.addEvent(transactionId, step);
      if (handOff) this.parts.handOffs.add(transactionId, handOff);
      if (withdraw) this.parts.handOffs.withdraw(transactionId);
      const returnedMinor = Math.max(before.returnedMinor, change.returnedMinor ?? 0);
      const returns = { returnedMinor, returnedSome: before.returnedSome || returnedMinor > 0 };
      const end = { state, endedAtMs, ticket: ticket ?? before.ticket };
      const after = { ...before, ...returns, ...end };
      const data = paymentEventOf(after);
      if (!isDeepStrictEqual(data, paymentEventOf(before))) emit("payment", data, atMs);
      return [after, this.sql.read.stamp] as const;
    });
    const isNewest = known?.attempt.transactionId === transactionId;
    this.#known = { attempt, position: isNewest ? known.position : null, stamp };
    for (const step of steps) this.onStep(attempt, step);
    return attempt;
  }

  /** Returns 1; 0 if the phase was not `change.from`, or a refund prevents the reversal. */
  #updateRow({ transactionId, state: before }: Attempt, change: Change, atMs: number) {
    const { state, ticket = null, from } = change;
    const sale = saleOf(state);
    const text = JSON.stringify(state);
    const isOpen = phaseTable[state.phase].open !== null;
    if (isOpen && state.phase === from && !sale) {
      return this.sql.updateInPhase.run(text, ticket, transactionId, from).changes;
    }
    // The same commit says that the kiosk has not read the charge (docs/rules/11-unread.md).
    const by = isCharged(state) && !saleOf(before) ? state.by : null;
    const isUnread = by === "recovery" || (by === "payment" && transactionId === this.unanswered);
    return this.sql.update.run(
      state.phase,
      text,
      ticket,
      isOpen ? null : atMs,
      sale?.report.receiptNumber ?? null,
      sale?.report.traceNumber ?? null,
      isUnread ? atMs : null,
      change.returnedMinor ?? 0,
      transactionId,
      from,
    ).changes;
  }

  addEvent(transactionId: string, { atMs, kind, detail, input }: AttemptStep): void {
    const kept = input === undefined ? null : JSON.stringify(input);
    this.sql.addEvent.run(transactionId, atMs, kind, JSON.stringify(detail), kept);
  }

  /**
   * Returns a page of attempts, newest first; `before` continues after the previous page. A page
   * with a filter is sorted by start time, which jumps with the clock, any other page by row id.
   */
  list(page: ListPage): ListedAttempt[] {
    const { sinceMs, untilMs, status, limit, before } = page;
    const isAll = status === null && sinceMs === 0 && untilMs === undefined;
    // If the attempt at `before` was archived meanwhile, the page begins at the next newer one.
    const rows = isAll
      ? this.sql.newest.all(before ?? NEVER, limit)
      : listedIn(this.#listed, this.sql.startOf, page);
    return rows.map((row) => listedOf(row));
  }

  newestRow() {
    const known = this.#knownNow();
    if (known?.position) return { attempt: known.attempt, position: known.position };
    const [row] = this.sql.newestAlone.all(NEVER, 1);
    return row && listedOf(row);
  }

  /** Yields all attempts, newest first, and reads only those that the caller uses. */
  *newest(): Generator<Attempt, void> {
    const newest = this.newestRow();
    if (!newest) return;
    yield newest.attempt;
    for (const row of this.sql.newestAlone.pages("position", newest.position, PAGE)) {
      yield readAttempt(row);
    }
  }

  /** Yields the ids of all attempts, newest first, and reads only those that the caller uses. */
  *ids(): Generator<string, void> {
    for (const row of this.sql.ids.pages("transaction_id", LAST_ID, IDS)) {
      yield String(row["transaction_id"]);
    }
  }

  /** Returns the attempts that have not ended, oldest first. */
  unfinished(): Attempt[] {
    return this.sql.unfinished.all().map(readAttempt);
  }

  countInDoubt(): number {
    return Number(this.sql.countInDoubt.get()?.["n"]);
  }

  /** Returns the attempts since a sale (docs/rules/16-fresh.md); undefined: too many to read. */
  since(transactionId: string) {
    const later = this.sql.later.all(transactionId, LATER_MAX).map(readAttempt);
    const events = this.sql.laterEvents.all(transactionId, LATER_MAX);
    if (later.length === LATER_MAX || events.length === LATER_MAX) return undefined;
    const sinceThen = new Set([transactionId, ...later.map((one) => one.transactionId)]);
    const reversed = events
      .filter((row) => row["kind"] === REVERSAL_BEGINS)
      .map((row) => String(row["transaction_id"]))
      .filter((id) => !sinceThen.has(id));
    return {
      /** The attempts that began later and whose command may have been sent, oldest first. */
      later: later.filter(({ baseline }) => baseline !== null),
      /** The attempts that began before this attempt and whose reversal began after it. */
      earlier: [...new Set(reversed)].map((id) => this.#mustRead(id)),
      reports: events.flatMap(reportedResult),
    };
  }

  #insert(given: Begun & Pick<Attempt, "state" | "baseline" | "endedAtMs">, limitMs?: number) {
    const { request, state, startedAtMs } = given;
    this.#known = this.parts.events.commit((emit) => {
      const row = this.sql.insert.get(
        given.transactionId,
        request.orderId,
        request.amountMinor,
        request.currency.alpha,
        request.generatedId ? 1 : 0,
        state.phase,
        JSON.stringify(request),
        JSON.stringify(state),
        given.baseline && JSON.stringify(given.baseline),
        startedAtMs,
        given.endedAtMs,
      );
      const none = { returnedMinor: 0, returnedSome: false, openReturn: null, suspicion: null };
      const attempt = { ...given, ...none, number: Number(row?.["number"]), ticket: "" };
      emit("payment", paymentEventOf(attempt, limitMs), startedAtMs);
      return { attempt, position: Number(row?.["position"]), stamp: this.sql.read.stamp };
    });
    return this.#known.attempt;
  }

  #knownNow(): Known | undefined {
    return this.#known?.stamp === this.sql.read.stamp ? this.#known : undefined;
  }

  #mustRead(transactionId: string): Attempt {
    const attempt = this.read(transactionId);
    invariant(attempt, `attempt ${transactionId} is not in the journal`);
    return attempt;
  }
}

/**
 * Returns the attempt that decides an order's status: the newest one that is or may be charged,
 * else the newest one whose sale was paid back, else the newest one whose goods may be out
 * (docs/design.md 5.12), else the newest one.
 */
function speaksFor(attempts: readonly Attempt[]): Attempt | undefined {
  const standing = attempts.findLast((attempt) => chargedOf(attempt) !== "no");
  const sold = standing ?? attempts.findLast(({ state }) => !isNotCharged(state));
  return sold ?? attempts.findLast(({ state }) => isUnconfirmed(state)) ?? attempts.at(-1);
}

function reportedResult(row: Row): ReportedResult[] {
  if (!(reportSteps as readonly string[]).includes(String(row["kind"]))) return [];
  const { report } = readJson<{ readonly report: TransactionReport }>(row["detail"]);
  return [{ transactionId: String(row["transaction_id"]), report }];
}
