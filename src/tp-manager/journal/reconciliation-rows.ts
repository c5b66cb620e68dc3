import type { Currency } from "../../shared/money.ts";
import { isNeverSent, type Suspicion, saleOf } from "../attempts/payment.ts";
import {
  type KeptEnd,
  ledgerOutcomeOf,
  returnedOfKept,
  stateOfKept,
} from "../attempts/rebuilt-attempt.ts";
import type { KeptLedger, LedgerEntry } from "../attempts/reconciliation/ledger-policy.ts";
import {
  type ClosingPeriod,
  type ClosingRow,
  type Reconciliation,
  suspectsOf,
} from "../attempts/reconciliation/reconciliation-policy.ts";
import { readAttempt, readJson, returnedOf } from "./attempt-columns.ts";
import { type Row, rows, type Statement } from "./database/statements.ts";
import type { EventRows } from "./event-rows.ts";
import { closings, mayHaveClosed } from "./terminal-rows.ts";

/** How many earlier ends of day one comparison reads, because some may have closed no sale. */
export const CLOSINGS_COMPARED = 3;
/** The most attempts in one comparison, because reading them delays payments. */
const ENTRIES_MAX = 20_000;
const PAGE = 500;

const entry = `SELECT attempt.*, attempt.rowid AS position, hand_off.delivery AS delivery,
    json_extract(hand_off.body, '$.amountMinor') AS handed_minor
  FROM attempt LEFT JOIN hand_off USING (transaction_id)`;

/** What the archive stores of an attempt, next to its order, amount and ids. */
export interface Kept {
  /** The facts for end-of-day comparisons; missing: none needs them (docs/rules/18-totals.md). */
  readonly ledger?: KeptLedger;
  /** The whole currency, which stays readable even if its code is abolished. */
  readonly currency: Currency;
  readonly end: KeptEnd;
}

/** The SQL for the events of an attempt; `minor` is the amount in an event, in minor units. */
export const spokenOf = `SELECT kind, ifnull(json_extract(detail, '$.report.amountMinor'),
    json_extract(detail, '$.amountMinor')) AS minor
  FROM attempt_event WHERE transaction_id = ?`;

/** Returns an attempt's entry for comparisons, from its row joined with its `hand_off` row. */
export function entryOf(row: Row, spoken: Statement): LedgerEntry {
  const attempt = readAttempt(row);
  const { state, request } = attempt;
  const sale = saleOf(state);
  const steps = sale
    ? []
    : spoken.all<{ readonly kind: string; readonly minor: unknown }>(attempt.transactionId);
  const spokenMinors = steps.flatMap(({ minor }) => (typeof minor === "number" ? minor : []));
  return {
    transactionId: attempt.transactionId,
    orderId: request.orderId,
    afterClosing: Number(row["after_telecollection"]),
    ...ledgerOutcomeOf(state, request.amountMinor),
    wasSent: attempt.baseline !== null && !isNeverSent(steps),
    amountMinor: request.amountMinor,
    possibleMinor: [...new Set([request.amountMinor, ...spokenMinors])].filter((one) => one > 0),
    currency: request.currency.alpha,
    exponent: request.currency.exponent,
    cardName: sale?.report.cardName ?? null,
    identity: attempt.baseline?.identity ?? null,
    delivery: (row["delivery"] ?? null) as LedgerEntry["delivery"],
    handedMinor: row["handed_minor"] === null ? null : Number(row["handed_minor"]),
    returnedMinor: returnedOf(row),
  };
}

export function keptLedgerOf(entry: LedgerEntry): KeptLedger {
  const { wasSent, possibleMinor, cardName, receiptNumber, reversalReceipt, identity } = entry;
  return { wasSent, possibleMinor, cardName, receiptNumber, reversalReceipt, identity };
}

function archivedEntryOf(row: Row): LedgerEntry {
  const { currency, end, ledger } = readJson<Required<Kept>>(row["kept"]);
  const amountMinor = Number(row["amount_minor"]);
  return {
    transactionId: String(row["transaction_id"]),
    orderId: String(row["order_id"]),
    afterClosing: Number(row["after_telecollection"]),
    ...ledgerOutcomeOf(stateOfKept(end, currency), amountMinor),
    amountMinor,
    currency: currency.alpha,
    exponent: currency.exponent,
    delivery: (row["delivery"] ?? null) as LedgerEntry["delivery"],
    handedMinor: null,
    returnedMinor: returnedOfKept(end),
    ...ledger,
  };
}

/** Stores comparisons of journal, terminal and gateway (docs/rules/18-totals.md). */
export class ReconciliationRows extends rows("reconciliation", {
  uncompared: `SELECT id FROM
      (SELECT * FROM ${closings} WHERE ${mayHaveClosed} ORDER BY id DESC LIMIT ?)
    WHERE identity IS NOT NULL AND json_extract(result, '$.end') = 'completed'
      AND id > (SELECT ifnull(max(telecollection_id), 0) FROM reconciliation) ORDER BY id`,
  closing: "SELECT * FROM telecollection WHERE id = ?",
  earlier: `SELECT * FROM ${closings} WHERE id < ? AND ${mayHaveClosed}
    ORDER BY id DESC LIMIT ?`,
  // Sorted by row id and not by time, because the wall clock can be set back.
  newest: `${entry} WHERE attempt.rowid < ? ORDER BY attempt.rowid DESC LIMIT ?`,
  upTo: `${entry} WHERE attempt.rowid <= (SELECT rowid FROM attempt WHERE transaction_id = ?)
    ORDER BY attempt.rowid DESC LIMIT ?`,
  formerReceipt: `SELECT receipt_number FROM (
      SELECT receipt_number FROM attempt
      WHERE rowid < (SELECT rowid FROM attempt WHERE transaction_id = ?)
      ORDER BY rowid DESC LIMIT ${PAGE})
    WHERE receipt_number IS NOT NULL LIMIT 1`,
  archived: `SELECT * FROM archived_order INDEXED BY archived_comparable
    WHERE after_telecollection >= ? ORDER BY rowid`,
  archivedUnknown: `SELECT 1 FROM archived_order INDEXED BY archived_incomparable
    WHERE after_telecollection IS NULL AND started_at_ms >= ? LIMIT 1`,
  spokenOf,
  keep: `INSERT INTO reconciliation (at_ms, telecollection_id, result, body)
    VALUES (?, ?, ?, ?)`,
  suspect: "UPDATE attempt SET suspicion = ? WHERE transaction_id = ?",
  refuted: `SELECT 1 FROM reconciliation INDEXED BY reconciliation_jump
    WHERE telecollection_id IS NULL AND result = 'refuted' LIMIT 1`,
  refute: `UPDATE reconciliation SET result = 'refuted'
    WHERE telecollection_id IS NULL AND result = 'jump'`,
  unsuspect: `UPDATE attempt SET suspicion = NULL
    WHERE transaction_id = ? AND json_extract(suspicion, '$.says') = 'number-missing'`,
  list: "SELECT * FROM reconciliation WHERE id < ? ORDER BY id DESC LIMIT ?",
})<{ events: EventRows }> {
  /** Returns the completed ends of day that have not been compared yet, oldest first. */
  uncompared(): number[] {
    return this.sql.uncompared.all(CLOSINGS_COMPARED).map(({ id }) => Number(id));
  }

  period(closingId: number): ClosingPeriod | undefined {
    const row = this.sql.closing.get(closingId);
    if (!row) return undefined;
    const closing = closingOf(row);
    const earlier = this.sql.earlier.all(closingId, CLOSINGS_COMPARED).map(closingOf);
    const recent = this.#recent(closingId, earlier.at(-1)?.id ?? 0);
    // An attempt of an older version names no end of day, so no end of day before it is compared.
    const known = earlier.filter(
      ({ id, startedAtMs }) =>
        id > recent.unknownUpTo && this.sql.archivedUnknown.get(startedAtMs) === undefined,
    );
    const sinceId = known.at(-1)?.id ?? 0;
    const archived = this.sql.archived.all(sinceId).map(archivedEntryOf);
    const isCutOff = known.length === 0 && (earlier.length > 0 || recent.unknownUpTo >= 0);
    const since = ({ afterClosing }: LedgerEntry): boolean =>
      afterClosing >= sinceId && afterClosing < closingId;
    return {
      closing,
      earlier: known,
      entries: [...archived, ...recent.entries].filter(since),
      isCutOff,
    };
  }

  /** Returns the last receipt number before this attempt; null: none in 500 attempts. */
  formerReceipt(transactionId: string): string | null {
    const row = this.sql.formerReceipt.get(transactionId);
    return row ? String(row["receipt_number"]) : null;
  }

  /** Returns this attempt and the attempts before it, at most `limit`, the oldest first. */
  entriesUpTo(transactionId: string, limit: number): LedgerEntry[] {
    const rows = this.sql.upTo.all(transactionId, limit);
    return rows.map((row) => entryOf(row, this.sql.spokenOf)).reverse();
  }

  /** Whether an end of day agreed despite missing receipt numbers, which then prove nothing. */
  hasRefutedJump(): boolean {
    return this.sql.refuted.get() !== undefined;
  }

  /** Stores a comparison and its event, and notes `says` on each attempt under suspicion. */
  keep(
    { atMs, closingId, result, body }: Omit<Reconciliation, "id"> & { closingId: number | null },
    says: Suspicion["says"],
  ): Reconciliation {
    return this.parts.events.commit((emit) => {
      const kept = this.sql.keep.run(atMs, closingId, result, JSON.stringify(body));
      for (const { transactionId, amountMinor } of suspectsOf(body)) {
        this.sql.suspect.run(JSON.stringify({ says, amountMinor, atMs }), transactionId);
      }
      const record = { id: Number(kept.lastInsertRowid), atMs, result, body };
      emit("reconciliation", reconciliationEventOf(record), atMs);
      return record;
    });
  }

  /** Removes the suspicions about missing receipt numbers after an end of day agreed. */
  refuteJumps(transactionIds: readonly string[]): void {
    this.parts.events.commit(() => {
      this.sql.refute.run();
      for (const transactionId of transactionIds) this.sql.unsuspect.run(transactionId);
    });
  }

  list(limit: number, before: number | null): Reconciliation[] {
    return this.sql.list.all(before ?? Number.MAX_SAFE_INTEGER, limit).map(reconciliationOf);
  }

  /**
   * Returns the attempts since the end of day `sinceId` and before `closingId`. `unknownUpTo`: the
   * end of day up to which attempts may be missing (too many or too old); -1: none are missing.
   */
  #recent(closingId: number, sinceId: number): { entries: LedgerEntry[]; unknownUpTo: number } {
    const entries: LedgerEntry[] = [];
    for (const row of this.sql.newest.pages("position", Number.MAX_SAFE_INTEGER, PAGE)) {
      const after = row["after_telecollection"];
      if (typeof after !== "number" || entries.length >= ENTRIES_MAX) {
        const unknownUpTo = entries.at(-1)?.afterClosing ?? closingId;
        return { entries: entries.reverse(), unknownUpTo };
      }
      if (after < sinceId) break;
      if (after < closingId) entries.push(entryOf(row, this.sql.spokenOf));
    }
    return { entries: entries.reverse(), unknownUpTo: -1 };
  }
}

export function reconciliationOf(row: Row): Reconciliation {
  return {
    id: Number(row["id"]),
    atMs: Number(row["at_ms"]),
    result: row["result"] as Reconciliation["result"],
    body: readJson(row["body"]),
  };
}

function closingOf(row: Row): ClosingRow {
  return {
    id: Number(row["id"]),
    startedAtMs: Number(row["started_at_ms"]),
    end: readJson(row["result"]),
    identity: readJson(row["identity"]),
  };
}

function reconciliationEventOf({ id, result, body }: Omit<Reconciliation, "atMs">) {
  const isJump = body.kind === "receipt-jump";
  const faults = isJump ? [] : body.gateway.faults;
  const orders = new Set([...suspectsOf(body), ...faults].map(({ orderId }) => orderId));
  const sums = isJump || body.terminal.result === "not-comparable" ? undefined : body.terminal;
  return {
    id,
    kind: body.kind,
    result,
    differenceMinor: sums?.differenceMinor ?? null,
    currency: sums?.currency ?? null,
    orderIds: [...orders],
  };
}
