import { transaction } from "../../shared/sqlite.ts";
import type { EventData, KeptEvent } from "../attempts/event-table.ts";
import type { AlarmTaker, SupervisorAlarms } from "../supervisor/polls.ts";
import type { Journal } from "./journal.ts";

/** Which alarms of the supervisor are events of the journal. */
export class AlarmRows implements AlarmTaker {
  readonly #journal: Pick<Journal, "database" | "feed" | "onEvent">;

  constructor(journal: Pick<Journal, "database" | "feed" | "onEvent">) {
    this.#journal = journal;
  }

  get last(): AlarmTaker["last"] {
    const row = this.#journal.database
      .prepare("SELECT * FROM alarm_taken ORDER BY taken DESC LIMIT 1")
      .get();
    return row && { origin: String(row["origin"]), id: Number(row["last_id"]) };
  }

  take({ origin, alarms }: SupervisorAlarms): void {
    // Mostly nothing is new; then nothing is written to the disk.
    if (alarms.length === 0 && this.last?.origin === origin) return;
    const { database, feed } = this.#journal;
    const written: KeptEvent[] = [];
    transaction(database, () => {
      const sql = "SELECT last_id FROM alarm_taken WHERE origin = ?";
      let lastId = Number(database.prepare(sql).get(origin)?.["last_id"] ?? 0);
      for (const { id, atMs, ...alarm } of alarms) {
        if (id <= lastId) continue;
        lastId = id;
        if (this.#isTold(alarm)) continue;
        written.push(feed.append("alarm", { ...alarm, source: "supervisor" }, atMs));
      }
      this.#remember(origin, lastId);
    });
    for (const event of written) this.#journal.onEvent(event);
  }

  /** This program raised it too, about the same transaction. */
  #isTold({ alarm, transactionId }: EventData<"alarm">): boolean {
    if (transactionId === null) return false;
    const row = this.#journal.database
      .prepare(
        `SELECT 1 FROM event WHERE name = 'alarm' AND json_extract(data, '$.alarm') = ?
           AND json_extract(data, '$.transactionId') = ?
           AND ifnull(json_extract(data, '$.source'), 'tp-manager') = 'tp-manager'`,
      )
      .get(alarm, transactionId);
    return row !== undefined;
  }

  #remember(origin: string, lastId: number): void {
    this.#journal.database
      .prepare(
        `INSERT INTO alarm_taken (origin, last_id, taken)
           VALUES (?1, ?2, (SELECT ifnull(max(taken), 0) + 1 FROM alarm_taken))
         ON CONFLICT (origin) DO UPDATE SET last_id = ?2, taken = excluded.taken`,
      )
      .run(origin, lastId);
  }
}
