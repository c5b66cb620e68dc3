import type { DatabaseSync } from "node:sqlite";
import { openDatabase, transaction } from "../../shared/sqlite.ts";
import type { EventData, KeptEvent, KeptName } from "../attempts/event-table.ts";
import { EventRows } from "./event-rows.ts";
import { migrations } from "./migrations.ts";
import { Statements } from "./statements.ts";

export type Tell = <N extends KeptName>(name: N, data: EventData<N>, atMs: number) => void;

/** The journal's database, and the events that tell what was written into it. */
export class JournalFile {
  /** For the daily chores and the parts of the journal only. */
  readonly database: DatabaseSync;
  protected readonly sql: Statements;
  readonly feed: EventRows;
  /** Told every kept event once it is on disk. Must not throw. */
  onEvent: (event: KeptEvent) => void = () => {};

  /** Opens or creates the journal. Throws when the file cannot be used. */
  constructor(path: string) {
    this.database = openDatabase(path, migrations);
    this.sql = new Statements(this.database);
    this.feed = new EventRows(this.database);
  }

  close(): void {
    this.database.close();
  }

  /** Something an operator has to look at, for `GET /events`. */
  raise(alarm: EventData<"alarm">, atMs: number): void {
    this.telling((tell) => tell("alarm", alarm, atMs));
  }

  /** One transaction; the events that were written in it are told when it is on disk. */
  protected telling<T>(work: (tell: Tell) => T): T {
    const written: KeptEvent[] = [];
    const result = transaction(this.database, () =>
      work((name, data, atMs) => written.push(this.feed.append(name, data, atMs))),
    );
    for (const event of written) this.onEvent(event);
    return result;
  }
}
