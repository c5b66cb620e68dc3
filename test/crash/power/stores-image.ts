import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What the journal and the supervisor have on the disk, as a next start would find it. */
export interface Stores {
  readonly attempts: readonly StoredAttempt[];
  /** Order ids of the supervisor. */
  readonly handedOff: ReadonlySet<string>;
  /** The gateway's ids of transactions of which an operation was begun. */
  readonly operated: ReadonlySet<string>;
  /** What SQLite itself finds wrong. */
  readonly damage: readonly string[];
}

interface StoredAttempt {
  readonly orderId: string;
  readonly amountMinor: number;
  readonly phase: string;
  /** Kinds of its events. */
  readonly kinds: readonly string[];
  /** null: there is no hand-off row. */
  readonly acknowledged: boolean | null;
  /** The gateway was asked to return money of it, or has returned some. */
  readonly returning: boolean;
}

type Row = Readonly<Record<string, unknown>>;

/** Opens the databases among `files` in a folder of their own, as SQLite recovers them. */
export function openStores(files: ReadonlyMap<string, Buffer>): Stores {
  const folder = mkdtempSync(join(tmpdir(), "utc-image-"));
  try {
    for (const [path, bytes] of files) {
      if (/\.db(-wal|-journal)?$/.test(path)) writeFileSync(join(folder, basename(path)), bytes);
    }
    const journal = rowsOf(join(folder, "journal.db"), {
      attempts: `SELECT a.*, h.acknowledged, (SELECT group_concat(e.kind) FROM attempt_event e
        WHERE e.transaction_id = a.transaction_id) AS kinds
        FROM attempt a LEFT JOIN hand_off h USING (transaction_id)`,
    });
    const supervisor = rowsOf(join(folder, "supervisor.db"), {
      transactions: "SELECT order_id AS key FROM transactions",
      operations: "SELECT transaction_public_id AS key FROM gateway_operations",
    });
    const keys = (rows: readonly Row[] = []): Set<string> =>
      new Set(rows.map(({ key }) => String(key)));
    return {
      attempts: (journal.rows["attempts"] ?? []).map(attemptOf),
      handedOff: keys(supervisor.rows["transactions"]),
      operated: keys(supervisor.rows["operations"]),
      damage: [...journal.damage, ...supervisor.damage],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function attemptOf(row: Row): StoredAttempt {
  return {
    orderId: String(row["order_id"]),
    amountMinor: Number(row["amount_minor"]),
    phase: String(row["phase"]),
    kinds: String(row["kinds"] ?? "").split(","),
    acknowledged: row["acknowledged"] === null ? null : row["acknowledged"] === 1,
    returning: row["open_return"] !== null || Number(row["returned_minor"]) > 0,
  };
}

/** A table that is not there yet has no rows. */
function rowsOf(path: string, queries: Readonly<Record<string, string>>) {
  const rows: Record<string, readonly Row[]> = {};
  if (!existsSync(path)) return { rows, damage: [] };
  const name = basename(path);
  try {
    const database = new DatabaseSync(path);
    try {
      // The copy is thrown away: nothing has to be synced when it is closed.
      database.exec("PRAGMA synchronous = OFF");
      const check = database.prepare("PRAGMA integrity_check").all() as readonly Row[];
      const lines = check.map((row) => String(row["integrity_check"]));
      const made = database.prepare("PRAGMA user_version").get()?.["user_version"];
      for (const [key, sql] of Object.entries(made === 0 ? {} : queries)) {
        const complete = isComplete(database, sql);
        rows[key] = complete ? (database.prepare(sql).all() as readonly Row[]) : [];
      }
      return { rows, damage: lines.filter((line) => line !== "ok").map((w) => `${name}: ${w}`) };
    } finally {
      database.close();
    }
  } catch (error) {
    return { rows, damage: [`${name}: ${(error as Error).message}`] };
  }
}

/** A cut in the middle of the first start leaves a schema that later steps have yet to finish. */
function isComplete(database: DatabaseSync, sql: string): boolean {
  try {
    database.prepare(sql);
    return true;
  } catch (error) {
    if (/no such (table|column)/.test((error as Error).message)) return false;
    throw error;
  }
}
