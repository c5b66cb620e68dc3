import type { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../shared/sqlite.ts";
import type { HandOffStore } from "../attempts/hand-off-store.ts";
import type { ReturnStore } from "../attempts/return-store.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import { AlarmRows } from "./alarm-rows.ts";
import { Archive } from "./archive.ts";
import { ArchivedRows } from "./archived-rows.ts";
import { AttemptRows } from "./attempt-rows.ts";
import { EventRows } from "./event-rows.ts";
import { HandOffRows } from "./hand-off-rows.ts";
import { migrations } from "./migrations.ts";
import { ReturnRows } from "./return-rows.ts";
import { Statements } from "./statements.ts";
import { TerminalRows } from "./terminal-rows.ts";

/** The payment journal: one SQLite database, and the parts that read and write it. */
export class Journal {
  /** For the daily backup; everything else asks a part. */
  readonly database: DatabaseSync;
  readonly statements: Statements;
  readonly events: EventRows;
  readonly alarms: AlarmRows;
  readonly attempts: AttemptRows;
  readonly handOffs: HandOffStore;
  readonly returns: ReturnStore;
  readonly terminalLog: TerminalLog;
  readonly archive: Archive;

  /** Opens or creates the journal. Throws when the file cannot be used. */
  constructor(path: string) {
    this.database = openDatabase(path, migrations);
    try {
      this.statements = new Statements(this.database);
      this.events = new EventRows(this.statements);
      this.alarms = new AlarmRows(this.statements, this.events);
      const archived = new ArchivedRows(this.statements);
      const handOffs = new HandOffRows(this.statements, this.events, archived);
      this.handOffs = handOffs;
      this.attempts = new AttemptRows(this.statements, this.events, handOffs, archived);
      this.returns = new ReturnRows(this.statements, this.events, this.attempts, archived);
      this.terminalLog = new TerminalRows(this.statements, this.events);
      this.archive = new Archive(this.statements);
    } catch (error) {
      this.database.close();
      throw error;
    }
  }

  close(): void {
    this.database.close();
  }
}
