import { describe, expect, test } from "vitest";
import { WINDOW_MAX } from "../../../src/supervisor/outbox/queue-window.ts";
import { accepted, type Behaviour, resultBody } from "../recording-gateway.ts";
import { openRig } from "../supervisor-rig.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
type Rig = Awaited<ReturnType<typeof openRig>>;

const order = (id: string, transactionId: string, change: object = {}): Behaviour => ({
  status: 200,
  body: JSON.stringify({
    id,
    amount: "8.99",
    currency: "EUR",
    custom_data: { transactionId },
    ...change,
  }),
});

/** An order whose first answer is lost. */
async function lostAnswer(behaviour: Behaviour = "reset") {
  const rig = await openRig();
  rig.server.behave = () => behaviour;
  rig.forwarder.start();
  const id = rig.handOver("a b/1");
  await rig.tries(id, 1);
  return { rig, id };
}

const lookedUp = (rig: Rig, count: number): Promise<void> =>
  rig.advanceInSteps(SECOND, () => rig.server.lookups.length >= count);

const fault =
  '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault>' +
  "<faultcode>S:Server</faultcode><faultstring>broken</faultstring></S:Fault>" +
  "</S:Body></S:Envelope>";

test.each<[string, Behaviour]>([
  ["a connection that broke", "reset"],
  ["HTTP 500 without a result", { status: 500 }],
  ["a SOAP fault", { status: 500, body: fault }],
  ["an unreadable answer", { status: 200, body: "<a><b>" }],
  ["HTTP 502", { status: 502 }],
])("after %s an order that the gateway has is found and not sent again", async (_what, lost) => {
  const { rig, id } = await lostAnswer(lost);
  rig.server.lookUp = () => order("a b/1", id);
  await lookedUp(rig, 1);
  await expect.poll(() => rig.store.delivery(id)?.state).toBe("sent");
  expect(rig.server.lookups.map(({ path }) => path)).toEqual(["/v3/orders/a%20b%2F1"]);
  await rig.clock.advance(2 * DAY);
  expect(rig.server.requests).toHaveLength(1);
  expect(rig.alarms()).toEqual([]);
  expect(rig.admin.uncertain()).toEqual({
    inDoubt: 0,
    possibleCopies: 0,
    sends: 1,
  });
});

test("an answer about another order is no success: it is an alarm, and is looked up", async () => {
  const about = "<merchantReference>another</merchantReference><code>";
  const body = resultBody(0).replace("<code>", about);
  const { rig, id } = await lostAnswer({ status: 200, body });
  expect(rig.store.attempts(id).map((attempt) => attempt.class)).toEqual(["other-answer"]);
  expect(rig.alarmStore.after(undefined, 0, 10).alarms).toMatchObject([
    { alarm: "gateway-answer-mismatch", orderId: "a b/1", transactionId: id },
  ]);
  await lookedUp(rig, 3); // absent: it is sent and answered so again
  expect(rig.alarmStore.after(undefined, 0, 10).alarms).toHaveLength(1);
  rig.server.lookUp = () => order("a b/1", id);
  await lookedUp(rig, 4);
  await expect.poll(() => rig.store.delivery(id)?.state).toBe("sent");
});

test.each<[string, object]>([
  ["another kiosk's transaction", { custom_data: { transactionId: "another" } }],
  ["no transaction", { custom_data: null }],
  ["another amount", { amount: "1.00" }],
  ["another currency", { currency: "CHF" }],
])("an order of the same number with %s is parked with an alarm", async (_what, change) => {
  const { rig, id } = await lostAnswer();
  rig.server.lookUp = () => order("a b/1", id, change);
  await lookedUp(rig, 1);
  await expect.poll(() => rig.store.delivery(id)?.state).toBe("parked");
  expect(rig.alarms()).toEqual(["transaction-parked"]);
  const [item] = rig.admin.list("parked", 0, 1).items;
  expect(item?.reason).toContain("the gateway has an order of this number");
  rig.server.behave = () => accepted;
  rig.admin.requeue(id, rig.clock.now());
  rig.forwarder.requeued(id);
  expect(await rig.tries(id, 2)).toEqual(["lost-answer", "sent"]);
  expect(rig.operationStore.possibleOrders(id)).toBe(2);
});

test.each([400, 404, 405])(
  "when the plural path answers %i, the singular one is asked",
  async (no) => {
    const { rig, id } = await lostAnswer();
    rig.server.lookUp = ({ path }) =>
      path.startsWith("/v3/orders/") ? { status: no } : order("a b/1", id);
    await lookedUp(rig, 2);
    await expect.poll(() => rig.store.delivery(id)?.state).toBe("sent");
  },
);

test.each([".", ".."])(
  "the order %j has no address of its own and is not taken for absent",
  async (id) => {
    const rig = await openRig();
    rig.server.behave = () => "reset";
    rig.forwarder.start();
    const transactionId = rig.handOver(id);
    await rig.tries(transactionId, 1);
    await rig.advanceInSteps(SECOND, () => rig.clock.monotonicMs() >= 5 * MINUTE);
    expect(rig.server.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    expect(rig.store.attempts(transactionId)).toHaveLength(1);
  },
);

test("an order that appears late at the gateway is found by the second lookup", async () => {
  const { rig, id } = await lostAnswer();
  await lookedUp(rig, 1);
  rig.server.lookUp = () => order("a b/1", id);
  await lookedUp(rig, 2);
  await expect.poll(() => rig.store.delivery(id)?.state).toBe("sent");
  expect(rig.server.requests).toHaveLength(1);
});

test("a lookup that hangs delays no other order, and a stop of the program ends it", async () => {
  const { rig, id } = await lostAnswer();
  rig.server.behave = () => accepted;
  rig.server.lookUp = () => "hang";
  await expect
    .poll(async () => {
      await rig.clock.advance(SECOND);
      return rig.server.lookups.length;
    })
    .toBe(1);
  for (let i = 0; i < 3 * WINDOW_MAX; i++) rig.handOver(`order ${i}`);
  await expect.poll(() => rig.store.counts().sent).toBe(3 * WINDOW_MAX);
  await rig.stop();
  const after = await openRig({ path: rig.path, server: rig.server });
  expect(after.store.attempts(id)).toHaveLength(1);
  rig.server.lookUp = () => order("a b/1", id);
  after.forwarder.endInterrupted();
  after.forwarder.start();
  await lookedUp(after, 2);
  await expect.poll(() => after.store.delivery(id)?.state).toBe("sent");
});

test("an operator's requeue looks up once more, and sends what no lookup can find", async () => {
  const { rig, id } = await lostAnswer();
  rig.server.lookUp = () => ({ status: 405 });
  await lookedUp(rig, 2);
  rig.server.behave = () => accepted;
  rig.admin.requeue(id, rig.clock.now());
  rig.forwarder.requeued(id);
  expect(await rig.tries(id, 2)).toEqual(["lost-answer", "sent"]);
  expect(rig.server.lookups).toHaveLength(4);
  expect(rig.alarms()).toEqual(["gateway-order-ambiguous"]);
});

describe("a gateway that loses every answer for an hour", () => {
  /** An order at each quarter of an hour, with all answers lost. */
  async function silentHour() {
    const { rig } = await lostAnswer();
    rig.server.lookUp = () => "reset";
    const beganMs = rig.clock.monotonicMs();
    const until = (ms: number) =>
      rig.advanceInSteps(5 * SECOND, () => rig.clock.monotonicMs() >= beganMs + ms);
    for (const quarter of [1, 2, 3]) {
      await until(quarter * 15 * MINUTE);
      rig.handOver(`order ${quarter}`);
    }
    const before = rig.server.lookups.length;
    await until(60 * MINUTE);
    return { rig, asked: rig.server.lookups.length - before };
  }

  test("is asked by one lookup at growing pauses, and then answers for all orders", async () => {
    const { rig, asked } = await silentHour();
    expect(asked).toBeLessThanOrEqual(2);
    const ids = new Map(
      rig.admin.list("pending", 0, 9).items.map((i) => [i.orderId, i.transactionId]),
    );
    expect(ids.size).toBe(4);
    rig.server.lookUp = ({ path }) => {
      const id = decodeURIComponent(path.split("/").at(-1) ?? "");
      return order(id, ids.get(id) ?? "");
    };
    const fromMs = rig.clock.monotonicMs();
    await rig.advanceInSteps(SECOND, () => rig.store.counts().sent === 4);
    expect(rig.clock.monotonicMs() - fromMs).toBeLessThanOrEqual(15 * MINUTE);
    expect(rig.server.requests.filter(({ method }) => method === "POST")).toHaveLength(4);
  });

  test("that answers a send again is looked up within a minute", async () => {
    const { rig } = await silentHour();
    rig.server.behave = () => accepted;
    await rig.tries(rig.handOver("one more"), 1);
    const before = rig.server.lookups.length;
    const fromMs = rig.clock.monotonicMs();
    await lookedUp(rig, before + 1);
    expect(rig.clock.monotonicMs() - fromMs).toBeLessThanOrEqual(MINUTE + SECOND);
  });
});

describe("a lookup that refuses the credentials", () => {
  test("raises one alarm for all orders, with what to do", async () => {
    const { rig } = await lostAnswer();
    rig.handOver("b");
    const body = JSON.stringify({ code: 1_000_001, message: "Incorrect Credentials" });
    rig.server.lookUp = () => ({ status: 401, body });
    await lookedUp(rig, 2);
    await expect
      .poll(() => rig.alarmStore.after(undefined, 0, 10).alarms)
      .toMatchObject([
        { alarm: "gateway-lookup-refused", message: expect.stringContaining("GATEWAY_API_KEY") },
      ]);
  });
});

describe("an order that is named or reversed while it is looked up", () => {
  test("is not alarmed as parked, because it is not", async () => {
    const { rig, id } = await lostAnswer();
    rig.server.lookUp = () => {
      rig.operationStore.learnId("5CF62325CB217655", id, "notification", rig.clock.now());
      return order("a b/1", id, { amount: "1.00" });
    };
    await lookedUp(rig, 1);
    await expect.poll(() => rig.store.delivery(id)?.state).toBe("sent");
    expect(rig.alarms()).toEqual([]);
  });

  test("is not alarmed as sent again, because it is not", async () => {
    const { rig, id } = await lostAnswer();
    const given = JSON.parse(rig.store.content(id) ?? "");
    rig.server.lookUp = () => {
      if (rig.server.lookups.length > 1) expect(() => rig.intake.withdraw(given)).toThrow(/again/);
      return { status: 401 };
    };
    await rig.advanceInSteps(MINUTE, () => rig.store.delivery(id)?.state !== "pending");
    expect(rig.store.delivery(id)?.state).toBe("closed");
    expect(rig.alarms()).not.toContain("gateway-order-ambiguous");
    expect(rig.server.requests).toHaveLength(1);
  });
});
