/**
 * Runs the daily retention of the supervisor on a database of so many orders that were all sent
 * long ago, and prints what one turn of the main thread takes at most, and what all takes:
 *   node scripts/bench-retention.ts [--orders 100000]
 * With `--journal FOLDER`, a folder of scripts/large-journal.ts, it packs that journal instead, and
 * then moves its orders to the archive.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openDatabase, transaction } from "../src/shared/store/sqlite.ts";
import { DAY_MS, sleep, systemClock } from "../src/shared/time.ts";
import { retentionChore } from "../src/supervisor/outbox/retention.ts";
import { supervisorMigrations } from "../src/supervisor/supervisor-schema.ts";
import { archiveChore } from "../src/tp-manager/journal/archive.ts";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { packingChore } from "../src/tp-manager/journal/packing.ts";
import { fullTransaction } from "../test/supervisor/sample-transaction.ts";
import { readArguments } from "./command-line.ts";

const JOURNAL_DAYS = 30;
const { values } = readArguments({
  options: { orders: { type: "string", default: "100000" }, journal: { type: "string" } },
});
const orders = Number(values.orders);
if (values.journal === undefined) await ofSupervisor();
else await ofJournal(values.journal);

async function ofSupervisor(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-retention-"));
  const database = openDatabase(join(folder, "supervisor.db"), supervisorMigrations);
  try {
    fill(database);
    const chore = retentionChore(database, JOURNAL_DAYS, systemClock);
    await timed(`${orders} orders erased`, () => chore.run());
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
}

async function ofJournal(folder: string): Promise<void> {
  const journal = new Journal(join(folder, "journal.db"), systemClock);
  const { packing, archive, database } = journal;
  const clock = { ...systemClock, now: () => systemClock.now() + 2 * JOURNAL_DAYS * DAY_MS };
  const count = (rows: string) =>
    database.prepare(`SELECT count(*) AS n FROM ${rows}`).get()?.["n"];
  const mayGoOn = () => sleep(systemClock, "next step", 20).then(() => true);
  const whole = count("attempt WHERE packed IS NULL");
  await timed(`${whole} attempts packed`, () => packingChore(packing, clock).run(mayGoOn));
  const kept = count("attempt");
  const learn = () => Promise.resolve();
  const toArchive = archiveChore(archive, JOURNAL_DAYS, clock, learn);
  await timed(`${kept} attempts moved to the archive`, () => toArchive.run(mayGoOn));
  journal.close();
}

async function timed(what: string, run: () => void | Promise<void>): Promise<void> {
  const longest = { wallMs: 0, processorMs: 0 };
  const watch = watchTurns(longest);
  const begun = systemClock.monotonicMs();
  await run();
  const seconds = (systemClock.monotonicMs() - begun) / 1000;
  clearInterval(watch);
  const { wallMs, processorMs } = longest;
  process.stdout.write(
    `${what} in ${seconds.toFixed(1)} s; longest turn ${wallMs.toFixed(1)} ms, ` +
      `${processorMs.toFixed(1)} ms of processor time\n`,
  );
}

/** Starts a tick each millisecond; a late tick shows how long a turn of the retention took. */
function watchTurns(longest: { wallMs: number; processorMs: number }): NodeJS.Timeout {
  let [at, used] = [systemClock.monotonicMs(), process.threadCpuUsage()];
  return setInterval(() => {
    const [now, since] = [systemClock.monotonicMs(), process.threadCpuUsage(used)];
    longest.wallMs = Math.max(longest.wallMs, now - at);
    longest.processorMs = Math.max(longest.processorMs, (since.user + since.system) / 1000);
    [at, used] = [now, process.threadCpuUsage()];
  }, 1);
}

function fill(database: DatabaseSync): void {
  const addOrder = database.prepare("INSERT INTO transactions VALUES (?, ?, 1, ?)");
  const addItem = database.prepare(`INSERT INTO outbox (transaction_id, state, queued_at_ms,
    next_try_at_ms, delayed_at_ms, settled_at_ms, redirect_url)
    VALUES (?, 'sent', 1, 1, 1, 1, 'page')`);
  const addTry = database.prepare(
    "INSERT INTO attempts VALUES (?, ?, 1, 1, 'sent', 200, 0, '', 0, '[]')",
  );
  const addNotification = database.prepare(`INSERT INTO notifications (fingerprint, kind, verdict,
    transaction_id, operation, status, received_at_ms, parsed, raw)
    VALUES (?1, 'operation', 'accepted', ?1, 'capture', 'ok', 1, '{}', ?2)`);
  transaction(database, () => {
    for (let i = 0; i < orders; i++) {
      const given = fullTransaction({ orderId: `order ${i}` });
      addOrder.run(given.transactionId, given.orderId, JSON.stringify(given));
      addItem.run(given.transactionId);
      for (const number of [1, 2]) addTry.run(given.transactionId, number);
      addNotification.run(given.transactionId, "x".repeat(1_000));
    }
  });
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)"); // what was filled in is no turn of the chore
}
