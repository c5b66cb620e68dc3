import { randomBytes } from "node:crypto";
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { invariant } from "../../../shared/invariant.ts";
import type { Migration } from "../../../shared/store/sqlite.ts";
import { type Clock, isoTime } from "../../../shared/time.ts";
import type { NewOrder, Order, OrderOperation, Payment, Step } from "./order.ts";

export const migrations: readonly Migration[] = [
  `
  CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    transaction_public_id TEXT NOT NULL UNIQUE,
    page_id TEXT NOT NULL UNIQUE,
    login TEXT NOT NULL,
    website_id INTEGER NOT NULL,
    merchant_reference TEXT NOT NULL,
    amount_minor INTEGER NOT NULL,
    currency TEXT NOT NULL,
    decimals INTEGER NOT NULL,
    manual_capture INTEGER NOT NULL,
    state TEXT NOT NULL,
    captured_minor INTEGER NOT NULL DEFAULT 0,
    refunded_minor INTEGER NOT NULL DEFAULT 0,
    payment_method TEXT NOT NULL DEFAULT '',
    card TEXT NOT NULL DEFAULT '',
    card_country TEXT NOT NULL DEFAULT '',
    enrolled_3ds INTEGER NOT NULL DEFAULT 0,
    customer_email TEXT NOT NULL DEFAULT '',
    customer_country TEXT NOT NULL DEFAULT '',
    free_data TEXT NOT NULL,
    fields TEXT NOT NULL,
    received_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX orders_by_reference ON orders (website_id, merchant_reference);

  CREATE TABLE arrivals (
    website_id INTEGER NOT NULL,
    merchant_reference TEXT NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (website_id, merchant_reference)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE operations (
    id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    amount_minor INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    fraud_at TEXT
  ) STRICT;
  CREATE INDEX operations_by_order ON operations (order_id);

  CREATE TABLE notifications (
    id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    subject TEXT NOT NULL,
    url TEXT NOT NULL,
    content_type TEXT NOT NULL,
    body TEXT NOT NULL,
    signature TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX notifications_waiting ON notifications (due_ms) WHERE state = 'waiting';
  CREATE INDEX notifications_by_order ON notifications (order_id);
  `,
];

/** Adds a row whose columns are the members in snake case. Returns its id. */
export function insertRow(
  database: DatabaseSync,
  table: string,
  members: Readonly<Record<string, SQLInputValue>>,
): number {
  const names = Object.keys(members);
  const marks = names.map(() => "?").join(", ");
  const { lastInsertRowid } = database
    .prepare(`INSERT INTO ${table} (${names.map(columnOf).join(", ")}) VALUES (${marks})`)
    .run(...Object.values(members));
  return Number(lastInsertRowid);
}

/** Changes the columns of one row that are the members in snake case. */
export function updateRow(
  database: DatabaseSync,
  table: string,
  id: number,
  members: Readonly<Record<string, SQLInputValue>>,
): void {
  const changes = Object.keys(members).map((name) => `${columnOf(name)} = ?`);
  database
    .prepare(`UPDATE ${table} SET ${changes.join(", ")} WHERE id = ?`)
    .run(...Object.values(members), id);
}

function columnOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the columns of a row as members in camel case. */
export function membersOf(row: Record<string, SQLOutputValue>): Record<string, SQLOutputValue> {
  const members = Object.entries(row).map(
    ([column, value]) =>
      [column.replace(/_(.)/g, (_, c: string) => c.toUpperCase()), value] as const,
  );
  return Object.fromEntries(members);
}

const SELECT = `
  SELECT orders.*, coalesce(arrivals.requests, 0) AS requests
  FROM orders LEFT JOIN arrivals USING (website_id, merchant_reference)`;
const NEWEST = "ORDER BY orders.id DESC LIMIT ?";

/** The sandbox's orders. The caller opens the transaction, so that one request is one commit. */
export class OrderStore {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;

  constructor(database: DatabaseSync, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Counts a request, whether or not an order comes of it. */
  countArrival(websiteId: number, merchantReference: string): void {
    this.#database
      .prepare(
        `INSERT INTO arrivals VALUES (?, ?, 1)
         ON CONFLICT DO UPDATE SET requests = requests + 1`,
      )
      .run(websiteId, merchantReference);
  }

  insert(order: NewOrder): Order {
    const now = this.#now();
    const id = insertRow(this.#database, "orders", {
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
    const inserted = this.byId(id);
    invariant(inserted, "an inserted order can be read");
    return inserted;
  }

  /** Writes the state that follows from one step. */
  change(id: number, next: Step["next"]): void {
    updateRow(this.#database, "orders", id, { ...next, updatedAt: this.#now() });
  }

  paidWith(id: number, payment: Payment): void {
    const { paymentMethod, card, cardCountry, customerEmail, customerCountry } = payment;
    const paid = { paymentMethod, card, cardCountry, customerEmail, customerCountry };
    updateRow(this.#database, "orders", id, { ...paid, enrolled_3ds: payment.enrolled3ds ? 1 : 0 });
  }

  /** Adds to an order's history. */
  addOperation(orderId: number, { type, status, amountMinor }: Omit<Step, "next">): void {
    const now = this.#now();
    const times = { createdAt: now, updatedAt: now };
    insertRow(this.#database, "operations", { orderId, type, status, amountMinor, ...times });
  }

  /** Marks the capture of an order as fraudulent. Returns false if there is none. */
  markFraud(orderId: number): boolean {
    const now = this.#now();
    const { changes } = this.#database
      .prepare(
        `UPDATE operations SET fraud_at = ?, updated_at = ?
         WHERE order_id = ? AND type = 'capture' AND status = 'ok'`,
      )
      .run(now, now, orderId);
    return changes > 0;
  }

  /** Returns the history of an order, oldest first. */
  operations(orderId: number): OrderOperation[] {
    return this.#database
      .prepare(
        `SELECT id, type, status, amount_minor, created_at, updated_at,
           coalesce(fraud_at, '') AS fraud_at
         FROM operations WHERE order_id = ? ORDER BY id`,
      )
      .all(orderId)
      .map((row) => membersOf(row) as unknown as OrderOperation);
  }

  byId(id: number): Order | undefined {
    return this.#all("WHERE orders.id = ?", id)[0];
  }

  byPublicId(transactionPublicId: string): Order | undefined {
    return this.#all("WHERE transaction_public_id = ?", transactionPublicId)[0];
  }

  byPageId(pageId: string): Order | undefined {
    return this.#all("WHERE page_id = ?", pageId)[0];
  }

  /** Returns the newest order of a merchant with this reference. */
  byReference(login: string, merchantReference: string): Order | undefined {
    const where = `WHERE login = ? AND merchant_reference = ? ${NEWEST}`;
    return this.#all(where, login, merchantReference, 1)[0];
  }

  /** Returns the newest first. */
  list(limit: number, merchantReference?: string): Order[] {
    return merchantReference === undefined
      ? this.#all(NEWEST, limit)
      : this.#all(`WHERE merchant_reference = ? ${NEWEST}`, merchantReference, limit);
  }

  count(): number {
    return Number(this.#database.prepare("SELECT count(*) AS n FROM orders").get()?.["n"]);
  }

  #now(): string {
    return isoTime(this.#clock.now());
  }

  /** Returns a new id, which begins with the time in seconds in hex (docs/gateway.md 2.9). */
  #newPublicId(): string {
    const seconds = Math.floor(this.#clock.now() / 1_000);
    const time = seconds.toString(16).padStart(8, "0").slice(-8);
    return (time + randomBytes(4).toString("hex")).toUpperCase();
  }

  #all(where: string, ...values: readonly (string | number)[]): Order[] {
    return this.#database
      .prepare(`${SELECT} ${where}`)
      .all(...values)
      .map(toOrder);
  }
}

function toOrder(row: Record<string, SQLOutputValue>): Order {
  return {
    ...(membersOf(row) as unknown as Order),
    manualCapture: row["manual_capture"] === 1,
    enrolled3ds: row["enrolled_3ds"] === 1,
    freeData: JSON.parse(String(row["free_data"])),
    fields: JSON.parse(String(row["fields"])),
  };
}
