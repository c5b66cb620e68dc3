import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase, sqlOf } from "../../../src/shared/store/sqlite.ts";
import { OutboxAdmin } from "../../../src/supervisor/outbox/outbox-admin.ts";
import { OutboxStore } from "../../../src/supervisor/outbox/outbox-store.ts";
import { sendingSteps } from "../../../src/supervisor/outbox/sending-steps.ts";
import { supervisorMigrations } from "../../../src/supervisor/supervisor-schema.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { accepted, refusedOrder } from "../recording-gateway.ts";
import { insertAsBefore, sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

const SECOND_MS = 1_000;

async function rigWithSteps() {
  const rig = await openRig();
  const ends = () => rig.database.prepare("SELECT * FROM outbox_ends").all();
  const stepsOf = (orderId = "A-1") =>
    sendingSteps(rig.database, orderId).map((one) =>
      [one.step, one.outcome, one.description, one.by].filter((part) => part).join(", "),
    );
  return { rig, ends, stepsOf };
}

test("tries, parks and operators' decisions are listed in the order of their time", async () => {
  const { rig, stepsOf, ends } = await rigWithSteps();
  rig.server.behave = () => refusedOrder;
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  await rig.clock.advance(SECOND_MS);
  expect(rig.admin.requeue(id, rig.clock.now(), { by: "Ada (op)", note: "4111111111111111" })).toBe(
    "queued",
  );
  rig.requeued(id);
  await rig.tries(id, 2);
  await rig.clock.advance(SECOND_MS);
  rig.admin.drop(id, "booked by hand", rig.clock.now());
  await rig.clock.advance(SECOND_MS);
  rig.admin.requeue(id, rig.clock.now());
  rig.server.behave = () => accepted;
  rig.requeued(id);
  await rig.tries(id, 3);
  const refused = "another code than 0 and 1: the gateway refused: amount invalid";
  expect(stepsOf()).toEqual([
    "queued",
    "try, not-taken, amount invalid",
    `parked, ${refused}`,
    "requeue, 411111XXXXXX1111, Ada (op)",
    "try, not-taken, amount invalid",
    `parked, ${refused}`,
    "drop, booked by hand",
    "requeue",
    "try, taken, N/A",
  ]);
  expect(sendingSteps(rig.database, "A-1").map(({ number }) => number)).toEqual([
    null,
    1,
    null,
    null,
    2,
    null,
    null,
    null,
    3,
  ]);
  expect(ends()).toHaveLength(2);
});

test("an unknown outcome of a try, and why an item was closed, are listed", async () => {
  const { rig, stepsOf } = await rigWithSteps();
  rig.server.behave = () => ({ status: 500 });
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  await rig.clock.advance(SECOND_MS);
  rig.store.withdraw(JSON.parse(rig.store.content(id) ?? ""), rig.clock.now());
  expect(stepsOf()).toMatchObject([
    "queued",
    expect.stringMatching(/^try, not-known, /),
    expect.stringMatching(/^closed, reversed at the terminal after an answer was lost/),
  ]);
  expect(stepsOf("A-2")).toEqual([]);
});

test("an order that the gateway names is listed as sent; an accepted one adds no row", async () => {
  const { rig, stepsOf, ends } = await rigWithSteps();
  await rig.tries(rig.handOver("A-2"), 1);
  expect([stepsOf("A-2"), ends()]).toEqual([["queued", "try, taken, N/A"], []]);
  rig.server.behave = () => ({ status: 503 });
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  rig.operationStore.learnId("0A1B2C3D4E5F6071", id, "notification", rig.clock.now());
  expect(stepsOf().at(-1)).toBe("sent, the gateway has named its transaction of it");
});

/** Each number of steps that an older program may have left a database with. */
const olderSchemas = supervisorMigrations.map((_, steps) => steps).slice(1);
const schemaWithEnds =
  supervisorMigrations.findIndex((one) => sqlOf(one).includes("CREATE TABLE outbox_ends")) + 1;

test.each(olderSchemas)("what schema %i had parked and closed is listed too", (steps) => {
  const path = join(temporaryFolder(), "supervisor.db");
  const older = openDatabase(path, supervisorMigrations.slice(0, steps));
  const hasDropped = steps > 1;
  const rows = {
    pending: "state = 'pending'",
    sent: "state = 'sent', settled_at_ms = 2000",
    named: "state = 'sent', settled_at_ms = 2000, reason = 'named'",
    parked: "state = 'parked', settled_at_ms = 2000, reason = 'why'",
    unreasoned: "state = 'parked', settled_at_ms = 2000",
    timeless: "state = 'parked', reason = 'why'",
    closed: "state = 'closed', settled_at_ms = 2000, reason = 'reversed'",
    ended: "state = 'closed', reason = 'reversed'",
    ...(hasDropped && { dropped: "state = 'closed', reason = 'x', dropped = 1" }),
  };
  for (const [orderId, change] of Object.entries(rows)) {
    const transaction = sampleTransaction({ orderId });
    insertAsBefore(older, transaction, 1_000);
    older.exec(`UPDATE outbox SET ${change} WHERE transaction_id = '${transaction.transactionId}'`);
  }
  older.close();
  const database = openDatabase(path, supervisorMigrations);
  onTestFinished(() => database.close());
  const stepsOf = (orderId: string) =>
    sendingSteps(database, orderId).map(({ step, atMs }) => `${step} ${atMs}`);
  const queued = "queued 1000";
  expect(Object.fromEntries(Object.keys(rows).map((id) => [id, stepsOf(id)]))).toEqual({
    pending: [queued],
    sent: [queued],
    unreasoned: [queued],
    // From this schema on it is listed; before, no row was kept of an item that was sent.
    named: steps < schemaWithEnds ? [queued] : [queued, "sent 2000"],
    parked: [queued, "parked 2000"],
    timeless: [queued, "parked 1000"],
    closed: [queued, "closed 2000"],
    ended: [queued, "closed 1000"],
    ...(hasDropped && { dropped: [queued] }),
  });
  const admin = new OutboxAdmin(database);
  expect(admin.list("parked", 0, 9).items).toHaveLength(3);
  expect(admin.uncertain().inDoubt).toBe(0);
  expect(new OutboxStore(database).claim("due", 3_000)?.orderId).toBe("pending");
});

test("of an item that operators sent again many times the newest steps are listed", async () => {
  const { rig } = await rigWithSteps();
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  const park = rig.database.prepare(
    `UPDATE outbox SET state = 'parked', reason = ?, settled_at_ms = ? WHERE transaction_id = ?`,
  );
  const TIMES = 150;
  const begin = rig.clock.now();
  for (let i = 1; i <= TIMES; i++) {
    park.run(`reason ${i}`, begin + 2 * i, id);
    rig.admin.requeue(id, begin + 2 * i + 1);
  }
  const steps = sendingSteps(rig.database, "A-1");
  const of = (step: string) => steps.filter((one) => one.step === step);
  expect([of("parked").length, of("requeue").length]).toEqual([100, 100]);
  expect(of("parked").at(-1)?.description).toBe(`reason ${TIMES}`);
});
