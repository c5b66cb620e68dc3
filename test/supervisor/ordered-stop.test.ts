import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { newId } from "../../src/shared/new-id.ts";
import { timersUpTo } from "../support/clocks/held-timers.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { freePort } from "../support/programs/installation.ts";
import { mapiOf, md5, resultOf } from "./notifications/mapi.ts";
import { accepted, type Behaviour, operationBody, RecordingGateway } from "./recording-gateway.ts";
import { sampleTransaction } from "./sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "./supervisor-process.ts";

/** No timer of a second or more fires: the stop alone writes what waits. */
const withoutTimers = timersUpTo(999);

/** A supervisor and its gateway; `onDisk` reads the database as another process finds it. */
async function started(
  more: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = withoutTimers,
) {
  const gateway = await RecordingGateway.start();
  const data = join(temporaryFolder(), "data");
  writeConfig(data, gateway.url, more);
  const supervisor = new SupervisorProcess(data, nodeOptions);
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
  const stored = await supervisor.call(
    "store-transaction",
    { transaction: sampleTransaction(), waitMs: 60_000 },
    2 * PATIENCE_MS,
  );
  await supervisor.kill();
  expect([stored.state, items(), tries()]).toEqual(["sent", ["sent 0 1"], ["sent"]]);
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
  const body = new URLSearchParams({ xml: mapiOf(resultOf(), md5("another's")) });
  await fetch(`http://127.0.0.1:${port}/notify`, { method: "POST", body });
  const { notifications } = await supervisor.call("status", {}, PATIENCE_MS);
  expect(notifications?.refused?.count).toBe(1);
  const refused = (): unknown[] => onDisk("SELECT count FROM refused_notifications");
  expect(refused()).toEqual([]);
  expect(await supervisor.ended("SIGTERM")).toBe(0);
  expect(refused()).toEqual(["1"]);
});

const refund = {
  operationId: newId(),
  kind: "refund",
  transactionPublicId: "5CF62325CB217655",
  amountMinor: 100,
  currency: "EUR",
  exponent: 2,
} as const;

/** Messages that wait for the gateway, which is silent, and what a stop lets them answer. */
const waiting: ReadonlyArray<
  [what: string, ask: (supervisor: SupervisorProcess) => Promise<unknown>, answer: object]
> = [
  [
    "a refund",
    (supervisor) => supervisor.call("gateway-operation", refund, 2 * PATIENCE_MS),
    { operation: { state: "unknown" } },
  ],
  [
    "a lookup of an order",
    (supervisor) => supervisor.call("order-at-gateway", { orderId: "a" }, 2 * PATIENCE_MS),
    { found: "untold" },
  ],
  [
    "a lookup of a transaction",
    (supervisor) => supervisor.call("gateway-lookup", { id: "5CF62325CB217655" }, 2 * PATIENCE_MS),
    { transaction: null },
  ],
];

test.each(waiting)("a stop does not wait for the gateway's answer to %s", async (_, ask, reply) => {
  const { gateway, supervisor } = await started({}, []);
  gateway.behave = () => "hang";
  gateway.lookUp = () => "hang";
  const answered = ask(supervisor);
  await expect.poll(() => gateway.requests.length + gateway.lookups.length).toBe(1);
  supervisor.signal("SIGTERM");
  expect(await answered).toMatchObject(reply);
  expect(await supervisor.ended()).toBe(0);
});

test("a refund whose answer comes during the stop is done", async () => {
  const { gateway, supervisor, onDisk } = await started();
  const answer = Promise.withResolvers<Behaviour>();
  gateway.behave = () => answer.promise;
  const answered = supervisor.call("gateway-operation", refund, 2 * PATIENCE_MS);
  await expect.poll(() => gateway.requests).toHaveLength(1);
  supervisor.signal("SIGTERM");
  await expect.poll(() => supervisor.log()).toContain("stopping: SIGTERM");
  const named = { transactionPublicId: refund.transactionPublicId, amount: "1.00" };
  answer.resolve({ status: 200, body: operationBody("card", 0, "N/A", named) });
  expect(await answered).toMatchObject({ operation: { state: "done" } });
  expect(await supervisor.ended()).toBe(0);
  expect(onDisk("SELECT state FROM gateway_operations")).toEqual(["done"]);
});
