import type { DatabaseSync } from "node:sqlite";
import { openStore } from "../../shared/store/put-back.ts";
import { assertWhole } from "../../shared/store/sqlite.ts";
import { Store } from "../../shared/store/store.ts";
import { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import { ActRows } from "./act-rows.ts";
import { AgainRows } from "./again-rows.ts";
import { AlarmRows } from "./alarm-rows.ts";
import { AnswerRows } from "./answer-rows.ts";
import { Archive } from "./archive.ts";
import { AttemptRows } from "./attempt-rows.ts";
import { DayRows } from "./day-rows.ts";
import { DoubtRows } from "./doubt-rows.ts";
import { EventRows } from "./event-rows.ts";
import { HandOffRows } from "./hand-off-rows.ts";
import { LearnedRows } from "./learned-rows.ts";
import { migrations } from "./migrations.ts";
import { ReconciliationRows } from "./reconciliation-rows.ts";
import { RecordRows } from "./record-rows.ts";
import { RefusedRows } from "./refused-rows.ts";
import { ReturnRows } from "./return-rows.ts";
import { SeenRows } from "./seen-rows.ts";
import { Statements } from "./statements.ts";
import { TerminalRows } from "./terminal-rows.ts";

/** The payment journal: one SQLite database, and the parts that read and write it. */
export class Journal {
  /** For tests; everything else asks a part. */
  readonly database: DatabaseSync;
  readonly statements: Statements;
  /** Whether it can be written. */
  readonly proof: WriteProof;
  readonly events: EventRows;
  readonly alarms: AlarmRows;
  readonly attempts: AttemptRows;
  readonly acts: ActRows;
  readonly answers: AnswerRows;
  readonly handOffs: HandOffRows;
  readonly refused: RefusedRows;
  readonly again: AgainRows;
  readonly doubts: DoubtRows;
  readonly returns: ReturnRows;
  readonly terminalLog: TerminalRows;
  readonly learned: LearnedRows;
  readonly reconciliations: ReconciliationRows;
  readonly records: RecordRows;
  readonly seen: SeenRows;
  readonly days: DayRows;
  readonly archive: Archive;
  /** The marks of this database and of the supervisor's one. */
  readonly store: Store;

  /**
   * Opens or creates the journal. Throws when the file cannot be used. Without a clock every change
   * is on disk at once, those too that could wait (Statements.later).
   */
  constructor(path: string, clock?: Clock) {
    this.database = openStore(path, migrations);
    try {
      this.proof = new WriteProof(this.database, path, clock);
      this.statements = new Statements(this.database, this.proof, clock);
      const events = new EventRows(this.statements);
      this.events = events;
      // They only grow, and each change of an attempt that is told outside is one.
      this.store = new Store(this.database, path, () => events.lastId);
      this.alarms = new AlarmRows(this.statements, events);
      this.archive = new Archive(this.statements);
      this.handOffs = new HandOffRows(this.statements, events, this.archive);
      this.again = new AgainRows(this.statements);
      this.attempts = new AttemptRows(this.statements, events, this.handOffs, this.archive);
      this.refused = new RefusedRows(this.statements, events, this.attempts);
      this.acts = new ActRows(this.statements);
      this.answers = new AnswerRows(this.statements);
      this.records = new RecordRows(this.statements, this.attempts);
      this.doubts = new DoubtRows(this.statements, events, this.attempts, this.records);
      this.returns = new ReturnRows(this.statements, events, this.attempts, this.archive);
      this.terminalLog = new TerminalRows(this.statements, events);
      this.learned = new LearnedRows(this.statements);
      this.reconciliations = new ReconciliationRows(this.statements, events);
      this.seen = new SeenRows(this.statements);
      this.days = new DayRows(this.statements);
    } catch (error) {
      this.database.close();
      throw error;
    }
  }

  /** Throws when the file is damaged. Reads all of it. */
  assertWhole(): void {
    assertWhole(this.database);
  }

  /** Loses what waits for a commit, unless {@link Statements.settle} was called before. */
  close(): void {
    this.statements.waiting.close();
    this.proof.close();
  }
}
