import type { SQLInputValue } from "node:sqlite";
import type { Chore } from "../../shared/program/daily.ts";
import { sqlOf } from "../../shared/store/sqlite.ts";
import { type Clock, DAY_MS } from "../../shared/time.ts";
import { packedRow } from "../attempts/packed-texts.ts";
import { migrations } from "./database/migrations.ts";
import { type Row, rows, type Statement } from "./database/statements.ts";

/** For how many days after an update nothing is packed, so that the previous version can go on. */
const DAYS_TO_GO_BACK = 14;
/** The number of attempts packed in one transaction; a payment may wait some ms for it. */
const BATCH = 10;
/** The schema that a program must know to read packed texts (docs/design.md 2.1). */
const SCHEMA = 1 + migrations.findIndex((one) => sqlOf(one).includes("CREATE TABLE packing"));

const valuesOf = (row: Row, columns: readonly string[]): SQLInputValue[] =>
  columns.map((name) => row[name] ?? null);

/** Packs the long texts of attempts that began more than a day ago (docs/design.md 2.4). */
export class Packing extends rows("packing", {
  next: `SELECT rowid AS position, transaction_id, request, state, baseline, ticket, packed,
      started_at_ms, ended_at_ms
    FROM attempt WHERE rowid > (SELECT position FROM packing WHERE since_ms < ?)
    ORDER BY rowid LIMIT ?`,
  events: "SELECT * FROM attempt_event WHERE transaction_id = ?",
  attempt: `UPDATE attempt SET request = ?, state = ?, baseline = ?, ticket = ?, packed = ?
    WHERE rowid = ?`,
  event: "UPDATE attempt_event SET detail = ?, input = ?, packed = ? WHERE id = ?",
  moveAttempt: "UPDATE attempt SET rowid = -rowid WHERE rowid = ?",
  moveEvent: "UPDATE attempt_event SET id = -id WHERE id = ?",
  done: "UPDATE packing SET position = ?",
  readers: "PRAGMA application_id",
  newReaders: `PRAGMA application_id = ${SCHEMA}`,
}) {
  /** Packs the next attempts in one transaction; false: there are no more that are old enough. */
  packNext(nowMs: number): boolean {
    return this.statements.transaction(() => {
      const found = this.sql.next.all(nowMs - DAYS_TO_GO_BACK * DAY_MS, BATCH);
      // An attempt far in the future shows that the clock was wrong; it holds up no other one.
      const isYoung = (row: Row) => Math.abs(nowMs - Number(row["started_at_ms"])) < DAY_MS;
      const young = found.findIndex(isYoung);
      const old = young < 0 ? found : found.slice(0, young);
      const last = old.at(-1)?.["position"];
      if (last === undefined) return false;
      if (Number(this.sql.readers.get()?.["application_id"]) < SCHEMA) this.sql.newReaders.run();
      const ended = old.filter((row) => row["ended_at_ms"] !== null);
      const events = ended.flatMap((row) => this.#pack(row));
      joinPages(
        this.sql.moveAttempt,
        ended.map(({ position }) => Number(position)),
      );
      joinPages(this.sql.moveEvent, events);
      this.sql.done.run(last);
      return old.length === BATCH;
    });
  }

  /** Packs the texts of an attempt and of its events, and returns the ids of the events. */
  #pack(row: Row): number[] {
    const attempt = ["request", "state", "baseline", "ticket", "packed", "position"];
    const event = ["detail", "input", "packed", "id"];
    this.sql.attempt.run(...valuesOf(packedRow(row), attempt));
    return this.sql.events.all(row["transaction_id"] ?? null).map((one) => {
      this.sql.event.run(...valuesOf(packedRow(one), event));
      return Number(one["id"]);
    });
  }
}

/**
 * Moves every second row out of its page and back. SQLite joins pages with little in them only when
 * rows leave them; to move all rows takes twice as long and leaves the pages less full.
 */
function joinPages(move: Statement, rowIds: readonly number[]): void {
  const moved = rowIds.filter((_, index) => index % 2 === 0);
  for (const id of moved) move.run(id);
  for (const id of moved) move.run(-id);
}

/** Returns the daily task that packs the attempts that began more than a day ago. */
export function packingChore(packing: Packing, clock: Clock): Chore {
  return {
    name: "packing of the journal",
    async run(mayGoOn) {
      const nowMs = clock.now();
      while ((await mayGoOn()) && packing.packNext(nowMs));
    },
  };
}
