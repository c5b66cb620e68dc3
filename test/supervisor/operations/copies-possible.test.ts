import { expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { retentionChore } from "../../../src/supervisor/outbox/retention.ts";
import { withoutPauses } from "../clock-without-pauses.ts";
import { accepted, type Behaviour, noOrder, operationBody } from "../recording-gateway.ts";
import { openRig } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";
const DAY_MS = 24 * 3_600_000;
const REFUSED: Behaviour = { status: 401 };

/** An order of 8.99 whose first `lost` answers were lost, after `sends`. */
async function sentAgain(lost: number, lookUp: Behaviour, sends = lost + 1) {
  const rig = await openRig();
  rig.server.lookUp = () => lookUp;
  rig.server.behave = ({ path }) => {
    if (path.includes("refund")) return { status: 200, body: operationBody("card", 0) };
    return rig.server.requests.length <= lost ? "reset" : accepted;
  };
  const id = rig.handOver("A-1");
  await rig.tries(id, 1);
  rig.forwarder.start();
  await rig.advanceInSteps(20_000, () => rig.store.attempts(id).length === sends);
  const refund = () => {
    const what = { kind: "refund", transactionPublicId: ID, amountMinor: null } as const;
    return rig.operations.operate({ operationId: newId(), ...what, currency: "EUR", exponent: 2 });
  };
  const learn = () => rig.operationStore.learnId(ID, id, "notification", rig.clock.now());
  const settle = () => rig.operations.settleOrder({ orderId: "A-1", note: "it is there once" });
  return { rig, id, refund, learn, settle };
}

test("an order that lookups proved absent is there once, and its refund is the whole", async () => {
  const { rig, refund, learn, settle } = await sentAgain(1, noOrder);
  learn();
  expect(rig.admin.uncertain().possibleCopies).toBe(0);
  expect(settle().settled).toBe(false);
  expect(await refund()).toMatchObject({ orderReturnedMinor: 899, isThereOnce: true });
  expect(rig.alarms()).not.toContain("gateway-order-twice");
});

test("an order that may be there three times stays so after its tries are erased", async () => {
  const { rig, refund, learn, settle } = await sentAgain(3, REFUSED, 3);
  learn();
  rig.clock.jumpWallClock(500 * DAY_MS);
  await retentionChore(rig.database, 400, withoutPauses(rig.clock)).run();
  const { isThereOnce, orderReturnedMinor } = await refund();
  expect([isThereOnce, orderReturnedMinor]).toEqual([undefined, 0]);
  expect(rig.alarms()).toContain("gateway-order-twice");
  expect(settle()).toMatchObject({ settled: true, orderReturnedMinor: 899 });
});

test("an order that was dropped after blind sends is settled by the operator as well", async () => {
  const { rig, id, refund, learn, settle } = await sentAgain(2, REFUSED, 2);
  expect(rig.admin.drop(id, "booked by hand", rig.clock.now())).toBe("dropped");
  learn();
  const { isThereOnce, orderReturnedMinor } = await refund();
  expect([isThereOnce, orderReturnedMinor]).toEqual([undefined, 0]);
  expect(settle()).toMatchObject({ settled: true, orderReturnedMinor: 899 });
});
