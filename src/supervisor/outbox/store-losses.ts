import type { DatabaseSync } from "node:sqlite";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { inTransaction, Tables } from "../../shared/store/sqlite.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { maybeSent } from "./item-rows.ts";

/** How many alarm ids a loss skips; fewer than are kept, so that no unread alarm is deleted. */
const SKIPPED = 900;

/**
 * The losses and restores of supervisor.db (docs/rules/29-supervisor-loss.md). A lost database may
 * have sent items that wait here, so after a loss each waiting item is looked up before it is sent.
 */
export class StoreLosses extends Tables {
  readonly #clock: Clock;
  readonly #log: AlarmLog;
  #hasSkipped = false;

  constructor(database: DatabaseSync, clock: Clock, log: AlarmLog) {
    super(database);
    this.#clock = clock;
    this.#log = log;
  }

  /** Records a loss of this database, and marks each waiting item to be looked up first. */
  note(because: string): void {
    const now = this.#clock.now();
    // When the program starts, the loss is part of the commit that begins the session.
    const inDoubt = inTransaction(this.database, () => {
      this.run("INSERT INTO store_loss (at_ms, because) VALUES (?, ?)", now, because);
      // tp-manager may have read alarms of the lost database under the next ids of this one. Each
      // loss that one process notes is older than its start, so the first one skips enough ids.
      const skip = "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'alarms'";
      const ids = this.#hasSkipped || this.run(skip, SKIPPED);
      if (ids === 0) this.run("INSERT INTO sqlite_sequence VALUES ('alarms', ?)", SKIPPED);
      const sql = `UPDATE outbox SET ${maybeSent} WHERE state = 'pending' AND look_next = 0`;
      return this.run(sql, { now });
    });
    this.#hasSkipped = true;
    const text =
      `supervisor.db: ${because}; tp-manager hands off everything that it has once more, and ` +
      "what is not known to be at the gateway is looked up before it is sent";
    this.#log.error({ alarm: "outbox-lost", inDoubt }, text);
  }

  /** Records that a loss is over: a complete journal has handed off all its transactions again. */
  end(): void {
    const sql = "UPDATE store_loss SET ended_at_ms = ? WHERE ended_at_ms IS NULL";
    this.run(sql, this.#clock.now());
  }

  /**
   * Returns whether a lost database may have had, and sent, a transaction that is new here. At its
   * first hand-off (`isFirst`) that is possible only if recovery or an operator found the charge.
   */
  mayHaveHad({ origin }: Pick<Transaction, "origin">, isFirst = false): boolean {
    return !this.isWhole && (origin !== "payment" || !isFirst);
  }

  /**
   * Returns whether records about a transaction may be missing here, because the transaction was or
   * may have been stored before a loss. Without `transactionId`: whether there ever was a loss.
   */
  mayLack(transactionId = ""): boolean {
    const sql = `SELECT 1 FROM store_loss WHERE id >
      ifnull((SELECT after_loss FROM outbox WHERE transaction_id = ?), 0) LIMIT 1`;
    return this.get(sql, transactionId) !== undefined;
  }

  /** Whether this database has every transaction that was ever handed off. */
  get isWhole(): boolean {
    const sql = "SELECT 1 FROM store_loss WHERE ended_at_ms IS NULL LIMIT 1";
    return this.get(sql) === undefined;
  }
}
