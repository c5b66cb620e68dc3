import { expect, test } from "vitest";
import type { AlarmStore } from "../../../src/supervisor/alarms/alarm-store.ts";
import { openRig } from "../supervisor-rig.ts";

const names = (store: AlarmStore, after = 0, origin = store.after(undefined, 0, 1).origin) =>
  store.after(origin, after, 200).alarms.map(({ id, alarm }) => `${id} ${alarm}`);

test("an alarm of any part is on disk, and is there after a restart", async () => {
  const rig = await openRig();
  rig.handOver("A-1", { transactionId: "0d5c9a3c-9f0e-4a41-9b1c-000000000001" });
  rig.handOver("A-1", { transactionId: "0d5c9a3c-9f0e-4a41-9b1c-000000000002" });
  const { origin, alarms } = rig.alarmStore.after(undefined, 0, 200);
  expect(alarms).toEqual([
    {
      id: 1,
      atMs: rig.clock.now(),
      alarm: "order-charged-twice",
      message: "another transaction has the same order id",
      orderId: "A-1",
      transactionId: "0d5c9a3c-9f0e-4a41-9b1c-000000000002",
      about: null,
    },
  ]);
  await rig.stop();
  const again = await openRig({ path: rig.path });
  expect(again.alarmStore.after(origin, 0, 200)).toEqual({ origin, alarms });
  expect(again.alarmStore.after(origin, 1, 200)).toEqual({ origin, alarms: [] });
});

test("ids that belong to another database are ignored", async () => {
  const [one, other] = [await openRig(), await openRig()];
  one.log.error({ alarm: "transaction-parked", orderId: "A-1" }, "parked");
  const { origin } = other.alarmStore.after(undefined, 0, 1);
  expect(names(one.alarmStore, 5, origin)).toEqual(["1 transaction-parked"]);
});

test.each([0, 10])("a copy with %i alarms is restored after tp-manager read 20", async (kept) => {
  const rig = await openRig();
  const raise = (i: number): void =>
    rig.log.error({ alarm: "transaction-parked", orderId: `A-${i}` }, "parked");
  for (let i = 0; i < kept; i++) raise(i);
  rig.losses.note("it is an older copy");
  raise(kept);
  const isNew = names(rig.alarmStore, 20).map((one) => one.split(" ")[1]);
  expect(isNew).toEqual(["outbox-lost", "transaction-parked"]);
  expect(names(rig.alarmStore)).toHaveLength(kept + 2);
});

test("two losses that one restore shows skip the alarm ids once", async () => {
  const rig = await openRig();
  for (let i = 0; i < 90; i++)
    rig.log.error({ alarm: "transaction-parked", orderId: `A-${i}` }, "parked");
  rig.losses.note("it is an older copy");
  rig.losses.note("tp-manager remembers more of it than it holds");
  const all = names(rig.alarmStore);
  expect(all.slice(-2)).toEqual(["991 outbox-lost", "992 outbox-lost"]);
  // Alarms that tp-manager has not read yet are not deleted.
  expect(all).toHaveLength(92);
});

test("the alarm of a condition is raised once, and again when the condition returns", async () => {
  const rig = await openRig();
  const paused = ({ log }: typeof rig): void =>
    log.error({ alarm: "gateway-credentials-refused" }, "paused");
  for (let hour = 0; hour < 49; hour++) {
    paused(rig);
    await rig.clock.advance(3_600_000);
  }
  rig.alarmStore.keepLasting(["gateway-credentials-refused", "queue-old"]);
  paused(rig);
  expect(names(rig.alarmStore)).toEqual(["1 gateway-credentials-refused"]);
  await rig.stop();
  const again = await openRig({ path: rig.path, clock: rig.clock });
  paused(again);
  expect(names(again.alarmStore)).toEqual(["1 gateway-credentials-refused"]);
  again.alarmStore.keepLasting(["queue-old"]);
  paused(again);
  expect(names(again.alarmStore)).toEqual([
    "1 gateway-credentials-refused",
    "2 gateway-credentials-refused",
  ]);
});

test("an alarm about nothing and of no condition is raised once a day, others always", async () => {
  const { alarmStore, clock, log } = await openRig();
  for (let hour = 0; hour < 25; hour++) {
    log.error({ alarm: "card-number-masked" }, "masked");
    await clock.advance(3_600_000);
  }
  for (let i = 0; i < 2; i++) log.error({ alarm: "transaction-parked", orderId: "A-1" }, "parked");
  expect(names(alarmStore)).toEqual([
    "1 card-number-masked",
    "2 card-number-masked",
    "3 transaction-parked",
    "4 transaction-parked",
  ]);
});

test("an alarm about another operation or document is another alarm", async () => {
  const { alarmStore, log } = await openRig();
  const unknown = (details: object): void =>
    log.error({ alarm: "gateway-operation-unknown", ...details }, "whether it was is not known");
  unknown({ operationId: "1", transactionPublicId: "AA" });
  unknown({ operationId: "2", transactionPublicId: "AA" });
  unknown({ transactionPublicId: "BB" });
  for (const about of ["a", "b"]) log.error({ alarm: "chargeback-or-fraud", about }, "reported");
  expect(names(alarmStore)).toHaveLength(5);
});

test("an alarm of a repeated hand-off is raised once a day for each transaction", async () => {
  const { alarmStore, clock, log } = await openRig();
  for (let i = 0; i < 400; i++) {
    for (const transactionId of ["1", "2"]) {
      log.error({ alarm: "transaction-changed", orderId: "A-1", transactionId }, "changed");
    }
    await clock.advance(15_000);
  }
  expect(names(alarmStore)).toEqual(["1 transaction-changed", "2 transaction-changed"]);
  await clock.advance(24 * 3_600_000);
  log.error({ alarm: "transaction-changed", orderId: "A-1", transactionId: "1" }, "changed");
  expect(names(alarmStore)).toHaveLength(3);
});

test("only the newest are kept, and no id is given twice", async () => {
  const { alarmStore, log } = await openRig();
  for (let i = 0; i < 1_005; i++) {
    log.error({ alarm: "transaction-parked", orderId: `A-${i}` }, "parked");
  }
  expect(names(alarmStore)[0]).toBe("6 transaction-parked");
  expect(names(alarmStore, 1_004)).toEqual(["1005 transaction-parked"]);
});

test("an alarm within a transaction is undone with it; a closed database is no fault", async () => {
  const rig = await openRig();
  rig.database.exec("BEGIN");
  rig.log.error({ alarm: "transaction-parked", orderId: "A-1" }, "parked");
  rig.database.exec("ROLLBACK");
  expect(names(rig.alarmStore)).toEqual([]);
  await rig.stop();
  rig.log.error({ alarm: "transaction-parked", orderId: "A-1" }, "parked");
  expect(rig.alarms()).toHaveLength(2);
});
