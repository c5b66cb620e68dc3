import { randomBytes } from "node:crypto";
import { invariant } from "../../../shared/invariant.ts";
import { Rows } from "../rows.ts";
import type { NewOrder, Order, OrderOperation, Payment, Step } from "./order.ts";

const SELECT = `
  SELECT orders.*, coalesce(arrivals.requests, 0) AS requests
  FROM orders LEFT JOIN arrivals USING (website_id, merchant_reference)`;
const NEWEST = "ORDER BY orders.id DESC LIMIT ?";

/** The sandbox's orders. The caller opens the database transaction: one commit for each request. */
export class OrderStore extends Rows {
  /** Counts an order request with this merchant reference, even if it creates no order. */
  countArrival(websiteId: number, merchantReference: string): void {
    this.run(
      `INSERT INTO arrivals VALUES (?, ?, 1)
       ON CONFLICT DO UPDATE SET requests = requests + 1`,
      websiteId,
      merchantReference,
    );
  }

  create(order: NewOrder): Order {
    const now = this.now();
    const id = this.insert("orders", {
      ...order,
      transactionPublicId: this.#newPublicId(),
      pageId: randomBytes(16).toString("hex"),
      manualCapture: order.manualCapture ? 1 : 0,
      state: "created",
      freeData: JSON.stringify(order.freeData),
      fields: JSON.stringify(order.fields),
      receivedAt: now,
      updatedAt: now,
    });
    return this.known(id);
  }

  change(id: number, next: Partial<Step["next"]>): void {
    this.update("orders", id, { ...next });
  }

  paidWith(id: number, payment: Payment): void {
    const { paymentMethod, card, cardCountry, customerEmail, customerCountry } = payment;
    const paid = { paymentMethod, card, cardCountry, customerEmail, customerCountry };
    this.update("orders", id, { ...paid, enrolled_3ds: payment.enrolled3ds ? 1 : 0 });
  }

  addOperation(orderId: number, { type, status, amountMinor }: Omit<Step, "next">): void {
    const times = { createdAt: this.now(), updatedAt: this.now() };
    this.insert("operations", { orderId, type, status, amountMinor, ...times });
  }

  /** Marks the captured payment of an order as fraud. Returns false if nothing was captured. */
  markFraud(orderId: number): boolean {
    const now = this.now();
    const sql = `UPDATE operations SET fraud_at = ?, updated_at = ?
      WHERE order_id = ? AND type = 'capture' AND status = 'ok'`;
    return this.run(sql, now, now, orderId) > 0;
  }

  /** Returns the history of an order, oldest first. */
  operations(orderId: number): OrderOperation[] {
    return this.found(
      `SELECT id, type, status, amount_minor, created_at, updated_at,
         coalesce(fraud_at, '') AS fraud_at
       FROM operations WHERE order_id = ? ORDER BY id`,
      orderId,
    );
  }

  /** Returns the order with this id, which exists because orders are never removed. */
  known(id: number): Order {
    const order = this.byId(id);
    invariant(order, "an order that was created can be read");
    return order;
  }

  byId(id: number): Order | undefined {
    return this.#where("orders.id = ?", id)[0];
  }

  byPublicId(transactionPublicId: string): Order | undefined {
    return this.#where("transaction_public_id = ?", transactionPublicId)[0];
  }

  byPageId(pageId: string): Order | undefined {
    return this.#where("page_id = ?", pageId)[0];
  }

  /** Returns the newest order of a merchant with this reference. */
  byReference(login: string, merchantReference: string): Order | undefined {
    return this.#where(
      `login = ? AND merchant_reference = ? ${NEWEST}`,
      login,
      merchantReference,
      1,
    )[0];
  }

  list(limit: number, merchantReference?: string): Order[] {
    return merchantReference === undefined
      ? this.#where(`TRUE ${NEWEST}`, limit)
      : this.#where(`merchant_reference = ? ${NEWEST}`, merchantReference, limit);
  }

  count(): number {
    return this.get<{ n: number }>("SELECT count(*) AS n FROM orders")?.n ?? 0;
  }

  /** Returns a new id, which begins with the time: seconds in hex (docs/gateway.md 2.9). */
  #newPublicId(): string {
    const seconds = Math.floor(this.clock.now() / 1_000);
    const time = seconds.toString(16).padStart(8, "0").slice(-8);
    return (time + randomBytes(4).toString("hex")).toUpperCase();
  }

  #where(condition: string, ...values: readonly (string | number)[]): Order[] {
    return this.found<Record<string, unknown>>(`${SELECT} WHERE ${condition}`, ...values).map(
      (row) =>
        ({
          ...row,
          manualCapture: row["manualCapture"] === 1,
          enrolled3ds: row["enrolled3ds"] === 1,
          freeData: JSON.parse(String(row["freeData"])),
          fields: JSON.parse(String(row["fields"])),
        }) as unknown as Order,
    );
  }
}
