import { renameSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { parseJson } from "../../shared/json.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { type Migration, openDatabase } from "../../shared/store/sqlite.ts";
import { Tables } from "../../shared/store/tables.ts";
import type { Clock } from "../../shared/time.ts";
import { type FleetName, fleetDocuments } from "./documents.ts";

/** Schema of data/fleet.db. Append steps, never change one. */
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
];

/** A busy kiosk's week, some two megabytes; then the oldest make room. */
const DOCUMENTS_MAX = 5_000;

/** Longer than any request is valid, also for a clock that is set back. */
const REMEMBERED_MS = 30 * 86_400_000;

export interface QueuedDocument {
  readonly sequence: number;
  /** undefined: the row is damaged, or of a version that knows more documents. */
  readonly name: FleetName | undefined;
  readonly atMs: number;
  readonly content: Record<string, unknown>;
}

/** Numbers that are kept: the last event read, and counters. */
type Figure = "event" | "dropped" | "alarms" | `payments ${string}`;

/**
 * Opens `data/fleet.db`. Its commits do not wait for the disk, so that none of them holds up a
 * payment (docs/fleet.md 4.2): a killed process loses nothing, and after a power cut the events
 * that are missing are read again, because the last event read was lost with them. A file that
 * cannot be opened is kept under another name, because nothing about money is in it.
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
    log.warn({ err: error }, "fleet.db cannot be used: it is renamed, with what waited in it");
    for (const end of ["", "-wal", "-shm"]) renameUnusable(`${path}${end}`, clock.now());
    return new FleetStore(open());
  }
}

function renameUnusable(path: string, nowMs: number): void {
  try {
    renameSync(path, `${path}.unusable-${nowMs}`);
  } catch {
    // There is none.
  }
}

/** Documents that wait for the broker, and the memory of the fleet part. */
export class FleetStore extends Tables {
  readonly #max: number;

  constructor(database: DatabaseSync, max = DOCUMENTS_MAX) {
    super(database);
    this.#max = max;
  }

  close(): void {
    this.database.close();
  }

  /** Drops the oldest when there is no room, and counts it. */
  add(name: FleetName, atMs: number, content: object): void {
    const added = "INSERT INTO document (name, at_ms, content) VALUES (?, ?, ?)";
    this.run(added, name, atMs, JSON.stringify(content));
    const over = this.waiting - this.#max;
    if (over <= 0) return;
    const dropped =
      "DELETE FROM document WHERE sequence IN (SELECT sequence FROM document LIMIT ?)";
    this.run(dropped, over);
    this.count("dropped", over);
  }

  /** The documents after `sequence`, oldest first. */
  after(sequence: number, limit: number): QueuedDocument[] {
    type Row = { sequence: number; name: FleetName; atMs: number; text: string };
    const sql = `SELECT sequence, name, at_ms AS atMs, content AS text FROM document
      WHERE sequence > ? ORDER BY sequence LIMIT ?`;
    return this.all<Row>(sql, sequence, limit).map(({ name, text, ...row }) => {
      // A damaged document is dropped; the rest of the queue is worth sending.
      const content = parseJson(text) as QueuedDocument["content"] | undefined;
      const isKnown = content !== undefined && Object.hasOwn(fleetDocuments, name);
      return { ...row, name: isKnown ? name : undefined, content: content ?? {} };
    });
  }

  /** The broker has them, or refuses them for good. */
  forget(sequences: readonly number[]): void {
    this.together(() => {
      for (const one of sequences) this.run("DELETE FROM document WHERE sequence = ?", one);
    });
  }

  get waiting(): number {
    return this.#number("SELECT count(*) AS n FROM document") ?? 0;
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

  /** When the payment began; forgotten with this answer. */
  takeBegin(transactionId: string): number | undefined {
    const sql = "DELETE FROM begun WHERE transaction_id = ? RETURNING at_ms AS n";
    return this.#number(sql, transactionId);
  }

  /** false: it is raised already. */
  raise(alarm: string, subject: string): boolean {
    return this.run("INSERT OR IGNORE INTO raised VALUES (?, ?)", alarm, subject) > 0;
  }

  /** false: it was not raised. */
  end(alarm: string, subject: string): boolean {
    return this.run("DELETE FROM raised WHERE alarm = ? AND subject = ?", alarm, subject) > 0;
  }

  /** The raised alarms of conditions: they are about no transaction. */
  get raisedAlarms(): string[] {
    const sql = "SELECT alarm FROM raised WHERE subject = ''";
    return this.all<{ alarm: string }>(sql).map(({ alarm }) => alarm);
  }

  /**
   * Notes a request before it is carried out, on disk whatever happens next. false: it was taken
   * before.
   */
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

/** All holds of one version together (docs/fleet.md 6.3): no fleet freezes a kiosk from afar. */
const HOLDS_MS = 14 * 86_400_000;
const DAY_MS = 86_400_000;

/** The holds of one version. */
interface Hold {
  /** Of holds that have ended. */
  readonly usedMs: number;
  /** Of the one that runs; null: none. */
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}

export const noHold: Hold = { usedMs: 0, fromMs: null, untilMs: null };

/** Whether it runs. A clock that was set back ends it, because its length is not known. */
export function isHeld({ fromMs, untilMs }: Hold, nowMs: number): boolean {
  return fromMs !== null && untilMs !== null && fromMs <= nowMs && nowMs < untilMs;
}

/** The hold after the one that ran has ended: it lasted until now, or as long as it was set. */
export function ended({ usedMs, fromMs, untilMs }: Hold, nowMs: number): Hold {
  if (fromMs === null || untilMs === null) return { usedMs, fromMs: null, untilMs: null };
  const lasted = nowMs < fromMs ? untilMs - fromMs : Math.min(nowMs, untilMs) - fromMs;
  return { usedMs: usedMs + lasted, fromMs: null, untilMs: null };
}

/** A hold of so many days from now on, as far as there are days left; undefined: none is. */
export function held(before: Hold, days: number, nowMs: number): Hold | undefined {
  const { usedMs } = ended(before, nowMs);
  const leftMs = HOLDS_MS - usedMs;
  if (leftMs <= 0) return undefined;
  return { usedMs, fromMs: nowMs, untilMs: nowMs + Math.min(days * DAY_MS, leftMs) };
}
