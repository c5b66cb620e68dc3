import type { Migration } from "../../shared/store/sqlite.ts";

/** Schema of data/fleet.db. Append steps, never change one. */
export const fleetMigrations: readonly Migration[] = [
  `
  -- Documents that the broker does not have yet, oldest first.
  CREATE TABLE document (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    content TEXT NOT NULL -- JSON
  ) STRICT;
  -- The last event read, counters.
  CREATE TABLE figure (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  -- Payments that run.
  CREATE TABLE begun (transaction_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT;
  -- Alarms that were told as raised and have an end.
  CREATE TABLE raised (
    alarm TEXT NOT NULL,
    subject TEXT NOT NULL, -- a transaction id, or "" for an alarm of a trouble
    PRIMARY KEY (alarm, subject)
  ) STRICT, WITHOUT ROWID;
  -- Requests that were taken, whatever became of them.
  CREATE TABLE request (id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT;
  CREATE INDEX request_age ON request (at_ms);
  -- Holds of an update, by the version that is held back.
  CREATE TABLE hold (
    version TEXT PRIMARY KEY,
    used_ms INTEGER NOT NULL, -- of holds that have ended
    from_ms INTEGER, -- of the one that runs
    until_ms INTEGER
  ) STRICT;
  `,
];
