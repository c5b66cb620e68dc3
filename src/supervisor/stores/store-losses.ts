import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../shared/process/logger.ts";
import { prepared, transaction } from "../../shared/store/sqlite.ts";
import type { Store, StoreFinding } from "../../shared/store/store.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { maybeSent } from "../outbox/doubt-columns.ts";

/**
 * After a loss or a restore of this database (docs/rules/17-loss.md) nobody here knows what was
 * sent meanwhile: an item that waits is in doubt, and is looked up before it is sent.
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

  /** Begins the session of this start. Before anything is sent. */
  begin(store: Store): void {
    store.begin((finding: StoreFinding) => {
      if (finding.kind !== "whole") this.note(finding.because);
    });
  }

  /** This database was found to lack something. */
  note(because: string): void {
    const inDoubt = this.#inOneCommit(() => this.#doubt(because));
    const words =
      `supervisor.db: ${because}; what tp-manager has is handed over again, and what is not ` +
      "known to be at the gateway is looked up before it is sent";
    raiseAlarm(this.#log, "outbox-lost", { inDoubt }, words);
  }

  /** How many items are in doubt. */
  #doubt(because: string): number {
    this.#database
      .prepare("INSERT INTO store_loss (at_ms, because) VALUES (?, ?)")
      .run(this.#clock.now(), because);
    const { changes } = this.#database
      .prepare(`UPDATE outbox SET ${maybeSent} WHERE state = 'pending' AND look_next = 0`)
      .run({ now: this.#clock.now() });
    return Number(changes);
  }

  /** At a start it is part of the commit that begins the session. */
  #inOneCommit<T>(work: () => T): T {
    return this.#database.isTransaction ? work() : transaction(this.#database, work);
  }

  /** A whole journal has handed over everything it has. */
  end(): void {
    this.#database
      .prepare("UPDATE store_loss SET ended_at_ms = ? WHERE ended_at_ms IS NULL")
      .run(this.#clock.now());
  }

  /**
   * A former database may have had a transaction that is new here, and may have sent it, while a
   * loss is open: also one that is handed over for the first time and whose charge was found out
   * later, as after a restart.
   */
  mayHaveHad({ origin }: Pick<Transaction, "origin">, isFirst = false): boolean {
    return !this.isWhole && (origin !== "payment" || !isFirst);
  }

  /**
   * Something about a transaction may be missing here, however long ago the loss was: it was here
   * before, or may have been. undefined: nobody knows which transaction.
   */
  mayLack(transactionId = ""): boolean {
    const sql = `SELECT 1 FROM store_loss WHERE id >
      ifnull((SELECT after_loss FROM outbox WHERE transaction_id = ?), 0) LIMIT 1`;
    return prepared(this.#database, sql).get(transactionId) !== undefined;
  }

  /** No loss is open: every transaction that was ever handed over is here. */
  get isWhole(): boolean {
    const sql = "SELECT 1 FROM store_loss WHERE ended_at_ms IS NULL LIMIT 1";
    return prepared(this.#database, sql).get() === undefined;
  }
}
