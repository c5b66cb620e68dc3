import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../src/shared/sqlite.ts";
import { OutboxDesk } from "../../../src/supervisor/outbox/outbox-desk.ts";
import { OutboxStore } from "../../../src/supervisor/outbox/outbox-store.ts";
import { sendingSteps } from "../../../src/supervisor/outbox/sending-steps.ts";
import { supervisorMigrations } from "../../../src/supervisor/supervisor-schema.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { accepted, refusedOrder } from "../recording-gateway.ts";
import { sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

const SECOND_MS = 1_000;

async function rigWithSteps() {
  const rig = await openRig();
  const ends = () => rig.database.prepare("SELECT * FROM outbox_ends").all();
  const told = (orderId = "A-1") =>
    sendingSteps(rig.database, orderId).map((one) =>
      [one.step, one.outcome, one.description, one.by].filter((word) => word).join(", "),
    );
  return { rig, ends, told };
}

test("tries, parks and people's words are told in the order in which they were", async () => {
  const { rig, told, ends } = await rigWithSteps();
  rig.server.behave = () => refusedOrder;
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  await rig.clock.advance(SECOND_MS);
  expect(rig.desk.requeue(id, rig.clock.now(), { by: "Ada (op)", note: "4111111111111111" })).toBe(
    "queued",
  );
  rig.requeued(id);
  await rig.tries(id, 2);
  await rig.clock.advance(SECOND_MS);
  rig.desk.drop(id, "booked by hand", rig.clock.now());
  await rig.clock.advance(SECOND_MS);
  rig.desk.requeue(id, rig.clock.now());
  rig.server.behave = () => accepted;
  rig.requeued(id);
  await rig.tries(id, 3);
  const refused = "another code than 0 and 1: the gateway refused: amount invalid";
  expect(told()).toEqual([
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

test("what is not known of a try, and why it was closed, is told", async () => {
  const { rig, told } = await rigWithSteps();
  rig.server.behave = () => ({ status: 500 });
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  await rig.clock.advance(SECOND_MS);
  rig.store.withdraw(JSON.parse(rig.store.content(id) ?? ""), rig.clock.now());
  expect(told()).toMatchObject([
    "queued",
    expect.stringMatching(/^try, not-known, /),
    expect.stringMatching(/^closed, reversed at the terminal after an answer was lost/),
  ]);
  expect(told("A-2")).toEqual([]);
});

test("one that the gateway names is told as sent; one that it takes has no row more", async () => {
  const { rig, told, ends } = await rigWithSteps();
  await rig.tries(rig.handOver("A-2"), 1);
  expect([told("A-2"), ends()]).toEqual([["queued", "try, taken, N/A"], []]);
  rig.server.behave = () => ({ status: 503 });
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  rig.operationStore.learnId("0A1B2C3D4E5F6071", id, "notification", rig.clock.now());
  expect(told().at(-1)).toBe("sent, the gateway has named its transaction of it");
});

test("what an older version had parked and closed is told too", () => {
  const path = join(temporaryFolder(), "supervisor.db");
  const older = openDatabase(path, supervisorMigrations.slice(0, -1));
  const store = new OutboxStore(older);
  const at = 1_000;
  for (const orderId of ["parked", "closed", "dropped"]) {
    const transaction = sampleTransaction({ orderId });
    store.add(transaction, at);
    const change = {
      parked: "state = 'parked', settled_at_ms = 2000, reason = 'why'",
      closed: "state = 'closed', settled_at_ms = 2000, reason = 'reversed'",
      dropped: "state = 'closed', settled_at_ms = 2000, reason = 'x', dropped = 1",
    }[orderId];
    older.exec(`UPDATE outbox SET ${change} WHERE transaction_id = '${transaction.transactionId}'`);
  }
  older.close();
  const database = openDatabase(path, supervisorMigrations);
  onTestFinished(() => database.close());
  const told = (orderId: string) => sendingSteps(database, orderId).map(({ step }) => step);
  expect([told("parked"), told("closed"), told("dropped")]).toEqual([
    ["queued", "parked"],
    ["queued", "closed"],
    ["queued"],
  ]);
  expect(new OutboxDesk(database).list("parked", 0, 9).items).toHaveLength(1);
});
