import type { DatabaseSync } from "node:sqlite";
import { type RaisedAlarm, tapAlarms } from "../../shared/catalog/alarm-log.ts";
import { lastingAlarms } from "../../shared/catalog/conditions.ts";
import { FLEET_REQUEST, type SupervisorAnswer } from "../../shared/ipc/contract.ts";
import type { AlarmLog, Logger } from "../../shared/process/logger.ts";
import { inTransaction, Tables } from "../../shared/store/sqlite.ts";
import type { Clock } from "../../shared/time.ts";

/** The largest number of stored alarms: those of months, even at a kiosk with many faults. */
const ALARMS_KEPT = 1_000;
/** For this long an equal alarm is not stored again; a lasting condition's alarm is stored once. */
const REPEATED_AFTER_MS = 24 * 3_600_000;
/** Alarms about one order that each repeated hand-off, notification or send raises again. */
const repeating: readonly string[] = [
  "transaction-changed",
  "gateway-operation-failed",
  "gateway-answer-mismatch",
];

/** Stores the alarms on disk, where tp-manager reads them for `GET /events`. */
export class AlarmStore extends Tables {
  readonly #clock: Clock;
  /** The name of this database, because another database has other alarms with the same ids. */
  readonly #origin: string;

  constructor(database: DatabaseSync, clock: Clock) {
    super(database);
    this.#clock = clock;
    this.#origin = this.get<{ name: string }>("SELECT name FROM alarm_origin")?.name ?? "";
  }

  tap(log: Logger): AlarmLog {
    return tapAlarms(log, (alarm) => this.#add(alarm));
  }

  /** Stores a request of the fleet, which tp-manager publishes as an event of the kiosk. */
  noteRequest(ask: string, id: string): void {
    const message = `the fleet asked for: ${ask}`;
    const about = { orderId: null, transactionId: null, about: id };
    this.#insert({ alarm: FLEET_REQUEST, message, ...about }, this.#clock.now(), false);
  }

  /** Returns alarms after the id `after`, oldest first; all if that id is of another database. */
  after(origin: string | undefined, after: number, limit: number): SupervisorAnswer<"alarms"> {
    const sql = `SELECT id, at_ms AS atMs, alarm, message, order_id AS orderId,
        transaction_id AS transactionId, about
      FROM alarms WHERE id > ? ORDER BY id LIMIT ?`;
    const from = origin === this.#origin ? after : 0;
    return { origin: this.#origin, alarms: this.all(sql, from, limit) };
  }

  /** Forgets all lasting alarms but `alarms`, so that a condition that returns is stored again. */
  keepLasting(alarms: readonly string[]): void {
    const sql = "DELETE FROM lasting_alarms WHERE alarm NOT IN (SELECT value FROM json_each(?))";
    this.run(sql, JSON.stringify(alarms));
  }

  #add(raised: RaisedAlarm): void {
    const atMs = this.#clock.now();
    const { alarm, orderId, transactionId, about } = raised;
    const isOfCondition =
      lastingAlarms.has(alarm) && [orderId, transactionId, about].every((one) => one === null);
    const lasting = "SELECT 1 FROM lasting_alarms WHERE alarm = ?";
    const isKept = isOfCondition
      ? this.get(lasting, alarm) !== undefined
      : this.#isRepeated(raised, atMs);
    if (isKept) return;
    this.#insert(raised, atMs, isOfCondition);
  }

  #insert(raised: RaisedAlarm, atMs: number, isOfCondition: boolean): void {
    const { alarm, message, orderId, transactionId, about } = raised;
    // An alarm that is raised inside a database transaction is part of that transaction.
    inTransaction(this.database, () => {
      const sql = `INSERT INTO alarms (at_ms, alarm, message, order_id, transaction_id, about)
        VALUES (?, ?, ?, ?, ?, ?)`;
      this.run(sql, atMs, alarm, message, orderId, transactionId, about);
      if (isOfCondition) this.run("INSERT INTO lasting_alarms VALUES (?, ?)", alarm, atMs);
      this.run("DELETE FROM alarms WHERE id <= (SELECT max(id) FROM alarms) - ?", ALARMS_KEPT);
    });
  }

  /**
   * Whether an equal alarm was stored within a day. An alarm about an order is never a repetition,
   * except for the alarms in `repeating`.
   */
  #isRepeated(raised: RaisedAlarm, nowMs: number): boolean {
    const { alarm, message, orderId, transactionId, about } = raised;
    const subject = [orderId, transactionId, about];
    if (subject.some((one) => one !== null) && !repeating.includes(alarm)) return false;
    const sql = `SELECT at_ms AS atMs FROM alarms WHERE alarm = ? AND message = ?
      AND order_id IS ? AND transaction_id IS ? AND about IS ? ORDER BY id DESC LIMIT 1`;
    const before = this.get<{ atMs: number }>(sql, alarm, message, ...subject);
    const ageMs = nowMs - (before?.atMs ?? Number.NEGATIVE_INFINITY);
    return ageMs >= 0 && ageMs < REPEATED_AFTER_MS; // the age is negative if the clock was set back
  }
}
