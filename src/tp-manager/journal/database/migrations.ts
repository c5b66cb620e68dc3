import type { Migration } from "../../../shared/store/sqlite.ts";
import { proofMigration, storeMigration } from "../../../shared/store/store.ts";

/** The kinds of attempt events that hold a record of the terminal; joined by OR for speed. */
const recordSteps = `report approved second-sale reversal-report told-late charged-late
  found-reversed recovery-charged recovery-reversed taken-over`.split(/\s+/);
const isRecordStep = (kind: string): string =>
  `(${recordSteps.map((step) => `${kind} = '${step}'`).join(" OR ")})`;

const stepRecord = (detail: string): string =>
  `coalesce(${detail} -> '$.report', ${detail} -> '$.observation.last.report')`;

const strayKind = (row: string): string => `iif(${row}unmatched = 1, 'unmatched', 'stray')`;

/**
 * The SQL condition that the table `record` does not have the transaction `r` yet. The search
 * begins with the trace number where there is one, because many records may share one second.
 */
const isUnseen = `AND NOT EXISTS (SELECT 1 FROM record INDEXED BY record_trace
      WHERE CAST(trace_number AS INTEGER) % 1000000
          = CAST(r ->> '$.traceNumber' AS INTEGER) % 1000000
        AND trace_number IS NOT NULL AND local_time IS r ->> '$.localTime'
        AND receipt_number IS r ->> '$.receiptNumber')
    AND (r ->> '$.traceNumber' IS NOT NULL OR NOT EXISTS (SELECT 1 FROM record
      INDEXED BY record_moment
      WHERE local_time = r ->> '$.localTime' AND local_date = r ->> '$.localDate'
        AND trace_number IS NULL AND receipt_number IS r ->> '$.receiptNumber'))`;

/** Returns the SQL that stores a terminal's record if it has a receipt number, trace or time. */
function keepRecord(
  transactionId: string,
  seenAs: string,
  json: string,
  atMs: string,
  from = "",
  condition = "",
): string {
  return `INSERT INTO record (at_ms, transaction_id, seen_as, good, result_code, amount_minor,
      receipt_number, trace_number, original_trace, terminal_id, local_date, local_time)
    SELECT at, attempt, seen, r ->> '$.good', r ->> '$.resultCode',
      r ->> '$.amountMinor', r ->> '$.receiptNumber', r ->> '$.traceNumber',
      r ->> '$.originalTrace', r ->> '$.terminalId', r ->> '$.localDate', r ->> '$.localTime'
    FROM (SELECT ${atMs} AS at, ${transactionId} AS attempt, ${seenAs} AS seen,
      ${json} AS r${from})
    WHERE coalesce(r ->> '$.receiptNumber', r ->> '$.traceNumber', r ->> '$.localTime')
      IS NOT NULL ${condition}`;
}

function keepBaseline(row: string, from: string): string {
  const record = `${row}baseline -> '$.last.report'`;
  return keepRecord("NULL", "'baseline'", record, `${row}started_at_ms`, from, isUnseen);
}

/** The journal's schema; JSON columns hold values that are read whole and never searched for. */
export const migrations: readonly Migration[] = [
  `
  CREATE TABLE attempt (
    transaction_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    amount_minor INTEGER NOT NULL,
    currency TEXT NOT NULL,
    generated_id INTEGER NOT NULL,
    answer_delivered INTEGER NOT NULL DEFAULT 0,
    phase TEXT NOT NULL CHECK (phase IN ('sent', 'charged', 'not-charged', 'in-doubt',
      'reversing', 'reversal-in-doubt', 'reversed')),
    request TEXT NOT NULL,
    state TEXT NOT NULL,
    baseline TEXT,
    ticket TEXT NOT NULL DEFAULT '',
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    receipt_number TEXT,
    trace_number TEXT,
    UNIQUE (order_id, number)
  ) STRICT;
  CREATE INDEX attempt_unfinished ON attempt (phase) 
    WHERE phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt');
  CREATE INDEX attempt_receipt ON attempt (receipt_number, trace_number)
    WHERE receipt_number IS NOT NULL;
  CREATE INDEX attempt_undelivered ON attempt (amount_minor, currency)
    WHERE generated_id = 1 AND answer_delivered = 0;

  CREATE TABLE attempt_event (
    id INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL REFERENCES attempt,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;
  CREATE INDEX attempt_event_of ON attempt_event (transaction_id, id);

  CREATE TABLE hand_off (
    id INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE REFERENCES attempt,
    body TEXT NOT NULL,
    acknowledged INTEGER NOT NULL DEFAULT 0,
    delivery TEXT NOT NULL DEFAULT 'pending',
    -- 0 not reversed, 1 reversed and the supervisor has yet to learn it, 2 it knows.
    withdrawn INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX hand_off_pending ON hand_off (id) WHERE acknowledged = 0 OR withdrawn = 1;

  CREATE TABLE telecollection (
    id INTEGER PRIMARY KEY,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    result TEXT
  ) STRICT;

  CREATE TABLE accepted_terminal (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL,
    accepted_at_ms INTEGER NOT NULL
  ) STRICT;
  `,
  // Adds the events that `GET /events` repeats after a Last-Event-ID; no event's id is reused.
  `
  CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX event_name ON event (name, id);
  `,
  `
  -- Money returned at the gateway, and the one return whose end is not known yet (JSON).
  ALTER TABLE attempt ADD COLUMN returned_minor INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE attempt ADD COLUMN open_return TEXT;
  CREATE INDEX attempt_open_return ON attempt (started_at_ms) WHERE open_return IS NOT NULL;
  `,
  // Adds the archive: short rows, kept for ever, of the orders older than JOURNAL_DAYS.
  `
  CREATE TABLE archived_order (
    transaction_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    amount_minor INTEGER NOT NULL,
    currency TEXT NOT NULL,
    generated_id INTEGER NOT NULL,
    delivery TEXT,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER NOT NULL,
    kept TEXT NOT NULL,
    UNIQUE (order_id, number)
  ) STRICT;
  `,
  // Adds who requested an end of day, so that one demand of the terminal leads to one end of day.
  "ALTER TABLE telecollection ADD COLUMN asked_by TEXT NOT NULL DEFAULT 'operator';",
  // Adds the id of the last alarm read from the supervisor, for each database of the supervisor.
  `
  CREATE TABLE alarm_taken (
    origin TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL,
    taken INTEGER NOT NULL -- the greatest: the one it has now
  ) STRICT;
  `,
  `
  -- What the gateway's notifications say was returned in all; and how far they are read.
  ALTER TABLE attempt ADD COLUMN notified_return_minor INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE returns_seen (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL
  ) STRICT;
  `,
  // Adds results that the terminal reported without a running payment, and the findings about them.
  `
  CREATE TABLE unexpected_report (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    report TEXT NOT NULL,
    identity TEXT NOT NULL,
    finding TEXT NOT NULL CHECK (finding IN
      ('open', 'not-good', 'held', 'reversed', 'gone', 'known', 'unclear')),
    -- The rowid of the first attempt that can be stored above it: a wall clock can jump.
    before_attempt INTEGER NOT NULL,
    because TEXT NOT NULL DEFAULT '',
    ended_at_ms INTEGER
  ) STRICT;
  `,
  // Adds to each attempt the last end of day before it, because clocks can jump. NULL: not known.
  "ALTER TABLE attempt ADD COLUMN after_telecollection INTEGER;",
  // Adds whether any money was paid back, even if of only one of several copies at the gateway.
  "ALTER TABLE attempt ADD COLUMN returned_some INTEGER NOT NULL DEFAULT 0;",
  // Adds the first end of day that can have closed an unmatched sale; older rows get 0: unknown.
  "ALTER TABLE unexpected_report ADD COLUMN before_telecollection INTEGER NOT NULL DEFAULT 0;",
  // Adds indexes for searches that would otherwise read whole tables. A payment writes to only one
  // of these indexes: the first, which replaces a larger one.
  `
  DROP INDEX attempt_undelivered;
  CREATE INDEX attempt_undelivered ON attempt (amount_minor, currency)
    WHERE generated_id = 1 AND answer_delivered = 0 AND phase <> 'not-charged';
  CREATE INDEX hand_off_undelivered ON hand_off (delivery)
    WHERE acknowledged = 1 AND delivery IN ('pending', 'parked');
  CREATE INDEX telecollection_demanded ON telecollection (started_at_ms)
    WHERE asked_by = 'terminal';
  CREATE INDEX telecollection_closing ON telecollection (id)
    WHERE (result IS NULL
      OR json_extract(result, '$.end') NOT IN ('refused', 'open-pre-authorisations'));
  CREATE INDEX unexpected_report_open ON unexpected_report (id) WHERE finding = 'open';
  CREATE INDEX unexpected_report_passing ON unexpected_report (id)
    WHERE finding NOT IN ('open', 'held');
  CREATE INDEX event_alarm_about ON event (json_extract(data, '$.transactionId'))
    WHERE name = 'alarm';
  CREATE INDEX alarm_taken_newest ON alarm_taken (taken);
  `,
  // Adds the comparisons of end-of-day totals and receipt numbers (docs/rules/18-totals.md).
  `
  CREATE TABLE reconciliation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    -- NULL: a missing receipt number.
    telecollection_id INTEGER UNIQUE,
    result TEXT NOT NULL
      CHECK (result IN ('agrees', 'differs', 'not-comparable', 'jump', 'refuted')),
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX reconciliation_jump ON reconciliation (id) WHERE telecollection_id IS NULL;
  -- The terminal that was closed.
  ALTER TABLE telecollection ADD COLUMN identity TEXT;
  -- What a comparison says against the answer that was told about the attempt (JSON).
  ALTER TABLE attempt ADD COLUMN suspicion TEXT;
  CREATE INDEX attempt_suspected ON attempt (started_at_ms) WHERE suspicion IS NOT NULL;
  -- Only where the next comparison can still need it; then the rest is in \`kept\`.
  ALTER TABLE archived_order ADD COLUMN after_telecollection INTEGER;
  CREATE INDEX archived_comparable ON archived_order (after_telecollection)
    WHERE after_telecollection IS NOT NULL;
  CREATE INDEX archived_incomparable ON archived_order (started_at_ms)
    WHERE after_telecollection IS NULL;
  `,
  "CREATE INDEX attempt_event_reversal ON attempt_event (id) WHERE kind = 'reversal-begins';",
  // Adds the marks of the journal and of the supervisor's database, by which a loss is noticed.
  `
  ${storeMigration}
  -- The supervisor's database was lost: so far its transactions are handed over again. One row
  -- while that is under way.
  CREATE TABLE hand_over_again (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    archived_after INTEGER NOT NULL,
    hand_off_after INTEGER NOT NULL
  ) STRICT;
  -- The supervisor refuses this row: when it was put aside, and why.
  ALTER TABLE hand_off ADD COLUMN set_aside_ms INTEGER;
  ALTER TABLE hand_off ADD COLUMN refused TEXT;
  -- Nobody knows what was paid before: the journal was lost, or is an older or another one.
  CREATE TABLE store_doubt (
    id INTEGER PRIMARY KEY,
    since_ms INTEGER NOT NULL,
    because TEXT NOT NULL,
    both INTEGER NOT NULL, -- the supervisor may lack something too
    -- Attempts and ends of day with smaller numbers were begun before.
    before_attempt INTEGER NOT NULL,
    before_telecollection INTEGER NOT NULL,
    taken_to INTEGER NOT NULL DEFAULT 0, -- how far the supervisor's orders are taken over
    taken_over_at_ms INTEGER,
    unmatched TEXT NOT NULL DEFAULT '[]', -- JSON: sales of the terminal that no order here has
    ended_at_ms INTEGER,
    ended_by TEXT CHECK (ended_by IN ('end-of-day', 'operator'))
  ) STRICT;
  CREATE INDEX store_doubt_open ON store_doubt (id) WHERE ended_at_ms IS NULL;
  `,
  // Adds whether no order here can have made an unmatched transaction; older rows get 0: no.
  "ALTER TABLE unexpected_report ADD COLUMN unmatched INTEGER NOT NULL DEFAULT 0;",
  // Adds since when the kiosk has not read that an order is charged (docs/rules/11-unread.md).
  `
  ALTER TABLE attempt ADD COLUMN unread_since_ms INTEGER;
  CREATE INDEX attempt_unread ON attempt (unread_since_ms) WHERE unread_since_ms IS NOT NULL;
  CREATE INDEX hand_off_standing ON hand_off (id) WHERE withdrawn = 2 AND delivery <> 'closed';
  `,
  // Adds indexes for listings by status and time, and for attempts that may be sales. The index by
  // status replaces an index that each payment had to write as well.
  `
  ALTER TABLE attempt ADD COLUMN status TEXT AS (CASE phase
    WHEN 'sent' THEN iif(json_extract(state, '$.goods') IS NOT NULL
      AND json_extract(state, '$.goods.decision') IS NULL, 'Approved', 'Unknown')
    WHEN 'charged' THEN iif(open_return IS NULL
      AND max(returned_minor, notified_return_minor) > 0
      AND max(returned_minor, notified_return_minor) >=
        ifnull(json_extract(state, '$.report.amountMinor'), amount_minor), 'Reversed', 'Success')
    WHEN 'not-charged' THEN CASE json_extract(state, '$.outcome.status')
      WHEN 'declined' THEN 'Declined' WHEN 'cancelled' THEN 'Cancelled' ELSE 'Failed' END
    WHEN 'reversed' THEN 'Reversed'
    ELSE 'Unknown' END) VIRTUAL;
  CREATE INDEX attempt_status ON attempt (status, started_at_ms);
  DROP INDEX attempt_unfinished;
  CREATE INDEX attempt_sold ON attempt (phase <> 'not-charged') WHERE phase <> 'not-charged';
  ALTER TABLE archived_order ADD COLUMN status TEXT AS (CASE json_extract(kept, '$.end.phase')
    WHEN 'charged' THEN iif(ifnull(json_extract(kept, '$.end.returnedMinor'), 0) > 0
      AND json_extract(kept, '$.end.returnedMinor') >=
        ifnull(json_extract(kept, '$.end.chargedMinor'), amount_minor), 'Reversed', 'Success')
    WHEN 'not-charged' THEN CASE json_extract(kept, '$.end.outcome.status')
      WHEN 'declined' THEN 'Declined' WHEN 'cancelled' THEN 'Cancelled' ELSE 'Failed' END
    WHEN 'reversed' THEN 'Reversed'
    ELSE 'Unknown' END) VIRTUAL;
  CREATE INDEX archived_status ON archived_order (status, started_at_ms);
  CREATE INDEX telecollection_closing_time ON telecollection (started_at_ms)
    WHERE (result IS NULL
      OR json_extract(result, '$.end') NOT IN ('refused', 'open-pre-authorisations'));
  `,
  // Drops the index of event names and SQLite's id sequence: two writes less for each event. Only
  // alarms and reversals are searched for. The newest event is never dropped, so no id is reused.
  `
  CREATE TABLE kept_event (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  INSERT INTO kept_event SELECT id, at_ms, name, data FROM event ORDER BY id;
  DROP TABLE event;
  ALTER TABLE kept_event RENAME TO event;
  CREATE INDEX event_alarm ON event (id) WHERE name = 'alarm';
  CREATE INDEX event_reversed ON event (id)
    WHERE name = 'payment' AND json_extract(data, '$.state') = 'reversed';
  CREATE INDEX event_alarm_about ON event (json_extract(data, '$.transactionId'))
    WHERE name = 'alarm';
  `,
  // Adds for each hour the terminal's state, and how many transactions waited for the gateway.
  {
    goesOn: `
  CREATE TABLE hour (
    at_ms INTEGER PRIMARY KEY,
    ready_ms INTEGER NOT NULL,
    refusing_ms INTEGER NOT NULL,
    no_link_ms INTEGER NOT NULL,
    waiting_max INTEGER
  ) STRICT;
  `,
  },
  // Adds the audit entries: changes at the operator's console, with the HTTP status of the answer.
  {
    goesOn: `
  CREATE TABLE act (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    login TEXT NOT NULL,
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    call TEXT NOT NULL,
    body TEXT,
    http INTEGER
  ) STRICT;
  `,
  },
  // Adds the items, such as alarms, that an operator has acknowledged.
  {
    goesOn: `
  CREATE TABLE seen (
    kind TEXT NOT NULL,
    item TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (kind, item)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX seen_newest ON seen (kind, at_ms);
  ALTER TABLE unexpected_report ADD COLUMN seen_ms INTEGER;
  CREATE INDEX unexpected_report_waiting ON unexpected_report (id)
    WHERE finding IN ('held', 'unclear') AND seen_ms IS NULL;
  ALTER TABLE reconciliation ADD COLUMN seen_ms INTEGER;
  CREATE INDEX reconciliation_waiting ON reconciliation (id)
    WHERE result IN ('differs', 'jump') AND seen_ms IS NULL;
  `,
  },
  // Adds the error code of a change at the console that was refused or has no known outcome.
  { goesOn: "ALTER TABLE act ADD COLUMN code TEXT;" },
  // Adds the facts that a terminal has shown (0: disproved); a new `era` voids older facts.
  {
    goesOn: `
  CREATE TABLE learned (
    terminal TEXT NOT NULL,
    fact TEXT NOT NULL,
    holds INTEGER NOT NULL,
    era TEXT NOT NULL,
    PRIMARY KEY (terminal, fact)
  ) STRICT, WITHOUT ROWID;
  `,
  },
  // Adds the numbers of every record that a terminal reported, even of archived orders. Triggers
  // fill the table, so that the previous version of the program fills it too. A NULL transaction_id
  // means that no payment was running when the record came.
  {
    goesOn: `
  CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    transaction_id TEXT,
    seen_as TEXT NOT NULL CHECK (seen_as IN ('step', 'stray', 'unmatched', 'baseline')),
    good INTEGER NOT NULL,
    result_code TEXT,
    amount_minor INTEGER,
    receipt_number TEXT,
    trace_number TEXT,
    original_trace TEXT,
    terminal_id TEXT,
    local_date TEXT,
    local_time TEXT
  ) STRICT;
  CREATE INDEX record_moment ON record (local_time, local_date) WHERE local_time IS NOT NULL;
  CREATE INDEX record_trace ON record (CAST(trace_number AS INTEGER) % 1000000)
    WHERE trace_number IS NOT NULL;
  CREATE INDEX record_receipt ON record (CAST(receipt_number AS INTEGER))
    WHERE trace_number IS NULL AND local_time IS NULL;
  CREATE TRIGGER record_of_step AFTER INSERT ON attempt_event
  WHEN ${isRecordStep("new.kind")}
  BEGIN ${keepRecord("new.transaction_id", "'step'", stepRecord("new.detail"), "new.at_ms")}; END;
  CREATE TRIGGER record_of_stray AFTER INSERT ON unexpected_report
  BEGIN ${keepRecord("NULL", strayKind("new."), "new.report", "new.at_ms")}; END;
  CREATE TRIGGER record_of_baseline AFTER INSERT ON attempt WHEN new.baseline IS NOT NULL
  BEGIN ${keepBaseline("new.", "")}; END;
  ${keepRecord(
    "transaction_id",
    "'step'",
    stepRecord("detail"),
    "at_ms",
    ` FROM attempt_event
      WHERE ${isRecordStep("kind")} ORDER BY id`,
  )};
  ${keepRecord("NULL", strayKind(""), "report", "at_ms", " FROM unexpected_report ORDER BY id")};
  ${keepBaseline("", " FROM attempt")};
  DROP INDEX attempt_receipt;
  CREATE INDEX unexpected_report_before ON unexpected_report (before_attempt);
  CREATE INDEX attempt_sent ON attempt (baseline IS NOT NULL) WHERE baseline IS NOT NULL;
  `,
  },
  proofMigration,
  // Adds an index of unmatched results that name an attempt by its reference.
  {
    goesOn: `
  CREATE INDEX unexpected_report_named ON unexpected_report (json_extract(report, '$.reference'))
    WHERE finding = 'held' AND json_extract(report, '$.reference') IS NOT NULL;
  `,
  },
  // Adds those members of an event that `detail` lacks, and its version; NULL in older events.
  { goesOn: "ALTER TABLE attempt_event ADD COLUMN input TEXT;" },
  // Adds how long the program has run since the last loss of data: the wall clock can jump.
  { goesOn: "ALTER TABLE store_doubt ADD COLUMN ran_ms INTEGER NOT NULL DEFAULT 0;" },
  // Hands off again the charged sales whose hand-off an earlier version left withdrawn.
  {
    goesOn: `
  UPDATE hand_off SET withdrawn = -1, acknowledged = 0, set_aside_ms = NULL, refused = NULL,
      delivery = iif(delivery = 'closed', 'pending', delivery)
    WHERE withdrawn > 0
      AND transaction_id IN (SELECT transaction_id FROM attempt WHERE phase = 'charged');
  `,
  },
  // Adds the packed texts of old attempts, up to which attempt they are packed, and since when a
  // version that packs has run. Later migrations cannot read the columns that may be packed.
  {
    goesOn: `
  ALTER TABLE attempt ADD COLUMN packed BLOB;
  ALTER TABLE attempt_event ADD COLUMN packed BLOB;
  CREATE TABLE packing (position INTEGER NOT NULL, since_ms INTEGER NOT NULL) STRICT;
  INSERT INTO packing VALUES (0, unixepoch() * 1000);
  `,
  },
  // Adds an index of the records with a name, which is unique for ever, in place of a number.
  {
    goesOn: `
  CREATE INDEX record_name ON record (receipt_number) WHERE receipt_number GLOB '*[^0-9]*';
  `,
  },
];
