import type { DatabaseSync } from "node:sqlite";
import { openStore } from "../../shared/store/put-back.ts";
import { assertWhole } from "../../shared/store/sqlite.ts";
import { Store } from "../../shared/store/store.ts";
import { WriteProof } from "../../shared/store/write-proof.ts";
import { type Clock, systemClock } from "../../shared/time.ts";
import { Archive } from "./archive.ts";
import { AnswerRows } from "./attempt-columns.ts";
import { AttemptRows } from "./attempt-rows.ts";
import { migrations } from "./database/migrations.ts";
import { Statements } from "./database/statements.ts";
import { EventRows } from "./event-rows.ts";
import { GapRows } from "./gap-rows.ts";
import { HandOffRows, ResyncRows } from "./hand-off-rows.ts";
import {
  AcknowledgedRows,
  AlarmRows,
  AuditEntryRows,
  DayRows,
  RefusedRows,
} from "./operator-rows.ts";
import { Packing } from "./packing.ts";
import { ReconciliationRows } from "./reconciliation-rows.ts";
import { RecordRows } from "./record-rows.ts";
import { ReturnRows } from "./return-rows.ts";
import { LearnedRows, TerminalRows } from "./terminal-rows.ts";

/** The payment journal: one SQLite database, and the classes that read and write its parts. */
export class Journal {
  /** The open database file; only tests use it directly. */
  readonly database: DatabaseSync;
  readonly statements: Statements;
  readonly proof: WriteProof;
  readonly events: EventRows;
  readonly alarms: AlarmRows;
  readonly attempts: AttemptRows;
  readonly auditEntries: AuditEntryRows;
  readonly answers: AnswerRows;
  readonly handOffs: HandOffRows;
  readonly refused: RefusedRows;
  readonly resync: ResyncRows;
  readonly gaps: GapRows;
  readonly returns: ReturnRows;
  readonly terminalLog: TerminalRows;
  readonly learned: LearnedRows;
  readonly reconciliations: ReconciliationRows;
  readonly records: RecordRows;
  readonly acknowledged: AcknowledgedRows;
  readonly days: DayRows;
  readonly archive: Archive;
  readonly packing: Packing;
  /** The marks of this journal and of the supervisor's database, by which a loss is noticed. */
  readonly store: Store;

  /** Opens or creates the file; throws if it is unusable. Without a clock no write is delayed. */
  constructor(path: string, clock?: Clock) {
    this.database = openStore(path, migrations);
    try {
      this.proof = new WriteProof(this.database, path, clock ?? systemClock);
      this.statements = new Statements(this.database, this.proof, clock);
      const events = new EventRows(this);
      this.events = events;
      // The newest event id shows how far the journal has come: each changed answer adds an event.
      this.store = new Store(this.database, path, () => events.lastId);
      this.alarms = new AlarmRows(this);
      this.archive = new Archive(this);
      this.packing = new Packing(this);
      this.handOffs = new HandOffRows(this);
      this.resync = new ResyncRows(this);
      this.attempts = new AttemptRows(this);
      this.refused = new RefusedRows(this);
      this.auditEntries = new AuditEntryRows(this);
      this.answers = new AnswerRows(this);
      this.records = new RecordRows(this);
      this.gaps = new GapRows(this);
      this.returns = new ReturnRows(this);
      this.terminalLog = new TerminalRows(this);
      this.learned = new LearnedRows(this);
      this.reconciliations = new ReconciliationRows(this);
      this.acknowledged = new AcknowledgedRows(this);
      this.days = new DayRows(this);
    } catch (error) {
      this.database.close();
      throw error;
    }
  }

  /** Checks the whole database file. Throws when the file is damaged or lacks a column. */
  assertWhole(): void {
    assertWhole(this.database);
    this.statements.prepareAll();
  }

  /** Closes the file. Call {@link Statements.settle} first, or delayed writes are lost. */
  close(): void {
    this.statements.waiting.close();
    this.proof.close();
  }
}
