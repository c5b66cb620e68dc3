import { FLEET_REQUEST } from "../../shared/ipc/contract.ts";
import type { EventData } from "../attempts/event-table.ts";
import type { AlarmTaker, SupervisorAlarms } from "../supervisor/polls.ts";
import type { EventRows } from "./event-rows.ts";
import { rows, type Statements } from "./statements.ts";

const texts = {
  last: "SELECT * FROM alarm_taken ORDER BY taken DESC LIMIT 1",
  lastOf: "SELECT last_id FROM alarm_taken WHERE origin = ?",
  told: `SELECT 1 FROM event WHERE name = 'alarm' AND json_extract(data, '$.alarm') = ?
    AND json_extract(data, '$.transactionId') = ?
    AND ifnull(json_extract(data, '$.source'), 'tp-manager') = 'tp-manager'`,
  remember: `INSERT INTO alarm_taken (origin, last_id, taken)
      VALUES (?1, ?2, (SELECT ifnull(max(taken), 0) + 1 FROM alarm_taken))
    ON CONFLICT (origin) DO UPDATE SET last_id = ?2, taken = excluded.taken`,
};

/** Which alarms of the supervisor, and requests of the fleet, are events of the journal. */
export class AlarmRows extends rows("alarms", texts) implements AlarmTaker {
  readonly #events: EventRows;

  constructor(statements: Statements, events: EventRows) {
    super(statements);
    this.#events = events;
  }

  get last(): AlarmTaker["last"] {
    const row = this.sql.last.get();
    return row && { origin: String(row["origin"]), id: Number(row["last_id"]) };
  }

  take({ origin, alarms }: SupervisorAlarms): void {
    // Mostly nothing is new; then nothing is written to the disk.
    if (alarms.length === 0 && this.last?.origin === origin) return;
    this.#events.telling((tell) => {
      let lastId = Number(this.sql.lastOf.get(origin)?.["last_id"] ?? 0);
      for (const { id, atMs, about = null, ...alarm } of alarms) {
        if (id <= lastId) continue;
        lastId = id;
        if (alarm.alarm === FLEET_REQUEST) {
          tell("fleet-request", { message: alarm.message, request: about }, atMs);
          continue;
        }
        if (this.#isTold(alarm)) continue;
        tell("alarm", { ...alarm, source: "supervisor" }, atMs);
      }
      this.sql.remember.run(origin, lastId);
    });
  }

  /** This program raised it too, about the same transaction. */
  #isTold({ alarm, transactionId }: EventData<"alarm">): boolean {
    return transactionId !== null && this.sql.told.get(alarm, transactionId) !== undefined;
  }
}
