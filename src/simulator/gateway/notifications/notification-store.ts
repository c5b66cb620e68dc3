import type { DatabaseSync } from "node:sqlite";
import { type Clock, isoTime } from "../../../shared/time.ts";
import { insertRow, membersOf, updateRow } from "../orders/order-store.ts";

/**
 * Seconds between two attempts. The real schedule is not public (docs/gateway.md 3.6): short pauses
 * first, for shops that were only locked, long ones for those that are down.
 */
const pausesSeconds: readonly number[] = [2, 10, 30, 120, 600, 1_800, 3_600];

/** Returns the pause after this many attempts; undefined: the notification is given up. */
export function pauseAfterMs(attempts: number): number | undefined {
  const seconds = pausesSeconds[attempts - 1];
  return seconds && seconds * 1_000;
}

type DeliveryState = "waiting" | "delivered" | "refused" | "given-up";

/** How an attempt to deliver ended, and what was answered. */
export interface Attempt {
  readonly verdict: "taken" | "refused" | "again";
  readonly answer: string;
}

/** Returns what an HTTP status means; the body does not count (docs/gateway.md 3.5). */
export function verdictOf(status: number): Attempt["verdict"] {
  if (status >= 200 && status < 300) return "taken";
  return status < 500 ? "refused" : "again";
}

export function stateAfter(verdict: Attempt["verdict"], attempts: number): DeliveryState {
  if (verdict === "taken") return "delivered";
  if (verdict === "refused") return "refused";
  return pauseAfterMs(attempts) === undefined ? "given-up" : "waiting";
}

export interface NewNotification {
  readonly orderId: number;
  /** What the notification is about, for people: "capture ok", "fraud". */
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
  /** How the last attempt ended: an HTTP status, or the error of the connection. */
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
    const where = "WHERE state = 'waiting' AND due_ms <= ? ORDER BY due_ms, id LIMIT ?";
    return this.#all(where, nowMs, limit);
  }

  /** Makes all that wait for another attempt due now. */
  hasten(): void {
    const nowMs = this.#clock.now();
    this.#database
      .prepare("UPDATE notifications SET due_ms = ? WHERE state = 'waiting' AND due_ms > ?")
      .run(nowMs, nowMs);
  }

  /** Returns when the next one after this time is due; undefined: none waits. */
  nextDueAfterMs(nowMs: number): number | undefined {
    const row = this.#database
      .prepare(
        "SELECT min(due_ms) AS due FROM notifications WHERE state = 'waiting' AND due_ms > ?",
      )
      .get(nowMs);
    return row?.["due"] == null ? undefined : Number(row["due"]);
  }

  /** Writes how an attempt ended, and when the next one is due. */
  recordAttempt({ id, attempts: earlier }: Notification, { verdict, answer }: Attempt): void {
    const attempts = earlier + 1;
    updateRow(this.#database, "notifications", id, {
      state: stateAfter(verdict, attempts),
      outcome: answer,
      attempts,
      dueMs: this.#clock.now() + (pauseAfterMs(attempts) ?? 0),
      updatedAt: this.#now(),
    });
  }

  ofOrder(orderId: number): Notification[] {
    return this.#all("WHERE order_id = ? ORDER BY id", orderId);
  }

  /** Returns the newest ones first. */
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
    return isoTime(this.#clock.now());
  }
}
