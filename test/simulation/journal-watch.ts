import { DatabaseSync } from "node:sqlite";
import { journalPath } from "./processes.ts";

const readers = {
  sent: "SELECT 1 FROM attempt WHERE order_id = ? AND phase = ?",
  report: `SELECT 1 FROM attempt a JOIN attempt_event e USING (transaction_id)
  WHERE a.order_id = ? AND e.kind IN ('report', 'approved', 'reversal-report')
    AND a.phase IN ('sent', 'reversing')`,
  oneWay: `SELECT 1 FROM attempt a
  WHERE a.phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt') AND a.order_id <> ?
    AND NOT EXISTS (SELECT 1 FROM attempt_event e
      WHERE e.transaction_id = a.transaction_id
        AND (e.kind IN ('recovery-unsettled', 'recovery-requested', 'doubted-late')
          OR e.kind = 'end-lost' AND json_extract(e.detail, '$.code') = 'requested'))`,
};

/** What another process reads from the journal's file in the moment in which something leaves. */
export class JournalWatch {
  readonly #folder: string;
  readonly #see: (invariant: string, what: string) => void;
  #reader: DatabaseSync | undefined;

  constructor(folder: string, see: (invariant: string, what: string) => void) {
    this.#folder = folder;
    this.#see = see;
  }

  /** A financial command leaves. */
  leaves(what: "payment" | "reversal", order: string): void {
    const phase = what === "payment" ? "sent" : "reversing";
    if (this.#read(readers.sent, order, phase).length !== 1) {
      this.#see("write-ahead: no command leaves before its record", `${what} of ${order}`);
    }
    if (what === "payment" && this.#read(readers.oneWay, order).length > 0) {
      this.#see(
        "docs/rules/05-evidence.md: no sale before the one in doubt was asked about",
        `sale of ${order}`,
      );
    }
  }

  /** A report is about to get its ACK. */
  sendsAck(order: string): void {
    if (this.#read(readers.report, order).length > 0) return;
    this.#see("evidence: no report gets its ACK before it is stored", order);
  }

  /** The file may be another one from here on. */
  close(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }

  #read(sql: string, ...values: string[]): unknown[] {
    this.#reader ??= new DatabaseSync(journalPath(this.#folder), { readOnly: true });
    return this.#reader.prepare(sql).all(...values);
  }
}
