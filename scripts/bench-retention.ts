/**
 * Runs the daily retention of the supervisor on a database of so many orders that were all sent
 * long ago, and prints what one turn of the main thread takes at most, and what all takes:
 *   node scripts/bench-retention.ts [--orders 100000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, transaction } from "../src/shared/store/sqlite.ts";
import { systemClock } from "../src/shared/time.ts";
import { retentionChore } from "../src/supervisor/outbox/retention.ts";
import { supervisorMigrations } from "../src/supervisor/supervisor-schema.ts";
import { fullTransaction } from "../test/supervisor/sample-transaction.ts";
import { readArguments } from "./command-line.ts";

const JOURNAL_DAYS = 30;
const { values } = readArguments({ options: { orders: { type: "string", default: "100000" } } });
const orders = Number(values.orders);
const folder = mkdtempSync(join(tmpdir(), "bench-retention-"));
const database = openDatabase(join(folder, "supervisor.db"), supervisorMigrations);
try {
  fill();
  const longest = { wallMs: 0, processorMs: 0 };
  const timed = watchTurns(longest);
  const begun = systemClock.monotonicMs();
  await retentionChore(database, JOURNAL_DAYS, systemClock).run();
  const seconds = (systemClock.monotonicMs() - begun) / 1000;
  clearInterval(timed);
  const { wallMs, processorMs } = longest;
  process.stdout.write(
    `${orders} orders erased in ${seconds.toFixed(1)} s; longest turn ${wallMs.toFixed(1)} ms, ` +
      `${processorMs.toFixed(1)} ms of processor time\n`,
  );
} finally {
  database.close();
  rmSync(folder, { recursive: true });
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

function fill(): void {
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
