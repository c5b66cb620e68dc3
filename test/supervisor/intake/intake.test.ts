import { expect, test } from "vitest";
import { MessageRefused } from "../../../src/shared/ipc/server.ts";
import { fullTransaction, sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

// The forwarder of these rigs is not started: what is stored stays where it is.

test("a transaction is stored with its place in the outbox before the first try", async () => {
  const rig = await openRig();
  const transaction = fullTransaction();
  rig.intake.store(transaction);
  expect(JSON.parse(rig.store.content(transaction.transactionId) ?? "")).toEqual(transaction);
  expect(rig.store.counts().pending).toBe(1);
  expect(rig.server.requests).toEqual([]);
});

test("the same transaction again changes nothing and starts no other try", async () => {
  const rig = await openRig();
  const transaction = fullTransaction();
  for (let i = 0; i < 3; i++) rig.intake.store(structuredClone(transaction));
  await rig.tries(transaction.transactionId, 1);
  rig.intake.store(transaction);
  expect(rig.store.counts()).toMatchObject({ pending: 0, sent: 1 });
  expect(rig.server.references).toEqual([transaction.orderId]);
  expect(rig.alarms()).toEqual([]);
});

test("a transaction taken for its first try is tried although what follows fails", async () => {
  const rig = await openRig();
  const transaction = fullTransaction();
  const { othersOfOrder } = rig.store;
  rig.store.othersOfOrder = () => {
    rig.store.othersOfOrder = othersOfOrder;
    throw new Error("disk I/O error");
  };
  expect(() => rig.intake.store(transaction)).toThrow("disk I/O error");
  rig.intake.store(transaction);
  await rig.tries(transaction.transactionId, 1);
  expect(rig.store.counts()).toMatchObject({ pending: 0, sent: 1 });
});

test("the order of keys in custom data is no difference", async () => {
  const rig = await openRig();
  const transaction = sampleTransaction({ customData: { a: 1, b: 2 } });
  rig.intake.store(transaction);
  rig.intake.store({ ...transaction, customData: { b: 2, a: 1 } });
  expect(rig.alarms()).toEqual([]);
});

test.each([
  ["amountMinor", { amountMinor: 900 }],
  ["currency", { currency: "GBP" }],
  ["orderId", { orderId: "another" }],
  ["maskedPan", { maskedPan: "55" }],
  ["customData", { customData: { a: 1 } }],
])("the same id with another %s is refused, with an alarm", async (name, change) => {
  const rig = await openRig();
  const transaction = fullTransaction();
  rig.intake.store(transaction);
  expect(() => rig.intake.store({ ...transaction, ...change })).toThrow(MessageRefused);
  expect(rig.alarms()).toEqual(["transaction-changed"]);
  expect(rig.lines.find((line) => line["alarm"])).toMatchObject({
    level: "error",
    transactionId: transaction.transactionId,
    differing: [name],
  });
  expect(JSON.parse(rig.store.content(transaction.transactionId) ?? "")).toEqual(transaction);
});

test.each([
  ["looked up first when its charge was found out later", "recovery", true, 1],
  ["looked up first when it may have been handed off before", "payment", undefined, 1],
  ["sent at once when it was never handed off before", "payment", true, 0],
] as const)("a transaction that comes after a loss is %s", async (_, origin, isFirst, lookUp) => {
  const rig = await openRig();
  rig.losses.note("it is an older copy");
  // A clock that was ahead when it was charged, and is right again.
  const given = sampleTransaction({ origin, approvedAtMs: rig.clock.now() + 1 });
  rig.intake.store(given, isFirst);
  const { transactionId } = given;
  const sql = "SELECT look_next FROM outbox WHERE transaction_id = ?";
  expect(rig.database.prepare(sql).get(transactionId)).toEqual({ look_next: lookUp });
  expect(rig.losses.mayLack(transactionId)).toBe(lookUp === 1);
  rig.losses.end();
  expect(rig.losses.mayLack(rig.handOver("A-2"))).toBe(false);
  rig.losses.note("it is an older copy again");
  expect(rig.losses.mayLack(transactionId)).toBe(true);
});

test("a field that another version added or left out is no difference", async () => {
  const rig = await openRig();
  const transaction = fullTransaction();
  rig.intake.store({ ...transaction, fieldOfTomorrow: 1 } as typeof transaction);
  rig.intake.store(transaction);
  rig.intake.store({ ...transaction, fieldOfTheDayAfter: 2 } as typeof transaction);
  expect(rig.alarms()).toEqual([]);
  expect(rig.store.counts().pending + rig.store.counts().sent).toBe(1);
});

test("two transactions of one order are both kept, with an alarm", async () => {
  const rig = await openRig();
  const first = rig.handOver("same");
  const second = rig.handOver("same");
  expect(rig.alarms()).toEqual(["order-charged-twice"]);
  expect(rig.lines.find((line) => line["alarm"])).toMatchObject({
    orderId: "same",
    transactionId: second,
    otherTransactionIds: [first],
  });
  await rig.drained();
  expect(rig.store.counts().sent).toBe(2);
});

test("a card number that comes unmasked is masked before it is stored, with an alarm", async () => {
  const rig = await openRig();
  const pan = "4111111111111111";
  const transaction = sampleTransaction({
    maskedPan: pan,
    customData: { note: `card ${pan}`, number: Number(pan), ean: 4_711_892_728_946 },
  });
  rig.intake.store(transaction);
  rig.intake.store(transaction);
  const stored = rig.store.content(transaction.transactionId) ?? "";
  expect(stored).not.toContain(pan);
  expect(JSON.parse(stored)).toMatchObject({
    maskedPan: expect.stringMatching(/^411111X{6}1111$/),
    customData: { note: expect.stringMatching(/^card 411111X{6}1111$/), ean: 4_711_892_728_946 },
  });
  expect(JSON.stringify(rig.lines)).not.toContain(pan);
  expect(new Set(rig.alarms())).toEqual(new Set(["card-number-masked"]));
});

test("a transaction that cannot be stored is neither accepted nor sent", async () => {
  const rig = await openRig();
  const transaction = sampleTransaction();
  // The table that a full disk or a damaged file would refuse to write.
  rig.database.exec("DROP TABLE outbox_counts");
  expect(() => rig.intake.store(transaction)).toThrow();
  expect(rig.store.content(transaction.transactionId)).toBeUndefined();
  expect(rig.server.requests).toEqual([]);
});

test("a second sale of an order is alarmed even if the program ends right then", async () => {
  const rig = await openRig();
  rig.handOver("same");
  const add = rig.store.add.bind(rig.store);
  rig.store.add = (...given) => {
    add(...given);
    throw new Error("killed");
  };
  expect(() => rig.handOver("same")).toThrow("killed");
  expect(rig.alarms()).toEqual(["order-charged-twice"]);
});
