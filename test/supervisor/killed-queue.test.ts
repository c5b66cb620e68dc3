import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase, openForReading, transaction } from "../../src/shared/store/sqlite.ts";
import { insertItem } from "../../src/supervisor/outbox/item-rows.ts";
import { WINDOW_MAX } from "../../src/supervisor/outbox/queue-window.ts";
import { supervisorMigrations } from "../../src/supervisor/supervisor-schema.ts";
import { TEST_LIMIT_MS } from "../support/clocks/patience.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { accepted, RecordingGateway } from "./recording-gateway.ts";
import { sampleTransaction } from "./sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "./supervisor-process.ts";

const QUEUED = 400;
/** Orders that have come when the program is killed; the window is open from the 24th on. */
const KILLED_AT = [101, 203, 300];

/** Orders that wait, and a second look at what is on disk of them. */
function fillQueue(data: string) {
  const path = join(data, "supervisor.db");
  const database = openDatabase(path, supervisorMigrations);
  transaction(database, () => {
    for (let i = 0; i < QUEUED; i++) {
      insertItem(database, sampleTransaction({ orderId: String(i) }), i);
    }
  });
  database.close();
  const disk = openForReading(path);
  onTestFinished(() => disk.close());
  const orders = disk.prepare(`SELECT order_id FROM outbox JOIN transactions USING (transaction_id)
    WHERE CASE ?1 WHEN 'sent' THEN state = 'sent' WHEN 'claimed' THEN claimed_at_ms IS NOT NULL
      ELSE ambiguous = 1 END`);
  return (which: "sent" | "claimed" | "ambiguous"): string[] =>
    orders.all(which).map((row) => String(row["order_id"]));
}

test("a kill amid a queue leaves at most one window uncertain, and it is known which", async () => {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url);
  const onDisk = fillQueue(data);
  const notRecorded: number[] = [];
  let due = Number.POSITIVE_INFINITY;
  let kill = (): void => undefined;
  gateway.behave = () => {
    // A connection is used again only when the result of its last use is on disk.
    notRecorded.push(gateway.references.length - onDisk("sent").length);
    if (gateway.references.length >= due) kill();
    return accepted;
  };
  const unknown = new Set<string>();
  for (const killedAt of KILLED_AT) {
    const supervisor = new SupervisorProcess(data);
    const killed = Promise.withResolvers<void>();
    kill = () => void supervisor.kill().then(killed.resolve);
    due = killedAt;
    await killed.promise;
    const recorded = new Set(onDisk("sent"));
    const lost = gateway.references.filter((order) => !recorded.has(order));
    const claimed = onDisk("claimed");
    expect(claimed.length).toBeLessThanOrEqual(WINDOW_MAX);
    for (const order of claimed) unknown.add(order);
    expect(lost.filter((order) => !unknown.has(order))).toEqual([]);
  }
  const beforeKills = Math.max(...notRecorded.slice(0, KILLED_AT[0]));
  expect(beforeKills).toBeGreaterThan(WINDOW_MAX / 2);
  expect(beforeKills).toBeLessThanOrEqual(WINDOW_MAX);
  expect(Math.max(...notRecorded)).toBeLessThanOrEqual(WINDOW_MAX * KILLED_AT.length);

  due = Number.POSITIVE_INFINITY;
  const last = new SupervisorProcess(data);
  const isEnough = () => expect.poll(() => onDisk("sent").length, { timeout: TEST_LIMIT_MS });
  await isEnough().toBe(QUEUED - unknown.size);
  expect(new Set(onDisk("ambiguous"))).toEqual(unknown);
  // None was sent again without having been looked up.
  expect(new Set(gateway.references).size).toBe(gateway.references.length);
  await last.kill();
});
