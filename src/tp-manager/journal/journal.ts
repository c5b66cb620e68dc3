import type { DatabaseSync } from "node:sqlite";
import { openStore } from "../../shared/store/put-back.ts";
import { assertWhole } from "../../shared/store/sqlite.ts";
import { Store } from "../../shared/store/store.ts";
import { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
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
import { ReconciliationRows } from "./reconciliation-rows.ts";
import { RecordRows } from "./record-rows.ts";
import { ReturnRows } from "./return-rows.ts";
import { LearnedRows, TerminalRows } from "./terminal-rows.ts";

/** The payment journal: one SQLite database, and the classes that read and write its parts. */
export class Journal {
  /** The database, for tests only; the programs use the parts. */
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
  /** The marks that identify this database and the supervisor's. */
  readonly store: Store;

  /**
   * Opens or creates the journal. Throws when the file cannot be used. Without a clock every change
   * is on disk at once, also the changes that could be delayed ({@link Statements.later}).
   */
  constructor(path: string, clock?: Clock) {
    this.database = openStore(path, migrations);
    try {
      this.proof = new WriteProof(this.database, path, clock);
      this.statements = new Statements(this.database, this.proof, clock);
      const events = new EventRows(this);
      this.events = events;
      // Event ids only grow, and every change of an attempt that an answer shows has an event.
      this.store = new Store(this.database, path, () => events.lastId);
      this.alarms = new AlarmRows(this);
      this.archive = new Archive(this);
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

  /** Reads the whole file. Throws when the file is damaged. */
  assertWhole(): void {
    assertWhole(this.database);
  }

  /** Closes the file. Delayed writes are lost without {@link Statements.settle} before. */
  close(): void {
    this.statements.waiting.close();
    this.proof.close();
  }
}
