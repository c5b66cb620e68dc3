/**
 * Makes a large journal for measurements: one payment of a real installation, many times over.
 *   node scripts/large-journal.ts FOLDER [--orders 1000000] [--full 200000] [--packed]
 * All but the newest `--full` orders are in the archive; `--packed`: the long texts of the newest
 * ones are packed, as they are after a day. Writes FOLDER/journal.db anew, and prints its size.
 */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { numberOf } from "../src/shared/store/sqlite.ts";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { packAll } from "../test/support/house/pack-all.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { misused, readArguments } from "./command-line.ts";

type Row = Record<string, SQLInputValue>;

const { values, positionals } = readArguments({
  options: {
    orders: { type: "string", default: "1000000" },
    full: { type: "string", default: "200000" },
    packed: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [folder] = positionals;
const [orders, full] = [Number(values.orders), Number(values.full)];
if (folder === undefined || !(Number.isInteger(orders) && full >= 1 && full <= orders)) misused();
const path = join(folder, "journal.db");
mkdirSync(folder, { recursive: true });
for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });

/** The order that is paid and sent to the gateway, of which all others are copies. */
const PAID = "template";
await sellOnce();

const journal = new Journal(path);
const { database } = journal;
database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000");
/** Returns a row without the column that SQLite computes. */
const stored = ({ status: _, ...row }: Row): Row => row;
const rowsOf = (table: string, id: string): Row[] =>
  (database.prepare(`SELECT * FROM ${table} WHERE transaction_id = ?`).all(id) as Row[]).map(
    stored,
  );
const sold = stored(database.prepare("SELECT * FROM attempt WHERE order_id = ?").get(PAID) as Row);
const id = String(sold["transaction_id"]);
const kept = { attempt: [sold], attempt_event: rowsOf("attempt_event", id) };
const whole = { ...kept, hand_off: rowsOf("hand_off", id) };
journal.archive.putAway(Number.MAX_SAFE_INTEGER, 100);
const archived = { archived_order: rowsOf("archived_order", id) };
if (archived.archived_order.length !== 1) throw new Error("the payment could not be archived");
multiply(archived, 1, orders - full);
multiply(whole, orders - full + 1, orders);
if (values.packed) packAll(journal);
const [pages, free] = ["page_count", "freelist_count"].map((name) => numberOf(database, name));
journal.close();
process.stdout.write(`${path}: ${orders} orders, ${full} of them not in the archive; `);
process.stdout.write(`${pages} pages, ${free} of them free\n`);

async function sellOnce(): Promise<void> {
  const at = new TestInstallation({ terminalSwitches: ["--instant"] });
  try {
    await at.start();
    await at.connected();
    await at.pay(10, "before"); // so that the terminal has a last transaction before the next one
    const { one } = await at.pay(10, PAID);
    if (!one.notificationGatewaySent) throw new Error(JSON.stringify(one));
    await Promise.all([at.tpManager?.end(), at.supervisor?.end()]);
    copyFileSync(join(at.data, "journal.db"), path);
  } finally {
    await at.stop();
  }
}

/** Returns the rows of the orders `from` to `to`, each with ids and numbers of its own. */
function multiply(tables: Readonly<Record<string, readonly Row[]>>, from: number, to: number) {
  const writers = Object.entries(tables).flatMap(([table, rows]) =>
    rows.map((row) => writer(database, table, row)),
  );
  database.exec("BEGIN");
  for (let number = from; number <= to; number++) for (const write of writers) write(number);
  database.exec("COMMIT");
}

function writer(to: DatabaseSync, table: string, row: Row): (number: number) => void {
  // Columns that SQLite computes cannot be written.
  const columns = to
    .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name <> 'id'`)
    .all()
    .map(({ name }) => String(name));
  const marks = columns.map(() => "?").join();
  const insert = to.prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${marks})`);
  return (number) => {
    const receipt = String((number % 9_999) + 1).padStart(4, "0");
    const trace = String(number).padStart(6, "0");
    const numbers: Readonly<Record<string, string>> = {
      receipt_number: receipt,
      trace_number: trace,
    };
    const given = columns.map((name) => {
      const value = row[name] ?? null;
      if (typeof value !== "string") return value;
      return numbers[name] ?? ofOrder(value, number, receipt, trace);
    });
    insert.run(...given);
  };
}

function ofOrder(text: string, number: number, receipt: string, trace: string): string {
  return text
    .replaceAll(id, `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`)
    .replaceAll(PAID, `order-${number}`)
    .replaceAll(
      `"receiptNumber":"${String(sold["receipt_number"])}"`,
      `"receiptNumber":"${receipt}"`,
    )
    .replaceAll(`"traceNumber":"${String(sold["trace_number"])}"`, `"traceNumber":"${trace}"`);
}
