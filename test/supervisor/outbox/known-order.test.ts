import { expect, test } from "vitest";
import { accepted, type Behaviour, refusedOrder } from "../recording-gateway.ts";
import { openRig } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";
type Rig = Awaited<ReturnType<typeof openRig>>;

/** What a verified notification or a lookup does with the id it names. */
const learn = (rig: Rig, transactionId: string): boolean =>
  rig.operationStore.learnId(ID, transactionId, "notification", rig.clock.now());

test("an order that the gateway has named is not sent again after a lost answer", async () => {
  const rig = await openRig();
  rig.server.behave = () => "reset";
  rig.forwarder.start();
  const id = rig.handOver("a");
  expect(await rig.tries(id, 1)).toEqual(["lost-answer"]);
  learn(rig, id);
  expect(rig.store.delivery(id)).toEqual({ state: "sent", firstTryEnded: true, ambiguous: true });
  await rig.clock.advance(24 * 3_600_000);
  expect(rig.server.references).toEqual(["a"]);
  expect(rig.store.counts()).toMatchObject({ pending: 0, sent: 1 });
});

test("an order that was named while its answer was awaited is not sent again", async () => {
  const rig = await openRig();
  rig.server.behave = () => "hang";
  rig.forwarder.start();
  const id = rig.handOver("a");
  await expect.poll(() => rig.server.requests).toHaveLength(1);
  learn(rig, id);
  expect(rig.store.delivery(id)?.state).toBe("pending");
  await rig.clock.advance(30_000);
  expect(await rig.tries(id, 1)).toEqual(["answer-timeout"]);
  expect(rig.store.delivery(id)?.state).toBe("sent");
});

test("an order that was named before the program died is not sent again", async () => {
  const first = await openRig();
  first.server.behave = () => accepted;
  const transactionId = first.handOver("a");
  await first.tries(transactionId, 1);
  first.database.exec("UPDATE outbox SET state = 'pending', claimed_at_ms = 1, tries = 2");
  learn(first, transactionId);
  await first.stop();
  const rig = await openRig({ path: first.path });
  rig.forwarder.endInterrupted();
  rig.forwarder.start();
  await rig.clock.advance(3_600_000);
  expect(rig.store.delivery(transactionId)?.state).toBe("sent");
  expect(rig.server.requests).toEqual([]);
});

test("an order that was reversed at the terminal stays closed", async () => {
  const rig = await openRig();
  rig.server.behave = () => "reset";
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  const content = JSON.parse(rig.store.content(id) ?? "");
  expect(rig.intake.withdraw(content)).toBe("sent");
  learn(rig, id);
  expect(rig.store.delivery(id)?.state).toBe("closed");
});

test("an order that is named while the gateway refuses it is not alarmed as parked", async () => {
  const rig = await openRig();
  const { promise, resolve } = Promise.withResolvers<Behaviour>();
  rig.server.behave = () => promise;
  const id = rig.handOver("A-1");
  await expect.poll(() => rig.server.requests).toHaveLength(1);
  learn(rig, id);
  resolve(refusedOrder);
  await rig.tries(id, 1);
  expect([rig.store.delivery(id)?.state, rig.alarms()]).toEqual(["sent", []]);
});
