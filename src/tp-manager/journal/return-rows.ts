import { isDeepStrictEqual } from "node:util";
import type { Attempt, AttemptStep, OpenReturn } from "../attempts/payment.ts";
import { isReturnedTwice, paymentEventOf, RETURNED_TWICE } from "../attempts/phase-table.ts";
import type { Archive } from "./archive.ts";
import { phaseIn, readAttempt, returnedSql } from "./attempt-columns.ts";
import type { AttemptRows } from "./attempt-rows.ts";
import { rows } from "./database/statements.ts";
import type { EventRows } from "./event-rows.ts";

/** The most recent changes to "reversed" that are searched for a missing alarm at the start. */
const EVENTS_READ = 100;

/** The journal's record of money that went back by way of the gateway. */
export class ReturnRows extends rows("returns", {
  // Sums notified before cannot hold this return, so that the two add up.
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
  // The change to "reversed" is an event of the same commit: after a crash among the newest.
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
   * Reserves a return at the gateway: only for a charged attempt without another return under way,
   * and never of more than is left. false: it is not reserved. An attempt with one, or of which a
   * part was returned, can no longer become "reversing".
   */
  reserveReturn(transactionId: string, open: OpenReturn, chargedMinor: number): boolean {
    this.statements.assertKept();
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
   * Ends a return with the gateway's answer. `returned`: what went back in all as far as the
   * supervisor knows, and what this return adds (0: only the sum is known); null: nothing did.
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
      // Two callers that asked at the same time got the same answer; it counts once.
      if (this.sql.end.run(...values).changes !== 1) return;
      this.parts.attempts.addEvent(transactionId, event);
    });
  }

  /**
   * Whether the journal, which lacks nothing since the attempt was begun, knows of no return that
   * was reserved with a caller's key. false of an attempt in the archive.
   */
  neverAsked(transactionId: string, idempotencyKey: string): boolean {
    return this.sql.neverAsked.get(transactionId, idempotencyKey) !== undefined;
  }

  /** Attempts with a reserved return whose end is not known, oldest first. */
  openReturns(): Attempt[] {
    return this.sql.open.all().map(readAttempt);
  }

  /** Attempts whose money went back both ways, where the alarm about it is not on disk. */
  unalarmedTwice(): Attempt[] {
    return this.sql.unalarmed.all(EVENTS_READ).map(readAttempt).filter(isReturnedTwice);
  }

  /** The number of the last notification of returned money that is noted here; 0: none. */
  returnsReadTo(): number {
    return Number(this.sql.readTo.get()?.["last"] ?? 0);
  }

  /**
   * Notes the notified returns, each on disk when this returns. `returnedMinor`: in all, by any
   * caller; 0: some money, of an uncertain amount. A return noted again changes nothing; sums never
   * shrink. Returns the attempts of these returns; `isNew`: the return was not noted before.
   */
  noteReturns(returns: readonly NotedReturn[], atMs: number) {
    return returns.flatMap((one) => {
      const isNew = this.#changing(one.transactionId, atMs, () => this.#note(one, atMs));
      const attempt = this.parts.attempts.read(one.transactionId);
      return attempt ? [{ attempt, isNew }] : [];
    });
  }

  /** Notes that the notifications up to `last` are noted, and their alarms raised. */
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

  /** One transaction, with an event when the attempt is answered differently afterwards. */
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
