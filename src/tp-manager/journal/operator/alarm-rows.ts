import { FLEET_REQUEST } from "../../../shared/ipc/contract.ts";
import type { EventData } from "../../attempts/event-table.ts";
import type { AlarmTaker, SupervisorAlarms } from "../../supervisor/polls.ts";
import { rows } from "../database/statements.ts";
import type { EventRows } from "../event-rows.ts";

const texts = {
  last: "SELECT * FROM alarm_taken ORDER BY taken DESC LIMIT 1",
  lastOf: "SELECT last_id FROM alarm_taken WHERE origin = ?",
  raisedHere: `SELECT 1 FROM event WHERE name = 'alarm' AND json_extract(data, '$.alarm') = ?
    AND json_extract(data, '$.transactionId') = ?
    AND ifnull(json_extract(data, '$.source'), 'tp-manager') = 'tp-manager'`,
  remember: `INSERT INTO alarm_taken (origin, last_id, taken)
      VALUES (?1, ?2, (SELECT ifnull(max(taken), 0) + 1 FROM alarm_taken))
    ON CONFLICT (origin) DO UPDATE SET last_id = ?2, taken = excluded.taken`,
};

/** Which alarms of the supervisor, and requests of the fleet, are events of the journal. */
export class AlarmRows extends rows("alarms", texts)<{ events: EventRows }> implements AlarmTaker {
  get last(): AlarmTaker["last"] {
    const row = this.sql.last.get();
    return row && { origin: String(row["origin"]), id: Number(row["last_id"]) };
  }

  take({ origin, alarms }: SupervisorAlarms): void {
    // Mostly nothing is new; then nothing is written to the disk.
    if (alarms.length === 0 && this.last?.origin === origin) return;
    this.parts.events.commit((emit) => {
      let lastId = Number(this.sql.lastOf.get(origin)?.["last_id"] ?? 0);
      for (const { id, atMs, about = null, ...alarm } of alarms) {
        if (id <= lastId) continue;
        lastId = id;
        if (alarm.alarm === FLEET_REQUEST) {
          emit("fleet-request", { message: alarm.message, request: about }, atMs);
          continue;
        }
        if (this.#isRaisedHere(alarm)) continue;
        emit("alarm", { ...alarm, source: "supervisor" }, atMs);
      }
      this.sql.remember.run(origin, lastId);
    });
  }

  /** Whether this program raised the same alarm about the same transaction. */
  #isRaisedHere({ alarm, transactionId }: EventData<"alarm">): boolean {
    return transactionId !== null && this.sql.raisedHere.get(alarm, transactionId) !== undefined;
  }
}
