import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { JournalAudit } from "../../shared/ipc/contract.ts";
import { containsPan } from "../../shared/masking/mask.ts";
import { openForReading } from "../../shared/store/sqlite.ts";
import {
  type AuditedSale,
  type AuditFault,
  type AuditRule,
  auditAttempt,
  auditOrder,
  auditSameNumbers,
  faultOf,
} from "../attempts/audit-rules.ts";
import auditRules from "../attempts/audit-rules-en.json" with { type: "json" };
import { makeProven, makeWhole } from "../attempts/packed-texts.ts";
import type { AttemptStep } from "../attempts/payment.ts";

type Row = Record<string, SQLInputValue>;

/** The largest number of faults that a report lists; its counts include all faults. */
const LISTED_MAX = 1_000;

export type AuditReport = JournalAudit<AuditRule>;

/** Old files lack columns of attempts and steps, so that all columns are selected. */
const texts = {
  attempts: `SELECT attempt.*, hand_off.body AS body, hand_off.withdrawn AS withdrawn,
      json_extract(hand_off.body, '$.amountMinor') AS handed
    FROM attempt LEFT JOIN hand_off USING (transaction_id)
    WHERE attempt.rowid > ? AND attempt.rowid <= ? ORDER BY attempt.rowid`,
  steps: "SELECT * FROM attempt_event WHERE transaction_id = ? ORDER BY id",
  hasTable: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
  lastRow: "SELECT ifnull(max(rowid), 0) AS last FROM attempt",
  ordersAgain: "SELECT DISTINCT order_id FROM attempt WHERE number > 1",
  ofOrder: "SELECT * FROM attempt WHERE order_id = ? ORDER BY number",
  numbersAgain: `SELECT receipt_number, trace_number FROM attempt WHERE receipt_number IS NOT NULL
    GROUP BY receipt_number, trace_number HAVING count(*) > 1`,
  withNumbers: `SELECT * FROM attempt WHERE receipt_number = ? AND trace_number IS ?
    ORDER BY rowid`,
};

/** The tables other than `attempt` whose texts are searched for card numbers. */
const searched = ["archived_order", "event", "unexpected_report", "telecollection"];

/** A part of an audit: the attempts with these row numbers, or the checks of all other tables. */
export type AuditPart = { readonly after: number; readonly upTo: number } | "others";

/** The number of rows in one part of an audit, whose check takes some seconds. */
const PART_ROWS = 20_000;

/** Returns the parts of an audit of this file, which can be run in any order and in parallel. */
export function partsOf(path: string): AuditPart[] {
  const last = reading(path, (file) => Number(file.prepare(texts.lastRow).get()?.["last"]));
  const ranges = Array.from({ length: Math.ceil(last / PART_ROWS) }, (_, index) => {
    return { after: index * PART_ROWS, upTo: (index + 1) * PART_ROWS };
  });
  return ["others", ...ranges];
}

/**
 * Checks a part of a journal against the state machines and the rules (docs/design.md 9.6). The
 * file is only read. Give a copy, because a journal in use changes during the audit.
 */
export function auditPart(path: string, part: AuditPart): AuditReport {
  return reading(path, (file) => {
    const audit = new Audit(file);
    if (part === "others") audit.readOthers();
    else audit.readAttempts(part.after, part.upTo);
    return audit.report;
  });
}

function reading<T>(path: string, work: (file: DatabaseSync) => T): T {
  const file = openForReading(path);
  try {
    return work(file);
  } finally {
    file.close();
  }
}

function emptyReport() {
  const counts = Object.keys(auditRules).map((rule) => [rule, 0]);
  return {
    attempts: 0,
    steps: 0,
    archived: 0,
    counts: Object.fromEntries(counts) as Record<AuditRule, number>,
    faults: [] as AuditFault[],
    unknown: {} as Record<string, number>,
  } satisfies AuditReport;
}

export function joined(reports: readonly AuditReport[]): AuditReport {
  const all = emptyReport();
  const add = (sums: Record<string, number>, more: Readonly<Record<string, number>>): void => {
    for (const [name, count] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + count;
  };
  for (const { attempts, steps, archived, counts, faults, unknown } of reports) {
    all.attempts += attempts;
    all.steps += steps;
    all.archived += archived;
    add(all.counts, counts);
    add(all.unknown, unknown);
    all.faults.push(...faults.slice(0, LISTED_MAX - all.faults.length));
  }
  return all;
}

class Audit {
  readonly #database: DatabaseSync;
  readonly report = emptyReport();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  readAttempts(after: number, upTo: number): void {
    const stepsOf = this.#database.prepare(texts.steps);
    for (const row of this.#database.prepare(texts.attempts).iterate(after, upTo)) {
      this.report.attempts += 1;
      const { transaction_id: id = null } = row as Row;
      this.#readAttempt(row as Row, stepsOf.all(id) as Row[]);
    }
  }

  /** Checks for faults that show only in several attempts together, and checks all other tables. */
  readOthers(): void {
    this.#readTogether(texts.ordersAgain, texts.ofOrder, auditOrder);
    this.#readTogether(texts.numbersAgain, texts.withNumbers, auditSameNumbers);
    this.#searchTables();
  }

  /** Checks the attempts that `members` reads with the columns of each row of `groups`. */
  #readTogether(groups: string, members: string, check: typeof auditOrder): void {
    const ofGroup = this.#database.prepare(members);
    for (const row of this.#database.prepare(groups).iterate()) {
      const attempts = ofGroup.all(...Object.values(row as Row)) as Row[];
      this.#add(this.#safely(attempts[0] ?? {}, () => check(attempts.map(saleRow))));
    }
  }

  #searchTables(): void {
    const hasTable = this.#database.prepare(texts.hasTable);
    for (const table of searched) {
      if (!hasTable.get(table)) continue;
      for (const row of this.#database.prepare(`SELECT * FROM ${table}`).iterate()) {
        if (table === "archived_order") this.report.archived += 1;
        this.#search(row as Row, table);
      }
    }
  }

  #readAttempt(row: Row, stepRows: readonly Row[]): void {
    this.report.steps += stepRows.length;
    const faults = this.#safely(row, () => {
      this.#search(makeProven(row), "attempt");
      for (const step of stepRows) this.#search(makeProven(step), "attempt_event", row);
      const steps = stepRows.map((step) => new KeptStep(step));
      const { faults: found, unknown } = auditAttempt({
        transactionId: String(row["transaction_id"]),
        orderId: String(row["order_id"]),
        phase: String(row["phase"]),
        request: parsed(row["request"]),
        state: parsed(row["state"]),
        wasBegun: row["baseline"] !== null,
        handedMinor: row["body"] === null ? null : Number(row["handed"]),
        isWithdrawn: Number(row["withdrawn"]) > 0,
        handedOff: () => (row["body"] === null ? null : parsed(row["body"])),
        steps,
      });
      const { unknown: kinds } = this.report;
      for (const kind of new Set(unknown)) kinds[kind] = (kinds[kind] ?? 0) + 1;
      return found;
    });
    this.#add(faults);
  }

  #safely(row: Row, check: () => readonly AuditFault[]): readonly AuditFault[] {
    try {
      return check();
    } catch (error) {
      return [faultOf("unreadable", aboutOf(row), (error as Error).message.slice(0, 200))];
    }
  }

  #search(row: Row, table: string, owner = row): void {
    for (const column of Object.keys(row)) {
      const value = row[column];
      if (typeof value !== "string" || !containsPan(value)) continue;
      this.#add([faultOf("card-number", aboutOf(owner), `${table}.${column} holds a card number`)]);
    }
  }

  #add(faults: readonly AuditFault[]): void {
    for (const fault of faults) {
      this.report.counts[fault.rule] += 1;
      if (this.report.faults.length < LISTED_MAX) this.report.faults.push(fault);
    }
  }
}

function aboutOf(row: Row): { orderId: string; transactionId: string } {
  const text = (value: SQLInputValue | undefined): string => (value ? String(value) : "");
  return { orderId: text(row["order_id"]), transactionId: text(row["transaction_id"]) };
}

function saleRow(row: Row): AuditedSale {
  return { ...aboutOf(row), state: parsed(makeWhole(row)["state"]) };
}

/** An event whose detail is parsed only when it is read: most details are long and not needed. */
class KeptStep implements AttemptStep {
  readonly atMs = 0;
  readonly kind: string;
  readonly input?: AttemptStep["detail"];
  readonly #text: string;

  constructor({ kind, detail, input = null }: Row) {
    this.kind = String(kind);
    this.#text = String(detail);
    if (input !== null) this.input = parsed(input);
  }

  get detail(): AttemptStep["detail"] {
    return parsed(this.#text);
  }
}

function parsed<T>(value: SQLInputValue | undefined): T {
  return JSON.parse(String(value)) as T;
}
