import type { EndedTry } from "../../src/supervisor/outbox/outbox-store.ts";
import { OutboxStore } from "../../src/supervisor/outbox/outbox-store.ts";

/** The outbox, of which a test also reads the stored tries. */
export class OutboxWithTries extends OutboxStore {
  attempts(transactionId: string): EndedTry["attempt"][] {
    const sql = `SELECT number, started_at_ms AS startedAtMs, ended_at_ms AS endedAtMs, class,
        http_status AS httpStatus, code, description, ambiguous, notes
      FROM attempts WHERE transaction_id = ? ORDER BY number`;
    return this.all<EndedTry["attempt"] & { notes: string }>(sql, transactionId).map(
      ({ ambiguous, notes, ...row }) => {
        return { ...row, ambiguous: Boolean(ambiguous), notes: JSON.parse(notes) };
      },
    );
  }
}
