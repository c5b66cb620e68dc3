import { isDeepStrictEqual } from "node:util";
import { transaction } from "../../shared/sqlite.ts";
import type { Attempt, AttemptEvent, OpenReturn } from "../attempts/payment.ts";
import { paymentEventOf } from "../attempts/payment-event.ts";
import type { NotedReturn } from "../attempts/payment-store.ts";
import { readAttempt } from "./attempt-row.ts";
import { returnedSql } from "./status-sql.ts";
import { TerminalJournal } from "./terminal-journal.ts";

/** The part of the journal that knows of money returned by way of the gateway. */
export abstract class ReturnJournal extends TerminalJournal {
  abstract addEvent(transactionId: string, event: AttemptEvent): void;

  /** What was notified before cannot hold this return, so that the two add up. */
  reserveReturn(transactionId: string, open: OpenReturn, chargedMinor: number): boolean {
    return transaction(this.database, () => {
      const { changes } = this.sql.run(
        `UPDATE attempt SET open_return = ?, returned_minor = ${returnedSql}
         WHERE transaction_id = ? AND phase = 'charged'
           AND open_return IS NULL AND ${returnedSql} + ? <= ?`,
        JSON.stringify(open),
        transactionId,
        open.amountMinor,
        chargedMinor,
      );
      if (changes !== 1) return false;
      const { atMs, ...detail } = open;
      this.addEvent(transactionId, { atMs, kind: "gateway-return-reserved", detail });
      return true;
    });
  }

  endReturn(
    transactionId: string,
    open: OpenReturn,
    returnedMinor: number | null,
    event: AttemptEvent,
  ): void {
    this.#changing(transactionId, event.atMs, () => {
      const { changes } = this.sql.run(
        `UPDATE attempt SET open_return = NULL, returned_minor = max(returned_minor, ?),
           returned_some = max(returned_some, ?)
         WHERE transaction_id = ? AND json_extract(open_return, '$.operationId') = ?`,
        returnedMinor ?? 0,
        returnedMinor === null ? 0 : 1,
        transactionId,
        open.operationId,
      );
      // Two who asked at the same time heard the same word; it counts once.
      if (changes === 1) this.addEvent(transactionId, event);
    });
  }

  openReturns(): Attempt[] {
    return this.sql
      .all("SELECT * FROM attempt WHERE open_return IS NOT NULL ORDER BY started_at_ms")
      .map(readAttempt);
  }

  returnsSeen(): number {
    return Number(this.sql.get("SELECT last FROM returns_seen")?.["last"] ?? 0);
  }

  noteReturns(returns: readonly NotedReturn[], seen: number, atMs: number): void {
    for (const one of returns) {
      this.#changing(one.transactionId, atMs, () => this.#noteReturn(one, atMs));
    }
    // Last: after a crash in between they are noted again, which changes nothing.
    this.sql.run(
      `INSERT INTO returns_seen (id, last) VALUES (1, ?1) ON CONFLICT DO UPDATE SET last = ?1`,
      seen,
    );
  }

  #noteReturn({ transactionId, returnedMinor }: NotedReturn, atMs: number): void {
    const { changes } = this.sql.run(
      `UPDATE attempt SET notified_return_minor = max(notified_return_minor, ?1), returned_some = 1
       WHERE transaction_id = ?2 AND (notified_return_minor < ?1 OR returned_some = 0)`,
      returnedMinor,
      transactionId,
    );
    if (changes === 1) {
      const detail = { returnedMinor };
      this.addEvent(transactionId, { atMs, kind: "gateway-return-notified", detail });
    }
    this.sql.run(
      `UPDATE archived_order SET kept = json_set(kept, '$.end.returnedMinor', ?1)
       WHERE transaction_id = ?2 AND json_extract(kept, '$.end.phase') = 'charged'
         AND json_extract(kept, '$.end.returnedMinor') < ?1`,
      returnedMinor,
      transactionId,
    );
  }

  /** One transaction, told as an event when the attempt looks different afterwards. */
  #changing(transactionId: string, atMs: number, change: () => void): void {
    const read = (): Attempt | undefined => {
      const row = this.sql.get("SELECT * FROM attempt WHERE transaction_id = ?", transactionId);
      return row && readAttempt(row);
    };
    this.telling((tell) => {
      const before = read();
      change();
      const after = read();
      if (!before || !after) return;
      const data = paymentEventOf(after);
      if (!isDeepStrictEqual(data, paymentEventOf(before))) tell("payment", data, atMs);
    });
  }
}
