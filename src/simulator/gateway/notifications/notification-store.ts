import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../shared/time.ts";
import { insertRow, membersOf } from "../orders/rows.ts";
import type { DeliveryState } from "./retry-policy.ts";

interface NewNotification {
  readonly orderId: number;
  /** For people: "capture ok", "fraud". */
  readonly subject: string;
  readonly url: string;
  readonly contentType: string;
  /** The bytes of the request body. */
  readonly body: string;
  /** Value of the signature header, "" for none. */
  readonly signature: string;
  readonly dueMs: number;
}

export interface Notification extends NewNotification {
  readonly id: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The end of the last attempt: an HTTP status or the fault of the connection. */
  readonly outcome: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Notifications and their delivery, oldest first. */
export class NotificationStore {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;

  constructor(database: DatabaseSync, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  add(notification: NewNotification): void {
    const now = this.#now();
    const times = { createdAt: now, updatedAt: now };
    insertRow(this.#database, "notifications", { ...notification, state: "waiting", ...times });
  }

  due(nowMs: number, limit: number): Notification[] {
    return this.#all(
      "WHERE state = 'waiting' AND due_ms <= ? ORDER BY due_ms, id LIMIT ?",
      nowMs,
      limit,
    );
  }

  /** Those that wait for another attempt wait no longer. */
  hasten(): void {
    const nowMs = this.#clock.now();
    this.#database
      .prepare("UPDATE notifications SET due_ms = ? WHERE state = 'waiting' AND due_ms > ?")
      .run(nowMs, nowMs);
  }

  /** When the next one after a time is due, or nothing when none waits. */
  nextDueAfterMs(nowMs: number): number | undefined {
    const row = this.#database
      .prepare(
        "SELECT min(due_ms) AS due FROM notifications WHERE state = 'waiting' AND due_ms > ?",
      )
      .get(nowMs);
    return row?.["due"] == null ? undefined : Number(row["due"]);
  }

  recordAttempt(id: number, state: DeliveryState, outcome: string, dueMs: number): void {
    this.#database
      .prepare(
        `UPDATE notifications SET state = ?, outcome = ?, due_ms = ?, updated_at = ?,
           attempts = attempts + 1 WHERE id = ?`,
      )
      .run(state, outcome, dueMs, this.#now(), id);
  }

  ofOrder(orderId: number): Notification[] {
    return this.#all("WHERE order_id = ? ORDER BY id", orderId);
  }

  /** The newest ones, newest first. */
  latest(limit: number): Notification[] {
    return this.#all("ORDER BY id DESC LIMIT ?", limit);
  }

  #all(where: string, ...values: number[]): Notification[] {
    return this.#database
      .prepare(`SELECT * FROM notifications ${where}`)
      .all(...values)
      .map((row) => membersOf(row) as unknown as Notification);
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}
