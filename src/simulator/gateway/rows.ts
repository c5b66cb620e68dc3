import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type Migration, Tables } from "../../shared/store/sqlite.ts";
import { type Clock, isoTime } from "../../shared/time.ts";

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

/** A row of a table: each member is a column, whose name in the database is in snake case. */
type Members = Readonly<Record<string, SQLInputValue>>;

export class Rows extends Tables {
  protected readonly clock: Clock;

  constructor(database: DatabaseSync, clock: Clock) {
    super(database);
    this.clock = clock;
  }

  protected now(): string {
    return isoTime(this.clock.now());
  }

  protected insert(table: string, members: Members): number {
    const names = Object.keys(members);
    const marks = names.map(() => "?").join(", ");
    const sql = `INSERT INTO ${table} (${names.map(columnOf).join(", ")}) VALUES (${marks})`;
    return Number(this.database.prepare(sql).run(...Object.values(members)).lastInsertRowid);
  }

  protected update(table: string, id: number, members: Members): void {
    const changed = { ...members, updatedAt: this.now() };
    const changes = Object.keys(changed).map((name) => `${columnOf(name)} = ?`);
    const sql = `UPDATE ${table} SET ${changes.join(", ")} WHERE id = ?`;
    this.run(sql, ...Object.values(changed), id);
  }

  protected found<T>(sql: string, ...values: readonly (string | number)[]): T[] {
    return this.all<Members>(sql, ...values).map((row) => membersOf(row) as T);
  }
}

function columnOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function membersOf(row: Members): Members {
  const memberOf = (column: string): string =>
    column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [memberOf(column), value]),
  );
}
