import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { EventData, KeptEvent, KeptName } from "../attempts/event-table.ts";

/** Some weeks of a busy kiosk, a few megabytes; who was away for longer reads `GET /payments`. */
const EVENTS_KEPT = 10_000;

/** The kept events of the journal. Ids only grow and are never given twice. */
export class EventRows {
  readonly #database: DatabaseSync;
  readonly #kept: number;

  constructor(database: DatabaseSync, kept = EVENTS_KEPT) {
    this.#database = database;
    this.#kept = kept;
  }

  append<N extends KeptName>(name: N, data: EventData<N>, atMs: number): KeptEvent {
    const { lastInsertRowid } = this.#database
      .prepare("INSERT INTO event (at_ms, name, data) VALUES (?, ?, ?)")
      .run(atMs, name, JSON.stringify(data));
    const id = Number(lastInsertRowid);
    this.#database.prepare("DELETE FROM event WHERE id <= ?").run(id - this.#kept);
    return { id, atMs, name, data } as KeptEvent;
  }

  /** Behind `id`, oldest first, at most `limit`. */
  after(id: number, limit: number): KeptEvent[] {
    return this.#read("SELECT * FROM event WHERE id > ? ORDER BY id LIMIT ?", id, limit);
  }

  /** Of one kind, newest first. */
  newest(name: KeptName, limit: number): KeptEvent[] {
    return this.#read("SELECT * FROM event WHERE name = ? ORDER BY id DESC LIMIT ?", name, limit);
  }

  /** The id of the newest one; 0 when there is none. */
  get lastId(): number {
    const row = this.#database.prepare("SELECT max(id) AS id FROM event").get();
    return Number(row?.["id"] ?? 0);
  }

  #read(sql: string, ...values: SQLInputValue[]): KeptEvent[] {
    return this.#database
      .prepare(sql)
      .all(...values)
      .map(
        (row) =>
          ({
            id: Number(row["id"]),
            atMs: Number(row["at_ms"]),
            name: row["name"],
            data: JSON.parse(String(row["data"])),
          }) as KeptEvent,
      );
  }
}
