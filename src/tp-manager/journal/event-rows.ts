import type { EventData, KeptEvent, KeptName } from "../attempts/event-table.ts";
import { type Row, rows, type Statements } from "./database/statements.ts";

/** The number of stored events, those of some weeks; older payments are in `GET /payments`. */
const EVENTS_KEPT = 10_000;
/** Old events are deleted EVENTS_KEPT / BATCHES at a time, as each deletion writes two pages. */
const BATCHES = 100;

export type Emit = <N extends KeptName>(name: N, data: EventData<N>, atMs: number) => void;

/** Stores the events for `GET /events`. Ids only grow and are never reused. */
export class EventRows extends rows("events", {
  append: "INSERT INTO event (at_ms, name, data) VALUES (?, ?, ?)",
  drop: "DELETE FROM event WHERE id <= ?",
  after: "SELECT * FROM event WHERE id > ? ORDER BY id LIMIT ?",
  alarms: "SELECT * FROM event WHERE name = 'alarm' ORDER BY id DESC LIMIT ?",
  lastId: "SELECT max(id) AS id FROM event",
}) {
  readonly #kept: number;
  readonly #batch: number;
  /** The id of the newest event on disk; 0 when there is none. Only this class changes it. */
  lastId: number;
  /** Called with every stored event once it is on disk. Must not throw. */
  onEvent: (event: KeptEvent) => void = () => {};

  constructor(journal: { readonly statements: Statements }, kept = EVENTS_KEPT) {
    super(journal);
    this.#kept = kept;
    this.#batch = Math.ceil(kept / BATCHES);
    this.lastId = Number(this.sql.lastId.get()?.["id"] ?? 0);
  }

  /** Runs one database transaction. Its events are passed to `onEvent` once they are on disk. */
  commit<T>(work: (emit: Emit) => T): T {
    const written: KeptEvent[] = [];
    const result = this.statements.transaction(() => work(this.#into(written)));
    this.#onDisk(written);
    return result;
  }

  #into(written: KeptEvent[]): Emit {
    return (name, data, atMs) => {
      const { lastInsertRowid } = this.sql.append.run(atMs, name, JSON.stringify(data));
      const id = Number(lastInsertRowid);
      if (id % this.#batch === 0) this.sql.drop.run(id - this.#kept);
      written.push({ id, atMs, name, data } as KeptEvent);
    };
  }

  #onDisk(events: readonly KeptEvent[]): void {
    this.lastId = events.at(-1)?.id ?? this.lastId;
    for (const event of events) this.onEvent(event);
  }

  /** Like {@link commit}, but the events are written with the next commit of other data. */
  commitLater(work: (emit: Emit) => void, written: () => void): void {
    let appended: KeptEvent[] = [];
    const write = (): void => {
      appended = [];
      work(this.#into(appended));
    };
    this.statements.waiting.add(write, () => {
      written();
      this.#onDisk(appended);
    });
  }

  raise(alarm: EventData<"alarm">, atMs: number): void {
    this.commit((emit) => emit("alarm", alarm, atMs));
  }

  /** Returns at most `limit` events after `id`, oldest first. */
  after(id: number, limit: number): KeptEvent[] {
    return this.sql.after.all(id, limit).map(eventOf);
  }

  alarms(limit: number): KeptEvent[] {
    return this.sql.alarms.all(limit).map(eventOf);
  }
}

function eventOf(row: Row): KeptEvent {
  return {
    id: Number(row["id"]),
    atMs: Number(row["at_ms"]),
    name: row["name"],
    data: JSON.parse(String(row["data"])),
  } as KeptEvent;
}
