import type { DatabaseSync } from "node:sqlite";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { inTransaction } from "../../shared/store/sqlite.ts";
import { Tables } from "../../shared/store/tables.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { maybeSent } from "./item-rows.ts";

/**
 * The losses and restores of this database (docs/rules/29-supervisor-loss.md). After one, it is not
 * known what was sent meanwhile: an item that waits is looked up before it is sent.
 */
export class StoreLosses extends Tables {
  readonly #clock: Clock;
  readonly #log: AlarmLog;

  constructor(database: DatabaseSync, clock: Clock, log: AlarmLog) {
    super(database);
    this.#clock = clock;
    this.#log = log;
  }

  /** Records that this database lacks something, and has each item that waits looked up first. */
  note(because: string): void {
    const now = this.#clock.now();
    // At the start of the program this is part of the commit that begins the session.
    const inDoubt = inTransaction(this.database, () => {
      this.run("INSERT INTO store_loss (at_ms, because) VALUES (?, ?)", now, because);
      const sql = `UPDATE outbox SET ${maybeSent} WHERE state = 'pending' AND look_next = 0`;
      return this.run(sql, { now });
    });
    const text =
      `supervisor.db: ${because}; tp-manager hands off everything that it has once more, and ` +
      "what is not known to be at the gateway is looked up before it is sent";
    raiseAlarm(this.#log, "outbox-lost", { inDoubt }, text);
  }

  /** Ends the loss, after a journal that lacks nothing has handed off all that it has. */
  end(): void {
    const sql = "UPDATE store_loss SET ended_at_ms = ? WHERE ended_at_ms IS NULL";
    this.run(sql, this.#clock.now());
  }

  /**
   * Returns whether a lost database may have had, and sent, a transaction that is new here. It may
   * have had one that is handed off for the first time too, if its charge was found out later.
   */
  mayHaveHad({ origin }: Pick<Transaction, "origin">, isFirst = false): boolean {
    return !this.isWhole && (origin !== "payment" || !isFirst);
  }

  /**
   * Returns whether something about a transaction may be missing here, because it was or may have
   * been stored before a loss, however long ago. `transactionId` missing: about any transaction.
   */
  mayLack(transactionId = ""): boolean {
    const sql = `SELECT 1 FROM store_loss WHERE id >
      ifnull((SELECT after_loss FROM outbox WHERE transaction_id = ?), 0) LIMIT 1`;
    return this.get(sql, transactionId) !== undefined;
  }

  /** Whether each transaction that was ever handed off is here. */
  get isWhole(): boolean {
    const sql = "SELECT 1 FROM store_loss WHERE ended_at_ms IS NULL LIMIT 1";
    return this.get(sql) === undefined;
  }
}
