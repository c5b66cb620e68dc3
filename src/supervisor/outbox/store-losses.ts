import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../shared/process/logger.ts";
import { inTransaction, prepared } from "../../shared/store/sqlite.ts";
import type { Store, StoreFinding } from "../../shared/store/store.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { maybeSent } from "./item-rows.ts";

/**
 * The losses and restores of this database (docs/rules/17-loss.md). After one it is not known here
 * what was sent meanwhile: an item that waits is uncertain, and is looked up before it is sent.
 */
export class StoreLosses {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(database: DatabaseSync, clock: Clock, log: Logger) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
  }

  /** Begins the session of this start. Called before anything is sent. */
  begin(store: Store): void {
    store.begin((finding: StoreFinding) => {
      if (finding.kind !== "whole") this.note(finding.because);
    });
  }

  /** Keeps that this database was found to lack something, and makes what waits uncertain. */
  note(because: string): void {
    const now = this.#clock.now();
    // At a start it is part of the commit that begins the session.
    const { changes } = inTransaction(this.#database, () => {
      const sql = "INSERT INTO store_loss (at_ms, because) VALUES (?, ?)";
      this.#database.prepare(sql).run(now, because);
      return this.#database
        .prepare(`UPDATE outbox SET ${maybeSent} WHERE state = 'pending' AND look_next = 0`)
        .run({ now });
    });
    const text =
      `supervisor.db: ${because}; tp-manager hands off everything that it has once more, and ` +
      "what is not known to be at the gateway is looked up before it is sent";
    raiseAlarm(this.#log, "outbox-lost", { inDoubt: Number(changes) }, text);
  }

  /** Ends the loss: a journal that lacks nothing has handed off everything that it has. */
  end(): void {
    this.#database
      .prepare("UPDATE store_loss SET ended_at_ms = ? WHERE ended_at_ms IS NULL")
      .run(this.#clock.now());
  }

  /**
   * While a loss is open: whether a lost database may have had a transaction that is new here, and
   * may have sent it. So may have one that is handed off for the first time if its charge was found
   * out later, as after a restart.
   */
  mayHaveHad({ origin }: Pick<Transaction, "origin">, isFirst = false): boolean {
    return !this.isWhole && (origin !== "payment" || !isFirst);
  }

  /**
   * Whether something about a transaction may be missing here, however long ago the loss was: it
   * was stored before the loss, or may have been. Missing: any transaction.
   */
  mayLack(transactionId = ""): boolean {
    const sql = `SELECT 1 FROM store_loss WHERE id >
      ifnull((SELECT after_loss FROM outbox WHERE transaction_id = ?), 0) LIMIT 1`;
    return prepared(this.#database, sql).get(transactionId) !== undefined;
  }

  /** No loss is open: every transaction that was ever handed off is here. */
  get isWhole(): boolean {
    const sql = "SELECT 1 FROM store_loss WHERE ended_at_ms IS NULL LIMIT 1";
    return prepared(this.#database, sql).get() === undefined;
  }
}
