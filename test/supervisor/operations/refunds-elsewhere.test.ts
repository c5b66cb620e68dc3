import { describe, expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { openRig } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";

const refundOf3 = () => ({
  operationId: newId(),
  kind: "refund" as const,
  transactionPublicId: ID,
  amountMinor: 300,
  currency: "EUR",
  exponent: 2,
});

/** A refund of 3.00 was notified that nobody has asked for here, with a clock that was ahead. */
async function refundedElsewhere(status: string) {
  const rig = await openRig();
  const transactionId = rig.handOver("A-1");
  await rig.tries(transactionId, 1);
  rig.operationStore.learnId(ID, transactionId, "notification", 1);
  const about = { transactionId, transactionPublicId: ID, operation: "refund", status };
  const kept = { fingerprint: "document 1", kind: "operation", verdict: "accepted" } as const;
  const notification = { ...about, ...kept, amountMinor: 300, parsed: {}, raw: "" };
  rig.notifications.add(notification, rig.clock.now() + 2 * 60 * 60_000);
  return { rig, notification };
}

describe("a notification from before a refund was asked for", () => {
  test.each(["ok", "nok"])("does not end the refund: %s", async (status) => {
    const { rig, notification } = await refundedElsewhere(status);
    const request = refundOf3();
    rig.operationStore.begin(request, rig.clock.now());
    rig.operations.start();
    expect(rig.operationStore.operation(request.operationId)?.state).toBe("unknown");
    // This time the notification comes when the clock is slow.
    rig.notifications.add({ ...notification, fingerprint: "document 2" }, rig.clock.now() - 60_000);
    rig.operations.notified(ID);
    const state = status === "ok" ? "done" : "refused";
    expect(rig.operationStore.operation(request.operationId)?.state).toBe(state);
  });

  test.each([
    ["3.00", "unknown"],
    ["6.00", "done"],
  ])("gives a lookup the sum refunded before: %s in all is %s", async (sum, state) => {
    const { rig } = await refundedElsewhere("ok");
    const request = refundOf3();
    const order = { merchant_order_id: "A-1", amount: "8.99", currency: "EUR" };
    const atGateway = {
      id: 155_227_950_169,
      ...order,
      captured_amount: "8.99",
      refunded_amount: sum,
    };
    rig.server.behave = ({ method }) =>
      method === "GET" ? { status: 200, body: JSON.stringify(atGateway) } : "reset";
    await rig.operations.operate(request);
    await rig.operations.lookUp(ID);
    expect(rig.operationStore.operation(request.operationId)?.state).toBe(state);
  });
});
