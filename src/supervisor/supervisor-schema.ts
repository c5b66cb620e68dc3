import type { Migration } from "../shared/store/sqlite.ts";
import { proofMigration, storeMigration } from "../shared/store/store.ts";

/** The schema of data/supervisor.db in steps: append steps, never change a step. */
export const supervisorMigrations: readonly Migration[] = [
  `
  CREATE TABLE transactions (
    transaction_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL,
    stored_at_ms INTEGER NOT NULL,
    content TEXT NOT NULL -- JSON, as handed over
  ) STRICT;
  CREATE INDEX transactions_by_order ON transactions (order_id);

  CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    transaction_id TEXT NOT NULL UNIQUE REFERENCES transactions,
    state TEXT NOT NULL DEFAULT 'pending'
      CHECK (state IN ('pending', 'sent', 'parked', 'closed')),
    queued_at_ms INTEGER NOT NULL,
    next_try_at_ms INTEGER NOT NULL,
    delayed_at_ms INTEGER NOT NULL, -- when next_try_at_ms was set; later than now: clock went back
    claimed_at_ms INTEGER, -- a try is running
    tries INTEGER NOT NULL DEFAULT 0, -- begun
    failures INTEGER NOT NULL DEFAULT 0,
    no_result_since_ms INTEGER,
    no_result_tries INTEGER NOT NULL DEFAULT 0,
    ambiguous INTEGER NOT NULL DEFAULT 0, -- the answer of at least one try was lost
    redirect_url TEXT, -- can be paid: never logged, never returned
    settled_at_ms INTEGER,
    reason TEXT -- why parked or closed
  ) STRICT;
  CREATE INDEX outbox_due ON outbox (next_try_at_ms, sequence) WHERE state = 'pending';
  CREATE INDEX outbox_age ON outbox (queued_at_ms) WHERE state = 'pending';
  CREATE INDEX outbox_claimed ON outbox (claimed_at_ms) WHERE claimed_at_ms IS NOT NULL;

  CREATE TABLE attempts (
    transaction_id TEXT NOT NULL REFERENCES transactions,
    number INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER NOT NULL,
    class TEXT NOT NULL, -- a row of the fault table
    http_status INTEGER,
    code INTEGER,
    description TEXT NOT NULL,
    ambiguous INTEGER NOT NULL,
    notes TEXT NOT NULL, -- JSON array: what was cut or left out of the request
    PRIMARY KEY (transaction_id, number)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE outbox_counts (state TEXT PRIMARY KEY, items INTEGER NOT NULL) STRICT;
  INSERT INTO outbox_counts VALUES ('pending', 0), ('sent', 0), ('parked', 0), ('closed', 0);
  CREATE TRIGGER outbox_added AFTER INSERT ON outbox BEGIN
    UPDATE outbox_counts SET items = items + 1 WHERE state = NEW.state;
  END;
  CREATE TRIGGER outbox_moved AFTER UPDATE OF state ON outbox WHEN OLD.state <> NEW.state BEGIN
    UPDATE outbox_counts SET items = items - 1 WHERE state = OLD.state;
    UPDATE outbox_counts SET items = items + 1 WHERE state = NEW.state;
  END;
  `,
  `
  ALTER TABLE outbox ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0; -- closed by an operator
  CREATE TABLE operator_actions (
    id INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL REFERENCES transactions,
    at_ms INTEGER NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('requeue', 'drop')),
    note TEXT NOT NULL
  ) STRICT;
  CREATE INDEX operator_actions_of ON operator_actions (transaction_id, id);
  `,
  `
  -- The gateway's id of an order, learnt only from a verified notification or a lookup.
  CREATE TABLE gateway_ids (
    transaction_public_id TEXT PRIMARY KEY,
    transaction_id TEXT NOT NULL REFERENCES transactions,
    learnt_from TEXT NOT NULL CHECK (learnt_from IN ('notification', 'lookup')),
    learnt_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX gateway_ids_of ON gateway_ids (transaction_id);

  CREATE TABLE gateway_operations (
    operation_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('confirm', 'cancel', 'refund')),
    transaction_public_id TEXT NOT NULL,
    amount_minor INTEGER, -- null: all of it
    currency TEXT NOT NULL,
    exponent INTEGER NOT NULL,
    state TEXT NOT NULL
      CHECK (state IN ('sending', 'done', 'refused', 'not-sent', 'unknown')),
    asked_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    class TEXT, -- a row of the fault table
    http_status INTEGER,
    code INTEGER,
    description TEXT NOT NULL DEFAULT '',
    settled_by TEXT -- 'answer', 'notification', 'lookup', 'operator'
  ) STRICT;
  CREATE UNIQUE INDEX gateway_operations_open ON gateway_operations (transaction_public_id)
    WHERE state IN ('sending', 'unknown');
  CREATE INDEX gateway_operations_of ON gateway_operations (transaction_public_id, asked_at_ms);

  -- Asked about before they arrived: they are not carried out should they come late.
  CREATE TABLE gateway_operations_forbidden (
    operation_id TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE notifications (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE, -- SHA-256 of the verified bytes
    kind TEXT NOT NULL CHECK (kind IN ('operation', 'fraud')),
    verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'mismatch')),
    transaction_id TEXT REFERENCES transactions, -- ours, when it is about one of ours
    transaction_public_id TEXT,
    operation TEXT NOT NULL,
    status TEXT NOT NULL,
    amount_minor INTEGER, -- of this operation, when it says so
    received_at_ms INTEGER NOT NULL,
    copies INTEGER NOT NULL DEFAULT 1,
    parsed TEXT NOT NULL, -- JSON, card numbers masked
    raw TEXT NOT NULL -- as received, card numbers masked
  ) STRICT;
  CREATE INDEX notifications_of ON notifications (transaction_id, id);
  `,
  `
  -- What an operator has to look at, until tp-manager has told it. Ids are never given twice.
  CREATE TABLE alarms (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    alarm TEXT NOT NULL,
    message TEXT NOT NULL,
    order_id TEXT,
    transaction_id TEXT
  ) STRICT;
  CREATE TABLE alarm_origin (name TEXT NOT NULL) STRICT;
  INSERT INTO alarm_origin VALUES (lower(hex(randomblob(16))));
  `,
  `
  ALTER TABLE outbox ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0; -- details erased (retention)
  CREATE INDEX outbox_untrimmed ON outbox (settled_at_ms)
    WHERE trimmed = 0 AND dropped = 0 AND state IN ('sent', 'closed');
  CREATE INDEX outbox_pages ON outbox (settled_at_ms) WHERE redirect_url IS NOT NULL;
  CREATE INDEX notifications_raw ON notifications (received_at_ms) WHERE raw <> '';
  `,
  `
  -- An operator found that the gateway has no other transactions of these than those it has named.
  CREATE TABLE copies_settled (
    transaction_id TEXT PRIMARY KEY REFERENCES transactions,
    at_ms INTEGER NOT NULL,
    note TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- An alarm is about an order, a transaction, or something else with an id.
  ALTER TABLE alarms ADD COLUMN about TEXT;
  -- Alarms of troubles that are not over yet: told once, however long they last.
  CREATE TABLE lasting_alarms (alarm TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) STRICT;
  -- One row while notifications are refused.
  CREATE TABLE refused_notifications (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    accepted_ms INTEGER, -- a genuine one came after the last that was refused
    reason TEXT NOT NULL
  ) STRICT;
  CREATE INDEX outbox_parked ON outbox (settled_at_ms) WHERE state = 'parked';
  CREATE INDEX operations_unknown ON gateway_operations (ended_at_ms) WHERE state = 'unknown';
  `,
  `
  -- An order whose answer was lost is looked up before it is sent again.
  ALTER TABLE outbox ADD COLUMN look_next INTEGER NOT NULL DEFAULT 0; -- the next step is a lookup
  ALTER TABLE outbox ADD COLUMN sent_at_ms INTEGER; -- last send that may have arrived, in doubt
  ALTER TABLE outbox ADD COLUMN resends INTEGER NOT NULL DEFAULT 0; -- made without knowing
  ALTER TABLE outbox ADD COLUMN orders_possible INTEGER NOT NULL DEFAULT 0; -- at the gateway
  ALTER TABLE outbox ADD COLUMN absent_since_ms INTEGER; -- first lookup that did not find it
  ALTER TABLE outbox ADD COLUMN untold INTEGER NOT NULL DEFAULT 0; -- lookups in a row without word
  ALTER TABLE outbox ADD COLUMN lookups INTEGER NOT NULL DEFAULT 0; -- begun
  UPDATE outbox SET orders_possible = (SELECT count(*) FROM attempts
    WHERE attempts.transaction_id = outbox.transaction_id AND (ambiguous = 1 OR class = 'sent'))
    WHERE ambiguous = 1;
  UPDATE outbox SET look_next = 1, sent_at_ms = 0
    WHERE ambiguous = 1 AND state IN ('pending', 'parked');
  CREATE INDEX outbox_send_due ON outbox (next_try_at_ms, sequence)
    WHERE state = 'pending' AND look_next = 0;
  CREATE INDEX outbox_look_due ON outbox (next_try_at_ms, sequence)
    WHERE state = 'pending' AND look_next = 1;
  CREATE INDEX outbox_doubt ON outbox (sequence) WHERE state = 'pending' AND sent_at_ms IS NOT NULL;
  CREATE INDEX outbox_copies ON outbox (sequence) WHERE orders_possible > 1;
  CREATE TABLE ambiguous_sends (sends INTEGER NOT NULL) STRICT;
  INSERT INTO ambiguous_sends VALUES (0);
  `,
  // Adds the tables that show whether this database or the journal was lost or restored.
  `
  ${storeMigration}
  CREATE TABLE store_count (count INTEGER NOT NULL) STRICT;
  INSERT INTO store_count VALUES (0);
  CREATE TRIGGER store_counts_item AFTER INSERT ON outbox BEGIN
    UPDATE store_count SET count = count + 1;
  END;
  CREATE TRIGGER store_counts_step AFTER UPDATE OF state, claimed_at_ms ON outbox
    WHEN OLD.state <> NEW.state OR OLD.claimed_at_ms IS NOT NEW.claimed_at_ms BEGIN
    UPDATE store_count SET count = count + 1;
  END;
  CREATE TRIGGER store_counts_operation AFTER INSERT ON gateway_operations BEGIN
    UPDATE store_count SET count = count + 1;
  END;
  CREATE TRIGGER store_counts_operation_end AFTER UPDATE OF state ON gateway_operations BEGIN
    UPDATE store_count SET count = count + 1;
  END;
  CREATE TRIGGER store_counts_notification AFTER INSERT ON notifications BEGIN
    UPDATE store_count SET count = count + 1;
  END;
  CREATE TABLE store_loss (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    because TEXT NOT NULL,
    ended_at_ms INTEGER -- a whole journal has handed over again what was lost
  ) STRICT;
  -- The sale was reversed at the terminal, whatever became of the item.
  ALTER TABLE outbox ADD COLUMN reversed INTEGER NOT NULL DEFAULT 0;
  UPDATE outbox SET reversed = 1 WHERE state = 'closed' AND dropped = 0;
  `,
  // Drops the common index of due items, because sends and lookups have an index each.
  `
  DROP INDEX outbox_due;
  `,
  // Writes fewer pages per item: one index for due and claimed items, one table for counts.
  `
  DROP INDEX outbox_claimed;
  DROP INDEX outbox_send_due;
  DROP INDEX outbox_look_due;
  CREATE INDEX outbox_send_due ON outbox (claimed_at_ms, next_try_at_ms, sequence)
    WHERE state = 'pending' AND look_next = 0;
  CREATE INDEX outbox_look_due ON outbox (claimed_at_ms, next_try_at_ms, sequence)
    WHERE state = 'pending' AND look_next = 1;
  INSERT INTO outbox_counts SELECT 'steps', count FROM store_count;
  DROP TRIGGER outbox_added;
  DROP TRIGGER outbox_moved;
  DROP TRIGGER store_counts_item;
  DROP TRIGGER store_counts_step;
  DROP TRIGGER store_counts_operation;
  DROP TRIGGER store_counts_operation_end;
  DROP TRIGGER store_counts_notification;
  DROP TABLE store_count;
  CREATE TRIGGER outbox_added AFTER INSERT ON outbox BEGIN
    UPDATE outbox_counts SET items = items + 1 WHERE state IN (NEW.state, 'steps');
  END;
  CREATE TRIGGER outbox_claims AFTER UPDATE OF state, claimed_at_ms ON outbox
    WHEN OLD.state = NEW.state AND OLD.claimed_at_ms IS NOT NEW.claimed_at_ms BEGIN
    UPDATE outbox_counts SET items = items + 1 WHERE state = 'steps';
  END;
  CREATE TRIGGER outbox_moved AFTER UPDATE OF state, claimed_at_ms ON outbox
    WHEN OLD.state <> NEW.state BEGIN
    UPDATE outbox_counts SET items = items - 1 WHERE state = OLD.state;
    UPDATE outbox_counts SET items = items + 1 WHERE state IN (NEW.state, 'steps');
  END;
  CREATE TRIGGER store_counts_operation AFTER INSERT ON gateway_operations BEGIN
    UPDATE outbox_counts SET items = items + 1 WHERE state = 'steps';
  END;
  CREATE TRIGGER store_counts_operation_end AFTER UPDATE OF state ON gateway_operations BEGIN
    UPDATE outbox_counts SET items = items + 1 WHERE state = 'steps';
  END;
  CREATE TRIGGER store_counts_notification AFTER INSERT ON notifications BEGIN
    UPDATE outbox_counts SET items = items + 1 WHERE state = 'steps';
  END;
  `,
  // Writes fewer pages for each item: an item that is claimed when it is stored is not indexed as
  // waiting, and one index finds what can be erased.
  {
    goesOn: `
  DROP INDEX outbox_age;
  CREATE INDEX outbox_age ON outbox (queued_at_ms)
    WHERE state = 'pending' AND claimed_at_ms IS NULL;
  DROP INDEX outbox_pages;
  DROP INDEX outbox_untrimmed;
  CREATE INDEX outbox_erasable ON outbox (redirect_url IS NULL, settled_at_ms)
    WHERE state IN ('sent', 'closed')
      AND (redirect_url IS NOT NULL OR (trimmed = 0 AND dropped = 0));
  `,
  },
  // Adds indexes of closed items and of returns; a smooth payment has no row in these indexes.
  {
    goesOn: `
  CREATE INDEX outbox_closed ON outbox (sequence) WHERE state = 'closed';
  CREATE INDEX notifications_of_returns ON notifications (id)
    WHERE transaction_id IS NOT NULL AND verdict = 'accepted' AND kind = 'operation'
      AND status = 'ok' AND operation IN ('refund', 'cancellation', 'reject');
  `,
  },
  // Adds the timeline of an order: why tries ended without the gateway's answer, and which operator
  // had an item sent again or dropped it. A payment that goes well writes nothing here.
  {
    goesOn: `
  ALTER TABLE operator_actions ADD COLUMN by_whom TEXT; -- null: not told
  CREATE TABLE outbox_ends (
    id INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL REFERENCES transactions,
    at_ms INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sent', 'parked', 'closed')),
    reason TEXT NOT NULL
  ) STRICT;
  CREATE INDEX outbox_ends_of ON outbox_ends (transaction_id);
  INSERT INTO outbox_ends (transaction_id, at_ms, state, reason)
    SELECT transaction_id, ifnull(settled_at_ms, queued_at_ms), state, reason
    FROM outbox INDEXED BY outbox_parked
    WHERE state = 'parked' AND reason IS NOT NULL
    UNION ALL
    SELECT transaction_id, ifnull(settled_at_ms, queued_at_ms), state, reason
    FROM outbox INDEXED BY outbox_closed
    WHERE state = 'closed' AND dropped = 0 AND reason IS NOT NULL;
  CREATE TRIGGER outbox_ended AFTER UPDATE OF reason ON outbox
    WHEN NEW.reason IS NOT NULL AND NEW.reason IS NOT OLD.reason
      AND NEW.state <> 'pending' AND NEW.dropped = 0 BEGIN
    INSERT INTO outbox_ends (transaction_id, at_ms, state, reason)
      VALUES (NEW.transaction_id, ifnull(NEW.settled_at_ms, NEW.queued_at_ms), NEW.state,
        NEW.reason);
  END;
  `,
  },
  // Adds indexes so that no query takes longer the more items wait. Items without a delay are
  // always due, and are found apart from delayed ones. An item sent at once is in one index only.
  {
    goesOn: `
  DROP INDEX outbox_send_due;
  DROP INDEX outbox_look_due;
  DROP INDEX outbox_age;
  CREATE INDEX outbox_send_due
    ON outbox (claimed_at_ms, next_try_at_ms > delayed_at_ms, next_try_at_ms, sequence)
    WHERE state = 'pending' AND look_next = 0;
  CREATE INDEX outbox_look_due
    ON outbox (claimed_at_ms, next_try_at_ms > delayed_at_ms, next_try_at_ms, sequence)
    WHERE state = 'pending' AND look_next = 1;
  CREATE INDEX outbox_delayed ON outbox (look_next, delayed_at_ms, sequence)
    WHERE state = 'pending' AND claimed_at_ms IS NULL AND next_try_at_ms > delayed_at_ms;
  CREATE INDEX outbox_age ON outbox (look_next, queued_at_ms)
    WHERE state = 'pending' AND claimed_at_ms IS NULL;
  CREATE INDEX outbox_waiting ON outbox (sequence)
    WHERE state = 'pending' AND claimed_at_ms IS NULL;
  CREATE TABLE items_in_doubt (items INTEGER NOT NULL) STRICT;
  INSERT INTO items_in_doubt
    SELECT count(*) FROM outbox WHERE state = 'pending' AND sent_at_ms IS NOT NULL;
  CREATE TRIGGER outbox_doubts AFTER UPDATE OF state, sent_at_ms ON outbox
    WHEN (OLD.state = 'pending' AND OLD.sent_at_ms IS NOT NULL)
      <> (NEW.state = 'pending' AND NEW.sent_at_ms IS NOT NULL) BEGIN
    UPDATE items_in_doubt
      SET items = items + iif(NEW.state = 'pending' AND NEW.sent_at_ms IS NOT NULL, 1, -1);
  END;
  DROP INDEX outbox_doubt;
  `,
  },
  // Adds the caller's idempotency key of an operation, with the whole request.
  {
    goesOn: `
  ALTER TABLE gateway_operations ADD COLUMN idempotency_key TEXT;
  ALTER TABLE gateway_operations ADD COLUMN asked TEXT;
  CREATE INDEX gateway_operations_key ON gateway_operations (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
  `,
  },
  proofMigration,
  // Adds the last database loss before an order came; 0: none, or the lost file may have had it.
  { goesOn: "ALTER TABLE outbox ADD COLUMN after_loss INTEGER NOT NULL DEFAULT 0;" },
  // Adds the id of the newest notification when an operation was requested; NULL: not recorded.
  { goesOn: "ALTER TABLE gateway_operations ADD COLUMN after_notification INTEGER;" },
];
