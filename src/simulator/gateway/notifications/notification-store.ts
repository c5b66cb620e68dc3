import { Rows } from "../rows.ts";

/**
 * The pauses in ms after no, one, two and more attempts to deliver a notification: short ones for
 * shops that are busy for a moment, long ones for shops that are down. After more attempts than
 * this no other is made. The schedule of the real gateway is not public (docs/gateway.md 3.6).
 */
const pausesMs = [0, 2_000, 10_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];

type DeliveryState = "waiting" | "delivered" | "refused" | "given-up";

/** The outcome of one attempt to deliver a notification, and the merchant's answer. */
export interface Attempt {
  readonly verdict: "taken" | "refused" | "again";
  readonly answer: string;
}

/** Returns the outcome that an HTTP status means, whatever the body says (docs/gateway.md 3.5). */
export function verdictOf(status: number): Attempt["verdict"] {
  if (status >= 200 && status < 300) return "taken";
  return status < 500 ? "refused" : "again";
}

function stateAfter(verdict: Attempt["verdict"], attempts: number): DeliveryState {
  if (verdict === "taken") return "delivered";
  if (verdict === "refused") return "refused";
  return attempts < pausesMs.length ? "waiting" : "given-up";
}

export interface NewNotification {
  readonly orderId: number;
  /** The event as people read it: "capture ok", "fraud". */
  readonly subject: string;
  readonly url: string;
  readonly contentType: string;
  readonly body: string;
  /** The value of the signature header; "": the notification is sent without that header. */
  readonly signature: string;
  readonly dueMs: number;
}

export interface Notification extends NewNotification {
  readonly id: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The result of the last attempt: an HTTP status, or the error of the connection. */
  readonly outcome: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export class NotificationStore extends Rows {
  add(notification: NewNotification): void {
    const times = { createdAt: this.now(), updatedAt: this.now() };
    this.insert("notifications", { ...notification, state: "waiting", ...times });
  }

  /** Returns the notifications that are due; the one that has been due longest comes first. */
  due(nowMs: number, limit: number): Notification[] {
    const where = "WHERE state = 'waiting' AND due_ms <= ? ORDER BY due_ms, id LIMIT ?";
    return this.#select(where, nowMs, limit);
  }

  /** Makes every notification that waits for another attempt due now. */
  hasten(): void {
    const nowMs = this.clock.now();
    const sql = "UPDATE notifications SET due_ms = ? WHERE state = 'waiting' AND due_ms > ?";
    this.run(sql, nowMs, nowMs);
  }

  /** Returns the earliest due time after `nowMs`; undefined: no notification is due later. */
  nextDueAfterMs(nowMs: number): number | undefined {
    const sql =
      "SELECT min(due_ms) AS due FROM notifications WHERE state = 'waiting' AND due_ms > ?";
    return this.get<{ due: number | null }>(sql, nowMs)?.due ?? undefined;
  }

  recordAttempt({ id, attempts: earlier }: Notification, { verdict, answer }: Attempt): void {
    const attempts = earlier + 1;
    this.update("notifications", id, {
      state: stateAfter(verdict, attempts),
      outcome: answer,
      attempts,
      dueMs: this.clock.now() + (pausesMs[attempts] ?? 0),
    });
  }

  /** Returns the notifications of an order, oldest first. */
  ofOrder(orderId: number): Notification[] {
    return this.#select("WHERE order_id = ? ORDER BY id", orderId);
  }

  latest(limit: number): Notification[] {
    return this.#select("ORDER BY id DESC LIMIT ?", limit);
  }

  #select(where: string, ...values: number[]): Notification[] {
    return this.found(`SELECT * FROM notifications ${where}`, ...values);
  }
}
