import type { Migration } from "../../../shared/store/sqlite.ts";

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
