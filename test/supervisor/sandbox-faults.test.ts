import { expect, onTestFinished, test, vi } from "vitest";
import { type FaultKind, faultKinds } from "../../src/simulator/gateway/faults/fault.ts";
import { startGatewaySandbox } from "../../src/simulator/gateway/sandbox.ts";
import type { TryClass } from "../../src/supervisor/gateway/faults.ts";
import { openRig, PASSWORD } from "./supervisor-rig.ts";

/** Faults of the answers; those of the notifications concern who listens to them. */
type AnswerFault = Exclude<FaultKind, `notification-${string}`>;

/** What the first try comes to, and whether it may have left an order behind. */
const expectations: Readonly<Record<AnswerFault, readonly [TryClass, ambiguous: boolean]>> = {
  latency: ["sent", false],
  "hang-before-commit": ["answer-timeout", true],
  "hang-after-commit": ["answer-timeout", true],
  "reset-before-commit": ["lost-answer", true],
  "reset-after-commit": ["lost-answer", true],
  "error-500": ["soap-fault", true],
  "error-500-empty": ["server-error", true],
  "unavailable-503": ["unavailable", false],
  "not-found-404": ["not-found", false],
  "malformed-xml": ["unreadable-answer", true],
  "wrong-code": ["order-refused", false],
};

async function openWithSandbox() {
  const sandbox = await startGatewaySandbox({
    accounts: [
      {
        login: "login",
        password: PASSWORD,
        websites: [{ id: 107, currency: "EUR", categories: [{ id: 5, label: "Vending" }] }],
      },
    ],
    database: ":memory:",
  });
  onTestFinished(() => sandbox.close());
  const rig = await openRig({ url: sandbox.url });
  rig.forwarder.start();
  return { ...rig, sandbox };
}

test("every fault switch of the sandbox has an expectation here", () => {
  const kinds = Object.keys(faultKinds).filter((kind) => !kind.startsWith("notification-"));
  expect(Object.keys(expectations).sort()).toEqual(kinds.sort());
});

test.each(Object.entries(expectations) as Array<[AnswerFault, readonly [TryClass, boolean]]>)(
  "the sandbox's fault %s loses no transaction",
  async (kind, [expected, ambiguous]) => {
    const rig = await openWithSandbox();
    rig.sandbox.addFault({ kind, times: 1, delayMs: 50 });
    const id = rig.handOver("Order_1");
    if (kind.startsWith("hang")) {
      // The fault is used up when the sandbox has the request.
      await vi.waitFor(async () => {
        const left = await fetch(`${rig.sandbox.url}/sandbox/faults`);
        expect(await left.json()).toEqual([]);
      });
      await rig.clock.advance(30_000);
    }
    expect((await rig.tries(id, 1))[0]).toBe(expected);
    const state = () => rig.store.delivery(id)?.state;
    if (expected === "order-refused") {
      expect(state()).toBe("parked");
      return;
    }
    await rig.advanceInSteps(1_000, () => state() === "sent");
    const [first] = rig.store.attempts(id);
    expect(first?.ambiguous).toBe(ambiguous);
    expect(rig.store.delivery(id)?.ambiguous).toBe(ambiguous);
    const orders = rig.sandbox.orders();
    expect(orders.length).toBeGreaterThan(0);
    for (const order of orders) {
      expect(order).toMatchObject({ merchantReference: "Order_1", amount: "8.99" });
    }
  },
);

test("an order committed before its answer was lost comes again, recognisably", async () => {
  const rig = await openWithSandbox();
  rig.sandbox.addFault({ kind: "reset-after-commit", times: 1 });
  const id = rig.handOver("Order_1");
  await rig.tries(id, 1);
  await rig.advanceInSteps(1_000, () => rig.store.delivery(id)?.state === "sent");
  const orders = rig.sandbox.orders();
  expect(orders).toHaveLength(2);
  for (const order of orders) {
    expect(order).toMatchObject({ merchantReference: "Order_1", freeData: { transactionId: id } });
  }
});
