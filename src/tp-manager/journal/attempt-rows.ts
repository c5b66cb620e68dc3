import { isDeepStrictEqual } from "node:util";
import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { NoteStep } from "../attempts/attempt-event.ts";
import type {
  AttemptStore,
  ListedAttempt,
  ListPage,
  ReportedResult,
  SinceSale,
} from "../attempts/attempt-store.ts";
import {
  type Attempt,
  type AttemptState,
  type AttemptStep,
  begun,
  isCharged,
  isNotCharged,
  notCharged,
  saleOf,
} from "../attempts/payment.ts";
import { paymentEventOf } from "../attempts/payment-event.ts";
import { chargedOf, phaseTable } from "../attempts/phase-table.ts";
import { REVERSAL_BEGINS, reportSteps } from "../attempts/steps.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import type { ArchivedRows } from "./archived-rows.ts";
import {
  attemptColumns,
  type Listings,
  listings,
  nextNumber,
  phaseIn,
  readAttempt,
  readJson,
  returnedSql,
  unfinishedSql,
} from "./attempt-columns.ts";
import type { EventRows } from "./event-rows.ts";
import { EvidenceRows } from "./evidence-rows.ts";
import type { HandOffRows } from "./hand-off-rows.ts";
import type { Row, Statement, Statements } from "./statements.ts";

/** Attempts and steps since a sale that are looked through before its reversal. */
const LATER_MAX = 5_000;
/** Ids that are read at once, and what every one of them is before. */
const IDS = 500;
const LAST_ID = "~";

/** A command begins on a charged attempt: the terminal's reservation (docs/rules/07-returns.md). */
const isReserving = `(${phaseIn(({ charged }) => charged === "yes")}
  AND ${phaseIn(({ open }) => open === "running", "?1")})`;

const texts = {
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
  update: `UPDATE attempt SET phase = ?, state = ?, ticket = coalesce(?, ticket), ended_at_ms = ?,
      receipt_number = ?, trace_number = ?, unread_since_ms = coalesce(?, unread_since_ms)
    WHERE transaction_id = ? AND phase = ?
      AND (NOT ${isReserving} OR (open_return IS NULL AND ${returnedSql} = 0))`,
  // A column that is set has its indexes written, whether it changes or not.
  updateInPhase: `UPDATE attempt SET state = ?, ticket = coalesce(?, ticket)
    WHERE transaction_id = ? AND phase = ?`,
  unfinished: `SELECT ${attemptColumns} FROM attempt WHERE ${unfinishedSql} ORDER BY rowid`,
  countInDoubt: `SELECT count(*) AS n FROM attempt
    WHERE ${unfinishedSql} AND ${phaseIn(({ open }) => open === "doubt")}`,
  later: `SELECT ${attemptColumns} FROM attempt
    WHERE rowid > (SELECT rowid FROM attempt WHERE transaction_id = ?)
    ORDER BY rowid LIMIT ?`,
  // In the order of insertion: a wall clock can jump.
  newest: `SELECT ${attemptColumns}, attempt.rowid AS position, hand_off.delivery AS delivery
    FROM attempt LEFT JOIN hand_off USING (transaction_id)
    WHERE attempt.rowid < ? ORDER BY attempt.rowid DESC LIMIT ?`,
  newestAlone: `SELECT ${attemptColumns}, rowid AS position FROM attempt WHERE rowid < ?
    ORDER BY rowid DESC LIMIT ?`,
  // Ids are in the order of their times, and their index alone is read.
  ids: `SELECT transaction_id FROM attempt WHERE transaction_id < ?
    ORDER BY transaction_id DESC LIMIT ?`,
  startOf: "SELECT started_at_ms FROM attempt WHERE rowid >= ? ORDER BY rowid LIMIT 1",
  laterEvents: `SELECT * FROM attempt_event WHERE id >
      (SELECT min(id) FROM attempt_event WHERE transaction_id = ?)
    ORDER BY id LIMIT ?`,
};

const listed = listings(
  "attempt",
  "attempt_status",
  (page) => `SELECT ${attemptColumns}, page.position AS position, hand_off.delivery AS delivery
    FROM (${page}) AS page CROSS JOIN attempt ON attempt.rowid = page.position
      LEFT JOIN hand_off USING (transaction_id)`,
);

type Change = Parameters<AttemptStore["update"]>[1];

type NewAttempt = Omit<
  Attempt,
  "number" | "ticket" | "returnedMinor" | "returnedSome" | "openReturn"
>;

/** The attempt that was written last, as it is on disk. */
interface Known {
  readonly attempt: Attempt;
  /** null: it may not be the newest one. */
  readonly position: number | null;
  readonly stamp: number;
}

/** Attempts and their events. Every change is one commit, on disk when the method returns. */
export class AttemptRows implements AttemptStore {
  readonly #sql: Record<keyof typeof texts, Statement>;
  readonly #listed: Listings<Statement>;
  readonly #events: EventRows;
  readonly #handOffs: HandOffRows;
  readonly #archived: ArchivedRows;
  readonly #evidence: EvidenceRows;
  readonly #statements: Statements;
  #known: Known | undefined;
  /** Told every step of an attempt once it is on disk. Must not throw. */
  onStep: (attempt: Attempt, step: AttemptStep) => void = () => {};

  constructor(
    statements: Statements,
    events: EventRows,
    handOffs: HandOffRows,
    archived: ArchivedRows,
  ) {
    this.#statements = statements;
    this.#sql = statements.prepare("attempts", texts);
    this.#listed = statements.prepare("attempts listed", listed);
    this.#events = events;
    this.#handOffs = handOffs;
    this.#archived = archived;
    this.#evidence = new EvidenceRows(statements);
  }

  latest(orderId: string): Attempt | undefined {
    const recent = this.#sql.latest.kept(orderId);
    if (!recent) return speaksFor(this.#archived.ofOrder(orderId));
    const newest = readAttempt(recent);
    const isRepeated = newest.number > 1 && chargedOf(newest) === "no";
    return isRepeated ? speaksFor(this.ofOrder(orderId)) : newest;
  }

  ofOrder(orderId: string): Attempt[] {
    const recent = this.#sql.ofOrder.all(orderId);
    return [...this.#archived.ofOrder(orderId), ...recent.map(readAttempt)];
  }

  read(transactionId: string): Attempt | undefined {
    const known = this.#knownNow();
    if (known?.attempt.transactionId === transactionId) return known.attempt;
    const row = this.#sql.read.get(transactionId);
    return row && readAttempt(row);
  }

  orderOf(transactionId: string): string | undefined {
    const row = this.#sql.orderOf.get(transactionId);
    return row && String(row["order_id"]);
  }

  events(transactionId: string): AttemptStep[] {
    return this.#sql.events.all(transactionId).map((row) => ({
      atMs: Number(row["at_ms"]),
      kind: String(row["kind"]),
      detail: readJson(row["detail"]),
      ...(row["input"] === null ? {} : { input: readJson(row["input"]) }),
    }));
  }

  begin({ baseline, ...attempt }: Parameters<AttemptStore["begin"]>[0]): Attempt {
    this.#statements.assertKept();
    return this.#insert({ ...attempt, state: begun, baseline, endedAtMs: null });
  }

  recordFailure({ outcome, ...attempt }: Parameters<AttemptStore["recordFailure"]>[0]): Attempt {
    const state = notCharged(outcome);
    return this.#insert({ ...attempt, state, baseline: null, endedAtMs: attempt.startedAtMs });
  }

  update(transactionId: string, change: Change): Attempt {
    const { state, event, earlier = [], ticket, handOff, withdraw } = change;
    const steps = [...earlier, event];
    const known = this.#knownNow();
    const [attempt, stamp] = this.#events.telling((tell) => {
      const before = this.#mustRead(transactionId);
      const changes = this.#updateRow(before, change);
      invariant(changes === 1, `attempt ${transactionId} is not ${change.from} in the journal`);
      for (const step of steps) this.addStep(transactionId, step);
      if (handOff) this.#handOffs.add(transactionId, handOff);
      if (withdraw) this.#handOffs.withdraw(transactionId);
      const endedAtMs = phaseTable[state.phase].open === null ? event.atMs : null;
      const after = { ...before, state, endedAtMs, ticket: ticket ?? before.ticket };
      const data = paymentEventOf(after);
      if (!isDeepStrictEqual(data, paymentEventOf(before))) tell("payment", data, event.atMs);
      return [after, this.#sql.read.stamp] as const;
    });
    const isNewest = known?.attempt.transactionId === transactionId;
    this.#keep(attempt, isNewest ? known.position : null, stamp);
    for (const step of steps) this.onStep(attempt, step);
    return attempt;
  }

  /** How many rows were in the phase that the change is made from. */
  #updateRow({ transactionId, state: before }: Attempt, change: Change): number | bigint {
    const { state, event, ticket = null, from } = change;
    const sale = saleOf(state);
    const text = JSON.stringify(state);
    const isOpen = phaseTable[state.phase].open !== null;
    if (isOpen && state.phase === from && !sale) {
      return this.#sql.updateInPhase.run(text, ticket, transactionId, from).changes;
    }
    return this.#sql.update.run(
      state.phase,
      text,
      ticket,
      isOpen ? null : event.atMs,
      sale?.report.receiptNumber ?? null,
      sale?.report.traceNumber ?? null,
      isFound(before, state) ? event.atMs : null,
      transactionId,
      from,
    ).changes;
  }

  addEvent(transactionId: string, note: NoteStep): void {
    this.addStep(transactionId, note);
  }

  addStep(transactionId: string, { atMs, kind, detail, input }: AttemptStep): void {
    const kept = input === undefined ? null : JSON.stringify(input);
    this.#sql.addEvent.run(transactionId, atMs, kind, JSON.stringify(detail), kept);
  }

  list(page: ListPage): ListedAttempt[] {
    return this.#rowsOf(page).map((row) => ({
      attempt: readAttempt(row),
      delivery: row["delivery"] as DeliveryState | null,
      position: Number(row["position"]),
    }));
  }

  #rowsOf({ sinceMs, untilMs, status, limit, before }: ListPage): Row[] {
    const end = before ?? Number.MAX_SAFE_INTEGER;
    if (status === null && sinceMs === 0 && untilMs === undefined) {
      return this.#sql.newest.all(end, limit);
    }
    // For a row that was put away meanwhile the next newer one stands in.
    const start = this.#sql.startOf.get(end)?.["started_at_ms"];
    const sql = this.#listed[status ?? "all"];
    if (start !== undefined) return sql.all(start, end, sinceMs, limit);
    return sql.all(untilMs ?? Number.MAX_SAFE_INTEGER, 0, sinceMs, limit);
  }

  newest(
    limit: number,
    before: number | null,
  ): Array<{ readonly attempt: Attempt; readonly position: number }> {
    const known = this.#knownNow();
    if (known?.position && limit === 1 && before === null) {
      return [{ attempt: known.attempt, position: known.position }];
    }
    const rows = this.#sql.newestAlone.all(before ?? Number.MAX_SAFE_INTEGER, limit);
    return rows.map((row) => ({ attempt: readAttempt(row), position: Number(row["position"]) }));
  }

  *ids(): Generator<string, void> {
    for (let before: string | undefined = LAST_ID; before !== undefined; ) {
      const rows: Row[] = this.#sql.ids.all(before, IDS);
      const page = rows.map((row) => String(row["transaction_id"]));
      yield* page;
      before = page[IDS - 1];
    }
  }

  listArchived(page: ListPage): ListedAttempt[] {
    return this.#archived.list(page);
  }

  unfinished(): Attempt[] {
    return this.#sql.unfinished.all().map(readAttempt);
  }

  countInDoubt(): number {
    return Number(this.#sql.countInDoubt.get()?.["n"]);
  }

  nextCommand(transactionId: string): ReturnType<AttemptStore["nextCommand"]> {
    return this.#evidence.nextCommand(transactionId);
  }

  since(transactionId: string): Omit<SinceSale, "unmatched"> | undefined {
    const later = this.#sql.later.all(transactionId, LATER_MAX).map(readAttempt);
    const events = this.#sql.laterEvents.all(transactionId, LATER_MAX);
    if (later.length === LATER_MAX || events.length === LATER_MAX) return undefined;
    const sinceThen = new Set([transactionId, ...later.map((one) => one.transactionId)]);
    const reversed = events
      .filter((row) => row["kind"] === REVERSAL_BEGINS)
      .map((row) => String(row["transaction_id"]))
      .filter((id) => !sinceThen.has(id));
    return {
      later: later.filter(({ baseline }) => baseline !== null),
      earlier: [...new Set(reversed)].map((id) => this.#mustRead(id)),
      reports: events.flatMap(reportedResult),
    };
  }

  #insert(attempt: NewAttempt): Attempt {
    const { inserted, position, stamp } = this.#events.telling((tell) => {
      const row = this.#insertRow(attempt);
      tell("payment", paymentEventOf(row.inserted), attempt.startedAtMs);
      return { ...row, stamp: this.#sql.read.stamp };
    });
    this.#keep(inserted, position, stamp);
    return inserted;
  }

  #insertRow(attempt: NewAttempt): { readonly inserted: Attempt; readonly position: number } {
    const { request, state } = attempt;
    const row = this.#sql.insert.get(
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
    const inserted = {
      ...attempt,
      number: Number(row?.["number"]),
      ticket: "",
      returnedMinor: 0,
      returnedSome: false,
      openReturn: null,
      suspicion: null,
    };
    return { inserted, position: Number(row?.["position"]) };
  }

  /** The last write; undefined when anything else was written to the table since. */
  #knownNow(): Known | undefined {
    return this.#known?.stamp === this.#sql.read.stamp ? this.#known : undefined;
  }

  /**
   * After the commit: a payment reads its attempt again at each step. `stamp` is that of the write,
   * because a listener that was told of it may have written more.
   */
  #keep(attempt: Attempt, position: number | null, stamp: number): void {
    this.#known = { attempt, position, stamp };
  }

  #mustRead(transactionId: string): Attempt {
    const attempt = this.read(transactionId);
    invariant(attempt, `attempt ${transactionId} is not in the journal`);
    return attempt;
  }
}

/** Of the attempts of an order, oldest first: one that stands speaks for it, then a sale. */
function speaksFor(attempts: readonly Attempt[]): Attempt | undefined {
  const standing = attempts.findLast((attempt) => chargedOf(attempt) !== "no");
  return standing ?? attempts.findLast(({ state }) => !isNotCharged(state)) ?? attempts.at(-1);
}

/** The terminal's report in a step of an attempt; most steps have none. */
function reportedResult(row: Row): ReportedResult[] {
  if (!(reportSteps as readonly string[]).includes(String(row["kind"]))) return [];
  const { report } = readJson<{ readonly report: TransactionReport }>(row["detail"]);
  return [{ transactionId: String(row["transaction_id"]), report }];
}

/** The terminal was asked, and has a charge the kiosk does not know (docs/rules/11-unread.md). */
function isFound(before: AttemptState, now: AttemptState): boolean {
  return isCharged(now) && now.by === "recovery" && !saleOf(before);
}
