import { renameSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { parseJson } from "../../shared/json.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { readOr } from "../../shared/read-or.ts";
import { type Migration, openDatabase, Tables } from "../../shared/store/sqlite.ts";
import { type Clock, DAY_MS } from "../../shared/time.ts";
import { type FleetName, fleetDocuments } from "./documents.ts";

/** The schema of data/fleet.db in steps: append steps, never change a step. */
const fleetMigrations: readonly Migration[] = [
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
  {
    goesOn: `
    -- Figures that the broker does not have yet, oldest first.
    CREATE TABLE measured (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      at_ms INTEGER NOT NULL,
      boot TEXT NOT NULL, -- the machine's run, and how long it had lasted
      up_ms INTEGER NOT NULL,
      content TEXT NOT NULL -- JSON
    ) STRICT;
    `,
  },
];

/** The largest number of queued documents, some 2 MB: a week of a busy kiosk. */
const DOCUMENTS_MAX = 5_000;

/** The largest number of figures that wait for the broker, some 2 MB: those of a day. */
const MEASURED_MAX = 1_440;

/** How long a request is remembered: longer than it can be valid, even if the clock is changed. */
const REMEMBERED_MS = 30 * DAY_MS;

export interface QueuedDocument {
  readonly sequence: number;
  /** The kind of the document; undefined: the row is damaged or from a newer version. */
  readonly name: FleetName | undefined;
  readonly atMs: number;
  readonly content: Record<string, unknown>;
}

/** The names of the stored numbers: the id of the last event that was read, and counters. */
type Figure = "event" | "dropped" | "alarms" | `payments ${string}` | `errors ${string}`;

/** Figures of a minute, which wait for the broker. */
export interface Measured {
  readonly atMs: number;
  /** The machine's run in which they were measured, and how long it had lasted. */
  readonly boot: string;
  readonly upMs: number;
  /** The document in JSON. */
  readonly text: string;
}

/**
 * Opens `data/fleet.db`. Commits do not wait for the disk, so that they delay no payment
 * (docs/fleet.md 4.2). After a power cut missing events are read again, because the id of the last
 * event is missing too. A file that cannot be opened is renamed: no money depends on its content.
 */
export function openFleetStore(path: string, clock: Clock, log: Logger): FleetStore {
  const open = (): DatabaseSync => {
    const database = openDatabase(path, fleetMigrations);
    database.exec("PRAGMA synchronous = NORMAL");
    return database;
  };
  try {
    return new FleetStore(open());
  } catch (error) {
    log.warn({ err: error }, "fleet.db cannot be used, so it is renamed and a new one made");
    const nowMs = clock.now();
    for (const file of [path, `${path}-wal`, `${path}-shm`]) {
      readOr(undefined, () => renameSync(file, `${file}.unusable-${nowMs}`)); // it may not exist
    }
    return new FleetStore(open());
  }
}

/** The documents that wait for the broker, and the counters, alarms, requests and holds. */
export class FleetStore extends Tables {
  close(): void {
    this.database.close();
  }

  /** Queues a document; a full queue drops and counts the oldest document. */
  add(name: FleetName, atMs: number, content: object): void {
    const added = "INSERT INTO document (name, at_ms, content) VALUES (?, ?, ?)";
    this.run(added, name, atMs, JSON.stringify(content));
    const over = this.waiting - DOCUMENTS_MAX;
    if (over <= 0) return;
    const dropped =
      "DELETE FROM document WHERE sequence IN (SELECT sequence FROM document LIMIT ?)";
    this.run(dropped, over);
    this.count("dropped", over);
  }

  after(sequence: number, limit: number): QueuedDocument[] {
    type Row = { sequence: number; name: FleetName; atMs: number; text: string };
    const sql = `SELECT sequence, name, at_ms AS atMs, content AS text FROM document
      WHERE sequence > ? ORDER BY sequence LIMIT ?`;
    return this.all<Row>(sql, sequence, limit).map(({ name, text, ...row }) => {
      const content = parseJson(text) as QueuedDocument["content"] | undefined;
      const isKnown = content !== undefined && Object.hasOwn(fleetDocuments, name);
      return { ...row, name: isKnown ? name : undefined, content: content ?? {} };
    });
  }

  /** Deletes documents that are not sent again: accepted, refused for good or expired. */
  forget(sequences: readonly number[]): void {
    this.together(() => {
      for (const one of sequences) this.run("DELETE FROM document WHERE sequence = ?", one);
    });
  }

  get waiting(): number {
    return this.#number("SELECT count(*) AS n FROM document") ?? 0;
  }

  /** Keeps figures and returns their number; figures older than a day's number make room. */
  keep({ atMs, boot, upMs, text }: Measured): number {
    const kept = `INSERT INTO measured (at_ms, boot, up_ms, content)
      VALUES (?, ?, ?, ?) RETURNING number AS n`;
    const number = this.#number(kept, atMs, boot, upMs, text) ?? 0;
    this.run("DELETE FROM measured WHERE number <= ?", number - MEASURED_MAX);
    return number;
  }

  measured(limit: number): (Measured & { readonly number: number })[] {
    const sql = `SELECT number, at_ms AS atMs, boot, up_ms AS upMs, content AS text
      FROM measured ORDER BY number LIMIT ?`;
    return this.all(sql, limit);
  }

  forgetMeasured(number: number): void {
    this.run("DELETE FROM measured WHERE number = ?", number);
  }

  figure(name: Figure): number | undefined {
    return this.#number("SELECT value AS n FROM figure WHERE name = ?", name);
  }

  setFigure(name: Figure, value: number): void {
    this.run("INSERT OR REPLACE INTO figure VALUES (?, ?)", name, value);
  }

  count(name: Figure, by = 1): void {
    this.setFigure(name, (this.figure(name) ?? 0) + by);
  }

  begin(transactionId: string, atMs: number): void {
    this.run("INSERT OR REPLACE INTO begun VALUES (?, ?)", transactionId, atMs);
  }

  /** Returns when a payment began, and deletes the record; undefined: there is no record. */
  takeBegin(transactionId: string): number | undefined {
    const sql = "DELETE FROM begun WHERE transaction_id = ? RETURNING at_ms AS n";
    return this.#number(sql, transactionId);
  }

  /** Records an alarm as raised; false: the alarm was raised already. */
  raise(alarm: string, subject: string): boolean {
    return this.run("INSERT OR IGNORE INTO raised VALUES (?, ?)", alarm, subject) > 0;
  }

  /** Records the end of an alarm; false: the alarm was not raised. */
  end(alarm: string, subject: string): boolean {
    return this.run("DELETE FROM raised WHERE alarm = ? AND subject = ?", alarm, subject) > 0;
  }

  /** The raised alarms about conditions, not about a transaction. */
  get raisedAlarms(): string[] {
    const sql = "SELECT alarm FROM raised WHERE subject = ''";
    return this.all<{ alarm: string }>(sql).map(({ alarm }) => alarm);
  }

  /** Stores a request on disk before it is carried out; false: it was stored earlier already. */
  remember(requestId: string, nowMs: number): boolean {
    this.database.exec("PRAGMA synchronous = FULL");
    try {
      return this.together(() => {
        this.run("DELETE FROM request WHERE at_ms < ?", nowMs - REMEMBERED_MS);
        return this.run("INSERT OR IGNORE INTO request VALUES (?, ?)", requestId, nowMs) > 0;
      });
    } finally {
      this.database.exec("PRAGMA synchronous = NORMAL");
    }
  }

  requestsSince(ms: number): number {
    return this.#number("SELECT count(*) AS n FROM request WHERE at_ms > ?", ms) ?? 0;
  }

  holdOf(version: string): Hold | undefined {
    return this.get(`${holds} WHERE version = ?`, version);
  }

  setHold(version: string, { usedMs, fromMs, untilMs }: Hold): void {
    this.run("INSERT OR REPLACE INTO hold VALUES (?, ?, ?, ?)", version, usedMs, fromMs, untilMs);
  }

  get runningHolds(): (Hold & { readonly version: string })[] {
    return this.all(`${holds} WHERE until_ms IS NOT NULL`);
  }

  #number(sql: string, ...values: (string | number)[]): number | undefined {
    return this.get<{ n: number }>(sql, ...values)?.n;
  }
}

const holds = `SELECT version, used_ms AS usedMs, from_ms AS fromMs, until_ms AS untilMs FROM hold`;

/** The longest time for which one version may be held in total (docs/fleet.md 6.3). */
const HOLDS_MS = 14 * DAY_MS;

interface Hold {
  /** How long the version was held in total by holds that have ended. */
  readonly usedMs: number;
  /** When the present hold began; null: no hold runs. */
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}

export const noHold: Hold = { usedMs: 0, fromMs: null, untilMs: null };

/** Whether an update is held now. A hold that began later (the clock was set back) is over. */
export function isHeld({ fromMs, untilMs }: Hold, nowMs: number): boolean {
  return fromMs !== null && untilMs !== null && fromMs <= nowMs && nowMs < untilMs;
}

/** Ends the present hold of an update: adds how long it lasted, at most until its planned end. */
export function ended({ usedMs, fromMs, untilMs }: Hold, nowMs: number): Hold {
  if (fromMs === null || untilMs === null) return { usedMs, fromMs: null, untilMs: null };
  const lasted = nowMs < fromMs ? untilMs - fromMs : Math.min(nowMs, untilMs) - fromMs;
  return { usedMs: usedMs + lasted, fromMs: null, untilMs: null };
}

/** Returns a hold for `days` days, or for the days that are left; undefined: no day is left. */
export function held(before: Hold, days: number, nowMs: number): Hold | undefined {
  const { usedMs } = ended(before, nowMs);
  const leftMs = HOLDS_MS - usedMs;
  if (leftMs <= 0) return undefined;
  return { usedMs, fromMs: nowMs, untilMs: nowMs + Math.min(days * DAY_MS, leftMs) };
}
