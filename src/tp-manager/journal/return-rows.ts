import { isDeepStrictEqual } from "node:util";
import type { Attempt, AttemptStep, OpenReturn } from "../attempts/payment.ts";
import { isReturnedTwice, paymentEventOf, RETURNED_TWICE } from "../attempts/phase-table.ts";
import type { Archive } from "./archive.ts";
import { phaseIn, readAttempt, returnedSql } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import { rows } from "./database/statements.ts";
import type { EventRows } from "./event-rows.ts";

/** How many of the newest "reversed" events are searched at the start for a missing alarm. */
const EVENTS_READ = 100;

/** Stores how much the gateway has paid back, and the cancel or refund that is under way. */
export class ReturnRows extends rows("returns", {
  // Our sum becomes at least the notified sum, which cannot include the refund reserved now.
  reserve: `UPDATE attempt SET open_return = ?, returned_minor = ${returnedSql}
    WHERE transaction_id = ? AND ${phaseIn(({ gateway }) => gateway === "begin")}
      AND open_return IS NULL AND ${returnedSql} + ? <= ?`,
  end: `UPDATE attempt SET open_return = NULL, returned_minor = max(returned_minor + ?, ?),
      returned_some = max(returned_some, ?)
    WHERE transaction_id = ? AND json_extract(open_return, '$.operationId') = ?`,
  neverAsked: `SELECT 1 FROM attempt WHERE transaction_id = ?1
    AND NOT EXISTS (SELECT 1 FROM store_doubt WHERE before_attempt > attempt.rowid)
    AND NOT EXISTS (SELECT 1 FROM attempt_event AS event
      WHERE event.transaction_id = ?1 AND (event.kind = 'taken-over'
        OR event.kind = 'gateway-return-reserved'
          AND json_extract(detail, '$.idempotencyKey') = ?2))`,
  open: "SELECT * FROM attempt WHERE open_return IS NOT NULL ORDER BY started_at_ms",
  readTo: "SELECT last FROM returns_seen",
  setReadTo:
    "INSERT INTO returns_seen (id, last) VALUES (1, ?1) ON CONFLICT DO UPDATE SET last = ?1",
  // A crash may have prevented the alarm of the newest "reversed" events.
  unalarmed: `SELECT * FROM attempt WHERE returned_some = 1 AND transaction_id IN
      (SELECT json_extract(data, '$.transactionId') FROM event WHERE id IN
        (SELECT id FROM event INDEXED BY event_reversed
          WHERE name = 'payment' AND json_extract(data, '$.state') = 'reversed'
          ORDER BY id DESC LIMIT ?))
    AND NOT EXISTS (SELECT 1 FROM event WHERE name = 'alarm'
      AND json_extract(data, '$.transactionId') = attempt.transaction_id
      AND json_extract(data, '$.alarm') = '${RETURNED_TWICE}')`,
  note: `UPDATE attempt SET notified_return_minor = max(notified_return_minor, ?1),
      returned_some = 1
    WHERE transaction_id = ?2 AND (notified_return_minor < ?1 OR returned_some = 0)`,
})<{ events: EventRows; attempts: AttemptRows; archive: Archive }> {
  /**
   * Reserves a cancel or refund; the sale can then not be reversed at the terminal. Returns false
   * unless the attempt is charged, has no other return under way, and at least this amount is left.
   */
  reserveReturn(transactionId: string, open: OpenReturn, chargedMinor: number): boolean {
    this.statements.proof.assertKept();
    const { atMs, ...detail } = open;
    const step = { atMs, kind: "gateway-return-reserved", detail };
    const values = [JSON.stringify(open), transactionId, open.amountMinor, chargedMinor];
    return this.statements.transaction(() => {
      if (this.sql.reserve.run(...values).changes !== 1) return false;
      this.parts.attempts.addEvent(transactionId, step);
      return true;
    });
  }

  /**
   * Ends a cancel or refund with the gateway's answer. `returned`: the sum paid back and what this
   * operation adds to it, in minor units (0: only the sum is known); null: nothing was paid back.
   */
  endReturn(
    transactionId: string,
    { operationId }: OpenReturn,
    returned: { readonly sumMinor: number; readonly addedMinor: number } | null,
    event: AttemptStep,
  ): void {
    const { sumMinor = 0, addedMinor = 0 } = returned ?? {};
    const values = [addedMinor, sumMinor, returned ? 1 : 0, transactionId, operationId];
    this.#changing(transactionId, event.atMs, () => {
      // The outcome of an operation counts once, even if two callers asked for it.
      if (this.sql.end.run(...values).changes !== 1) return;
      this.parts.attempts.addEvent(transactionId, event);
    });
  }

  /**
   * Whether no cancel or refund was ever reserved with this idempotency key. Returns false for an
   * archived attempt, and for an attempt that began before the journal lost data.
   */
  neverAsked(transactionId: string, idempotencyKey: string): boolean {
    return this.sql.neverAsked.get(transactionId, idempotencyKey) !== undefined;
  }

  /** Returns the attempts with a cancel or refund that has no outcome yet, oldest first. */
  openReturns(): Attempt[] {
    return this.sql.open.all().map(readAttempt);
  }

  /** Returns the attempts that docs/rules/27-both-sides.md is about and that have no alarm yet. */
  unalarmedTwice(): Attempt[] {
    return this.sql.unalarmed.all(EVENTS_READ).map(readAttempt).filter(isReturnedTwice);
  }

  /** Returns the number of the last refund notification that is noted; 0: none is noted yet. */
  returnsReadTo(): number {
    return Number(this.sql.readTo.get()?.["last"] ?? 0);
  }

  /**
   * Notes refunds that the gateway notified; each is on disk afterwards. A refund noted again
   * changes nothing, and sums never decrease. `returnedMinor`: the sum paid back by any system; 0:
   * not known. Returns the attempts; `isNew`: noted now.
   */
  noteReturns(returns: readonly NotedReturn[], atMs: number) {
    return returns.flatMap((one) => {
      const isNew = this.#changing(one.transactionId, atMs, () => this.#note(one, atMs));
      const attempt = this.parts.attempts.read(one.transactionId);
      return attempt ? [{ attempt, isNew }] : [];
    });
  }

  /** Notes that the refund notifications up to `last` are stored and their alarms raised. */
  setReturnsReadTo(last: number): void {
    this.sql.setReadTo.run(last);
  }

  #note({ transactionId, returnedMinor }: NotedReturn, atMs: number): boolean {
    const step = { atMs, kind: "gateway-return-notified", detail: { returnedMinor } };
    const { changes } = this.sql.note.run(returnedMinor, transactionId);
    if (changes === 1) this.parts.attempts.addEvent(transactionId, step);
    this.parts.archive.noteReturn(transactionId, returnedMinor);
    return changes === 1;
  }

  /** Runs `change` in one transaction, with an event if the answer about the order changes. */
  #changing<T>(transactionId: string, atMs: number, change: () => T): T {
    return this.parts.events.commit((emit) => {
      const before = this.parts.attempts.read(transactionId);
      const changed = change();
      const after = this.parts.attempts.read(transactionId);
      if (!before || !after) return changed;
      const data = paymentEventOf(after);
      if (!isDeepStrictEqual(data, paymentEventOf(before))) emit("payment", data, atMs);
      return changed;
    });
  }
}

export type NotedAttempt = ReturnType<ReturnRows["noteReturns"]>[number];

interface NotedReturn {
  readonly transactionId: string;
  readonly returnedMinor: number;
}
