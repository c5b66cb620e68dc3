import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { timersUpTo } from "../support/held-timers.ts";
import { freePort } from "../support/installation.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { mapiOf, md5, resultOf } from "./notifications/mapi.ts";
import { accepted, type Behaviour, RecordingGateway } from "./recording-gateway.ts";
import { sampleTransaction } from "./sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "./supervisor-process.ts";

/** No timer of a second or more fires: the stop alone writes what waits. */
const withoutTimers = timersUpTo(999);

/** A supervisor and its gateway; `onDisk` reads the database as another process finds it. */
async function started(more: Readonly<Record<string, string>> = {}) {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url, more);
  const supervisor = new SupervisorProcess(data, withoutTimers);
  await supervisor.ready();
  const onDisk = (sql: string): unknown[] => {
    const database = new DatabaseSync(join(data, "supervisor.db"), { readOnly: true });
    onTestFinished(() => database.close());
    return database
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(" "));
  };
  const items = () => onDisk("SELECT state, ambiguous, claimed_at_ms IS NULL FROM outbox");
  const tries = () => onDisk("SELECT class FROM attempts");
  return { gateway, supervisor, onDisk, items, tries };
}

test("a transaction that is answered as sent is on disk by then", async () => {
  const { supervisor, items, tries } = await started();
  const told = await supervisor.call(
    "store-transaction",
    { transaction: sampleTransaction(), waitMs: 60_000 },
    2 * PATIENCE_MS,
  );
  await supervisor.kill();
  expect([told.state, items(), tries()]).toEqual(["sent", ["sent 0 1"], ["sent"]]);
});

test("an answer of the gateway that comes during the stop is on disk after it", async () => {
  const { gateway, supervisor, items, tries } = await started();
  const answered = Promise.withResolvers<Behaviour>();
  gateway.behave = () => answered.promise;
  await supervisor.call("store-transaction", { transaction: sampleTransaction() }, PATIENCE_MS);
  await expect.poll(() => gateway.requests).toHaveLength(1);
  supervisor.signal("SIGTERM");
  await expect.poll(() => supervisor.log()).toContain("stopping: SIGTERM");
  expect(items()).toEqual(["pending 0 0"]);
  answered.resolve(accepted);
  expect(await supervisor.ended()).toBe(0);
  expect([items(), tries()]).toEqual([["sent 0 1"], ["sent"]]);
});

test("refused notifications are counted on disk after a stop", async () => {
  const port = await freePort();
  const { supervisor, onDisk } = await started({ NOTIFICATION_PORT: String(port) });
  const body = new URLSearchParams({ xml: mapiOf(resultOf(), md5("somebody else's")) });
  await fetch(`http://127.0.0.1:${port}/notify`, { method: "POST", body });
  const { notifications } = await supervisor.call("status", {}, PATIENCE_MS);
  expect(notifications?.refused?.count).toBe(1);
  const refused = (): unknown[] => onDisk("SELECT count FROM refused_notifications");
  expect(refused()).toEqual([]);
  expect(await supervisor.ended("SIGTERM")).toBe(0);
  expect(refused()).toEqual(["1"]);
});
