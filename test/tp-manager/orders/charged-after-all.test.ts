import { expect, test } from "vitest";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import {
  alarms,
  leaveInDoubt,
  oneWayKiosk,
  phaseOf,
  referenceAt,
} from "../../support/house/one-way-house.ts";
import type { House } from "../../support/house/payment-house.ts";

const transactionIdOf = (at: House) => at.journal.attempts.decisive("A-1")?.transactionId;

test.each([
  ["after the supervisor closed it", true],
  ["while the supervisor cannot be reached", false],
])("hands off a sale that an operator had withdrawn, %s", async (_, reachable) => {
  const at = oneWayKiosk();
  await leaveInDoubt(at);
  const reference = referenceAt(at);
  const settled = { orderId: "A-1", note: "seen in the account" };
  await at.settle({ ...settled, outcome: "charged" });
  await at.clock.advance(0);
  at.supervisor.state = "closed";
  at.supervisor.reachable = reachable;
  await at.settle({ ...settled, outcome: "not_charged" });
  await at.clock.advance(0);
  expect(at.supervisor.withdrawn).toHaveLength(reachable ? 1 : 0);
  at.reports({ reference });
  at.supervisor.state = "sent";
  at.supervisor.reachable = true;
  await at.clock.advance(60_000);
  expect(phaseOf(at)).toBe("charged");
  expect(at.supervisor.withdrawn).toHaveLength(reachable ? 1 : 0);
  expect(at.supervisor.stored).toMatchObject([{ orderId: "A-1" }, { orderId: "A-1" }]);
  expect(at.supervisor.restored).toEqual([transactionIdOf(at)]);
  const { delivery, attempt } = await at.orders.lookUp("A-1");
  expect(["pending", "sent"]).toContain(delivery);
  expect(attempt.state.phase).toBe("charged");
  expect(at.journal.handOffs.standingAtGateway(0, 10)).toEqual([]);
});

/** The supervisor has closed a withdrawn sale, and is away when the sale is proved charged. */
async function provedAfterClosing() {
  const at = oneWayKiosk();
  await leaveInDoubt(at);
  const reference = referenceAt(at);
  const settled = { orderId: "A-1", note: "seen in the account" };
  await at.settle({ ...settled, outcome: "charged" });
  await at.clock.advance(0);
  at.supervisor.state = "closed";
  await at.settle({ ...settled, outcome: "not_charged" });
  await at.clock.advance(0);
  at.supervisor.reachable = false;
  at.reports({ reference });
  await at.clock.advance(0);
  return at;
}

test("a resync hands off a sale that is charged after all as waiting, not as closed", async () => {
  const at = await provedAfterClosing();
  at.journal.resync.begin();
  const page = () => at.journal.resync.page(10)?.items;
  const item = { state: "pending", reversed: false, wasWithdrawn: true };
  expect(page()).toMatchObject([item]);
  at.supervisor.state = "sent";
  at.supervisor.reachable = true;
  await at.clock.advance(60_000);
  expect(page()).toMatchObject([{ ...item, state: "sent" }]);
});

test("an import leaves a sale charged whose withdrawal alone the supervisor knows", async () => {
  const at = await provedAfterClosing();
  const transactionId = transactionIdOf(at) ?? "";
  const row = () => at.journal.handOffs.handOff(transactionId);
  const transaction = row()?.transaction;
  if (!transaction) throw new Error("nothing is to be handed off");
  const known = { transaction, returnedMinor: 0, openReturn: null };
  const closed = { ...known, state: "closed", reversed: true } as const;
  at.journal.gaps.importOrders([closed], null, at.clock.now());
  expect([phaseOf(at), row()?.isAccepted]).toEqual(["charged", false]);
  at.supervisor.state = "sent";
  at.supervisor.reachable = true;
  await at.clock.advance(60_000);
  expect(at.supervisor.restored).toEqual([transactionId]);
  const sent = { ...known, state: "sent", reversed: false } as const;
  at.journal.gaps.importOrders([sent], null, at.clock.now());
  at.journal.resync.begin();
  expect(at.journal.resync.page(10)?.items).toMatchObject([{ wasWithdrawn: true }]);
});

test("a sale that the supervisor keeps closed is handed off again and alarmed", async () => {
  const at = await provedAfterClosing();
  at.supervisor.reachable = true;
  await at.clock.advance(60_000);
  expect(alarms(at)).toContain("hand-off-refused");
  expect((await at.orders.lookUp("A-1")).delivery).toBe("pending");
  at.supervisor.state = "sent";
  await at.clock.advance(3_600_000);
  expect((await at.orders.lookUp("A-1")).delivery).toBe("sent");
});

test.each(["closed", "sent"] as const)(
  "hands off a sale that is charged again while its withdrawal is on the way: %s",
  async (state) => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    const settled = { orderId: "A-1", note: "seen in the account" };
    await at.settle({ ...settled, outcome: "charged" });
    await at.clock.advance(0);
    const blocked = Promise.withResolvers<void>();
    const { link } = at.supervisor;
    const call = link.call.bind(link);
    link.call = ((name, asked) =>
      name === "withdraw-transaction"
        ? blocked.promise.then(() => call(name, asked))
        : call(name, asked)) as typeof call;
    at.supervisor.state = state;
    await at.settle({ ...settled, outcome: "not_charged" });
    await at.clock.advance(0);
    at.reports({ reference });
    // The supervisor goes away before the sale is handed off again.
    blocked.resolve();
    at.supervisor.refuse = () => {
      throw new IpcError("unreachable", "nobody listens");
    };
    await at.clock.advance(0);
    expect(at.journal.handOffs.handOff(transactionIdOf(at) ?? "")?.delivery).not.toBe("closed");
    expect(alarms(at)).not.toContain("reversed-after-sending");
    at.supervisor.refuse = () => {};
    at.supervisor.state = "sent";
    await at.clock.advance(60_000);
    expect([phaseOf(at), at.supervisor.withdrawn.length]).toEqual(["charged", 1]);
    expect(new Set(at.supervisor.restored)).toEqual(new Set([transactionIdOf(at)]));
  },
);
