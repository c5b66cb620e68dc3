import { describe, expect, test } from "vitest";
import type { Transaction } from "../../../src/shared/transaction.ts";
import { accepted, type Behaviour, refusedOrder } from "../recording-gateway.ts";
import { sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

type Rig = Awaited<ReturnType<typeof openRig>>;

const stored = (rig: Rig, id: string): Transaction =>
  JSON.parse(rig.store.content(id) ?? "{}") as Transaction;

const withdraw = (rig: Rig, id: string) => rig.intake.withdraw(stored(rig, id));

/** An item in each state it can be in when its sale is reversed at the terminal. */
const rows: ReadonlyArray<{
  readonly item: string;
  readonly bring: (rig: Rig) => Promise<string>;
  readonly outcome: "closed" | "sent";
  readonly state: string;
}> = [
  {
    item: "waiting for its first try",
    bring(rig) {
      const transaction = sampleTransaction();
      rig.store.add(transaction, rig.clock.now());
      return Promise.resolve(transaction.transactionId);
    },
    outcome: "closed",
    state: "closed",
  },
  {
    item: "whose try never reached the gateway",
    async bring(rig) {
      rig.server.behave = () => ({ status: 503 });
      return await tried(rig);
    },
    outcome: "closed",
    state: "closed",
  },
  {
    item: "parked because the gateway refused it",
    async bring(rig) {
      rig.server.behave = () => refusedOrder;
      return await tried(rig);
    },
    outcome: "closed",
    state: "closed",
  },
  {
    item: "that an operator dropped before it was sent",
    async bring(rig) {
      rig.server.behave = () => refusedOrder;
      const id = await tried(rig);
      rig.admin.drop(id, "a note", rig.clock.now());
      return id;
    },
    outcome: "closed",
    state: "closed",
  },
  {
    item: "whose answer was lost",
    async bring(rig) {
      rig.server.behave = () => "reset";
      return await tried(rig);
    },
    outcome: "sent",
    state: "closed",
  },
  {
    item: "whose answer was lost, dropped by an operator",
    async bring(rig) {
      rig.server.behave = () => "reset";
      const id = await tried(rig);
      rig.admin.drop(id, "a note", rig.clock.now());
      return id;
    },
    outcome: "sent",
    state: "closed",
  },
  {
    item: "that the gateway has",
    async bring(rig) {
      rig.server.behave = () => accepted;
      return await tried(rig);
    },
    outcome: "sent",
    state: "sent",
  },
];

async function tried(rig: Rig): Promise<string> {
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  return id;
}

describe("a sale reversed at the terminal (docs/rules/27-both-sides.md)", () => {
  test.each(rows)("an item $item: $outcome", async ({ bring, outcome, state }) => {
    const rig = await openRig();
    const id = await bring(rig);
    // Again is harmless: tp-manager repeats until it has heard the answer.
    for (let i = 0; i < 2; i++) {
      expect(withdraw(rig, id)).toBe(outcome);
      expect(rig.store.delivery(id)?.state).toBe(state);
    }
    const alarms = rig.alarms().filter((name) => name === "reversed-after-sending");
    expect(alarms).toHaveLength(outcome === "sent" ? 2 : 0);
  });

  test("a closed item is never sent, not by the queue and not by an operator", async () => {
    const rig = await openRig();
    rig.server.behave = () => ({ status: 503 });
    const id = await tried(rig);
    withdraw(rig, id);
    rig.server.behave = () => accepted;
    rig.forwarder.start();
    expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
    await rig.clock.advance(24 * 3_600_000);
    expect(rig.server.requests).toHaveLength(1);
  });

  test("an item whose answer was lost is not sent again, and stays marked", async () => {
    const rig = await openRig();
    rig.server.behave = () => "reset";
    const id = await tried(rig);
    withdraw(rig, id);
    rig.server.behave = () => accepted;
    rig.forwarder.start();
    await rig.clock.advance(24 * 3_600_000);
    expect(rig.server.requests).toHaveLength(1);
    expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
    const { items } = rig.admin.list("closed", 0, 1);
    expect(items[0]).toMatchObject({
      ambiguous: true,
      reason: "reversed at the terminal after an answer was lost: the gateway may have the order",
    });
  });

  test("a dropped item whose sale is reversed can no longer be requeued", async () => {
    const rig = await openRig();
    rig.server.behave = () => refusedOrder;
    const id = await tried(rig);
    rig.admin.drop(id, "a note", rig.clock.now());
    withdraw(rig, id);
    expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
    const { items } = rig.admin.list("closed", 0, 1);
    expect(items[0]?.reason).toBe("reversed at the terminal");
  });

  test.each(rows)("handed off again, an item $item reaches the gateway once", async (row) => {
    const rig = await openRig();
    const id = await row.bring(rig);
    const before = rig.server.requests.length;
    withdraw(rig, id);
    rig.server.behave = () => accepted;
    rig.forwarder.start();
    const again = { ...stored(rig, id), origin: "operator" as const };
    // Again is harmless: tp-manager repeats until it has heard the answer.
    for (let i = 0; i < 2; i++) rig.intake.store(again, false, true);
    await rig.advanceInSteps(1_000, () => rig.store.delivery(id)?.state === "sent");
    expect(rig.server.requests.length - before).toBe(row.state === "sent" ? 0 : 1);
    expect(stored(rig, id).origin).toBe("operator");
    // A lost answer is looked up before anything is sent again.
    const isUncertain = row.item.startsWith("whose answer was lost");
    expect(rig.server.lookups.length > 0).toBe(isUncertain);
  });

  test.each(rows)("its withdrawal never came: an item $item is accepted", async (row) => {
    const rig = await openRig();
    const id = await row.bring(rig);
    const before = rig.store.delivery(id)?.state;
    const requests = rig.server.requests.length;
    rig.server.behave = () => accepted;
    rig.forwarder.start();
    const again = { ...stored(rig, id), origin: "recovery" as const };
    for (let i = 0; i < 2; i++) rig.intake.store(again, false, true);
    // An operator's decision stays: a dropped item is not sent, a parked one waits.
    const isSent = before === "pending";
    const after = isSent ? "sent" : before;
    await rig.advanceInSteps(1_000, () => rig.store.delivery(id)?.state === after);
    await rig.clock.advance(60_000);
    expect(rig.store.delivery(id)?.state).toBe(after);
    expect(rig.server.requests.length - requests).toBe(isSent ? 1 : 0);
    expect(stored(rig, id).origin).toBe("recovery");
    expect(rig.alarms()).not.toContain("transaction-changed");
  });

  test("its withdrawal never came: another amount is accepted if nothing was sent", async () => {
    const rig = await openRig();
    rig.server.behave = () => ({ status: 503 });
    const unsent = await tried(rig);
    rig.server.behave = () => "hang";
    const running = rig.handOver("A-2");
    const other = (id: string) => ({ ...stored(rig, id), amountMinor: 1 });
    rig.intake.store(other(unsent), false, true);
    expect(() => rig.intake.store(other(running), false, true)).toThrow("other amountMinor");
    expect([stored(rig, unsent).amountMinor, stored(rig, running).amountMinor]).toEqual([1, 899]);
  });

  test("charged after all, an item that a lookup had decided is looked up again", async () => {
    const rig = await openRig();
    rig.server.behave = () => "reset";
    const id = await tried(rig);
    const claimed = rig.store.claim("lookup", rig.clock.now() + 3_600_000);
    if (!claimed) throw new Error("nothing is looked up");
    // The lookup found another order under this id, or the send was decided without an answer.
    const uncertain = { ...claimed.uncertain, lookUpNext: false };
    const update = { state: "parked" as const, nextTryAtMs: null, uncertain, reason: "other" };
    rig.store.endLookup(claimed, update, rig.clock.now());
    withdraw(rig, id);
    rig.server.behave = () => accepted;
    rig.forwarder.start();
    rig.intake.store(stored(rig, id), false, true);
    await rig.clock.advance(0);
    expect(rig.server.requests).toHaveLength(1);
    await rig.advanceInSteps(1_000, () => rig.store.delivery(id)?.state === "sent");
    expect(rig.server.lookups.length).toBeGreaterThan(0);
  });

  test("charged after all, an item that a lost database may have sent is looked up", async () => {
    const rig = await openRig();
    rig.server.behave = () => ({ status: 503 });
    const id = await tried(rig);
    withdraw(rig, id);
    rig.losses.note("it was restored");
    rig.server.behave = () => accepted;
    rig.forwarder.start();
    rig.intake.store(stored(rig, id), false, true);
    await rig.advanceInSteps(1_000, () => rig.store.delivery(id)?.state === "sent");
    expect(rig.server.lookups.length).toBeGreaterThan(0);
  });

  test("handed off again with another amount, only what was never sent is accepted", async () => {
    const rig = await openRig();
    rig.server.behave = () => ({ status: 503 });
    const [unsent, sent] = [await tried(rig), rig.handOver("A-2")];
    rig.server.behave = () => accepted;
    await rig.tries(sent, 1);
    for (const id of [unsent, sent]) withdraw(rig, id);
    const other = (id: string) => ({ ...stored(rig, id), amountMinor: 1 });
    rig.intake.store(other(unsent), false, true);
    expect(() => rig.intake.store(other(sent), false, true)).toThrow(
      "is stored with other amountMinor",
    );
    expect([stored(rig, unsent).amountMinor, stored(rig, sent).amountMinor]).toEqual([1, 899]);
  });

  test("a transaction unknown to the supervisor is stored and closed in one step", async () => {
    const rig = await openRig();
    const transaction = sampleTransaction();
    expect(rig.intake.withdraw(transaction)).toBe("closed");
    expect(stored(rig, transaction.transactionId)).toEqual(transaction);
    expect(rig.store.counts()).toEqual({ pending: 0, parked: 0, sent: 0, closed: 1 });
    rig.intake.store(transaction); // the hand-over that was overtaken
    expect(rig.store.delivery(transaction.transactionId)?.state).toBe("closed");
    expect(rig.server.requests).toHaveLength(0);
  });

  test("a transaction whose try is running has to be asked about again", async () => {
    const rig = await openRig();
    rig.server.behave = () => "hang";
    const id = rig.handOver("A-1");
    expect(() => withdraw(rig, id)).toThrow(/ask again/);
    expect(rig.store.delivery(id)?.state).toBe("pending");
    await expect.poll(() => rig.server.requests).toHaveLength(1);
    await rig.clock.advance(30_000);
    await rig.tries(id, 1);
    expect(withdraw(rig, id)).toBe("sent");
  });

  test("a card number in the message is masked before it is stored", async () => {
    const rig = await openRig();
    const transaction = sampleTransaction({ customData: { text: "4111111111111111" } });
    rig.intake.withdraw(transaction);
    expect(rig.store.content(transaction.transactionId)).not.toContain("4111111111111111");
    expect(rig.alarms()).toContain("card-number-masked");
  });
});

test("a reversed sale that a lost database may have sent is answered as perhaps sent", async () => {
  const rig = await openRig();
  const transaction = sampleTransaction();
  rig.losses.note("it was lost");
  expect(rig.intake.withdraw(transaction)).toBe("sent");
  expect(rig.alarms()).toContain("reversed-after-sending");
});

/** How a try can end whose sale was reversed while it ran, and what a repeated withdrawal hears. */
const ends: ReadonlyArray<[string, Behaviour, "closed" | "sent", string]> = [
  ["the gateway answers 503", { status: 503 }, "closed", "closed"],
  ["the gateway answers 500", { status: 500 }, "sent", "closed"],
  ["the answer is lost", "reset", "sent", "closed"],
  ["the gateway refuses the order", refusedOrder, "closed", "closed"],
  ["the gateway accepts the order", accepted, "sent", "sent"],
];

describe("a sale that is reversed while its try runs is not sent again", () => {
  test.each(ends)("when %s", async (_, end, outcome, state) => {
    const rig = await openRig();
    const { promise, resolve } = Promise.withResolvers<Behaviour>();
    rig.server.behave = () => promise;
    const id = rig.handOver("A-1");
    await expect.poll(() => rig.server.requests).toHaveLength(1);
    expect(() => withdraw(rig, id)).toThrow(/ask again/);
    rig.server.behave = () => accepted;
    resolve(end);
    await rig.tries(id, 1);
    rig.forwarder.start();
    await rig.clock.advance(24 * 3_600_000);
    expect(rig.server.requests).toHaveLength(1);
    expect(rig.store.delivery(id)?.state).toBe(state);
    expect(withdraw(rig, id)).toBe(outcome);
    expect(rig.alarms().includes("reversed-after-sending")).toBe(outcome === "sent");
  });

  test("when the program ends in the try, or in a lookup", async () => {
    for (const step of ["send", "lookup"] as const) {
      const rig = await openRig();
      const transaction = sampleTransaction();
      const id = transaction.transactionId;
      const isSend = step === "send";
      rig.store.add(transaction, rig.clock.now(), { isClaimed: isSend, mayBeSent: !isSend });
      if (!isSend) rig.store.claim("lookup", rig.clock.now());
      expect(() => withdraw(rig, id)).toThrow(/ask again/);
      rig.forwarder.endInterrupted();
      rig.forwarder.start();
      await rig.advanceInSteps(60_000, () => rig.store.counts().pending === 0);
      await rig.clock.advance(24 * 3_600_000);
      expect([step, rig.server.requests]).toEqual([step, []]);
      expect(rig.store.delivery(id)?.state).toBe("closed");
      await rig.stop();
    }
  });

  test("when a lookup during the reversal does not find it", async () => {
    const rig = await openRig();
    rig.server.behave = () => "reset";
    const id = await tried(rig);
    const claimed = rig.store.claim("lookup", rig.clock.now() + 3_600_000);
    expect(() => withdraw(rig, id)).toThrow(/ask again/);
    rig.server.behave = () => accepted;
    if (!claimed) throw new Error("nothing is looked up");
    const uncertain = { ...claimed.uncertain, lookUpNext: false };
    const update = { state: "pending" as const, nextTryAtMs: null, uncertain, reason: null };
    rig.store.endLookup(claimed, update, rig.clock.now());
    rig.forwarder.start();
    await rig.clock.advance(24 * 3_600_000);
    expect(rig.server.requests).toHaveLength(1);
    expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
  });
});

test.each(["pending", "parked"] as const)(
  "a reversed sale that a resync hands off again as %s is not sent",
  async (state) => {
    const rig = await openRig();
    rig.losses.note("it was lost");
    const transaction = sampleTransaction();
    const id = transaction.transactionId;
    const item = { transaction, state, reversed: true };
    rig.storeMessages["take-over"]({ items: [item], last: true });
    rig.forwarder.start();
    await rig.clock.advance(24 * 3_600_000);
    expect(rig.server.requests).toEqual([]);
    expect(rig.store.delivery(id)?.state).toBe("closed");
    expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
  },
);

test("a resync opens a sale that a restored database had as reversed", async () => {
  const rig = await openRig();
  const transaction = sampleTransaction();
  const id = transaction.transactionId;
  rig.intake.withdraw(transaction);
  rig.losses.note("it was restored");
  const item = { transaction, state: "pending", reversed: false, wasWithdrawn: true } as const;
  const messages = rig.storeMessages;
  for (let i = 0; i < 2; i++) messages["take-over"]({ items: [item], last: i === 1 });
  const { orders } = await messages["known-orders"]({ after: 0, limit: 1 });
  expect(orders).toMatchObject([{ state: "pending", reversed: false }]);
  rig.forwarder.start();
  await rig.advanceInSteps(1_000, () => rig.store.delivery(id)?.state === "sent");
  expect(rig.server.lookups.length).toBeGreaterThan(0);
  expect(rig.server.requests).toHaveLength(1);
});

test("a reversed sale that a restored database had as dropped cannot be requeued", async () => {
  const rig = await openRig();
  rig.server.behave = () => refusedOrder;
  const id = await tried(rig);
  rig.admin.drop(id, "a note", rig.clock.now());
  rig.losses.note("it was restored");
  const item = { transaction: stored(rig, id), state: "closed", reversed: true } as const;
  rig.storeMessages["take-over"]({ items: [item], last: true });
  expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
});

test("a reversed sale that an older version left waiting is not sent", async () => {
  const rig = await openRig();
  const transaction = sampleTransaction();
  const id = transaction.transactionId;
  rig.store.add(transaction, rig.clock.now());
  rig.database.prepare("UPDATE outbox SET reversed = 1").run();
  expect(rig.admin.requeue(id, rig.clock.now())).toBe("closed");
  rig.forwarder.start();
  await rig.clock.advance(24 * 3_600_000);
  expect(rig.server.requests).toEqual([]);
  expect(rig.store.delivery(id)?.state).toBe("closed");
  expect(rig.alarms()).toEqual([]);
});
