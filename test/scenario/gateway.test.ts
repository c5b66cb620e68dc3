import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { GatewayHistory, OutboxItem } from "../../src/shared/ipc/contract.ts";
import { newId } from "../../src/shared/new-id.ts";
import { faultKinds } from "../../src/simulator/gateway/faults.ts";
import { startGatewaySandbox } from "../../src/simulator/gateway/sandbox.ts";
import { sampleTransaction } from "../supervisor/sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "../supervisor/supervisor-process.ts";
import { PASSWORD } from "../supervisor/supervisor-rig.ts";
import { asSlow, PATIENCE_MS } from "../support/clocks/patience.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { freePort, TestInstallation } from "../support/programs/installation.ts";

const SECRET = "fraud passphrase";

/** A real supervisor process before a sandbox that pays every order and notifies it. */
async function gatewayAndSupervisor(login = "login") {
  const port = await freePort();
  const listener = `http://127.0.0.1:${port}`;
  const sandbox = await startGatewaySandbox({
    accounts: [
      {
        login,
        password: PASSWORD,
        websites: [{ id: 107, currency: "EUR", fraudUrl: `${listener}/fraud`, passphrase: SECRET }],
      },
    ],
    database: ":memory:",
    autoPay: true,
  });
  onTestFinished(() => sandbox.close());
  const data = join(temporaryFolder(), "data");
  writeConfig(data, sandbox.url, {
    GATEWAY_LOGIN: login,
    GATEWAY_CALLBACK_URL: `${listener}/notify`,
    GATEWAY_TIMEOUT: String(asSlow(1_000, 120_000)),
    NOTIFICATION_PORT: String(port),
    NOTIFICATION_SECRET: SECRET,
  });
  const supervisor = new SupervisorProcess(data);
  await supervisor.ready();

  const handOver = async (orderId: string): Promise<void> => {
    const transaction = sampleTransaction({ orderId });
    await supervisor.call("store-transaction", { transaction }, PATIENCE_MS);
  };
  const items = async (): Promise<OutboxItem[]> =>
    (await supervisor.call("outbox-list", { limit: 200 }, PATIENCE_MS)).items;
  const history = (orderId: string): Promise<GatewayHistory> =>
    supervisor.call("gateway-history", { orderId }, PATIENCE_MS);
  const settled = (orderId: string): Promise<OutboxItem> =>
    until(
      `${orderId} is settled`,
      async () =>
        (await items()).find((item) => item.orderId === orderId && item.state !== "pending"),
      PATIENCE_MS,
    );
  const tried = (orderId: string): Promise<OutboxItem> =>
    until(`${orderId} was tried`, async () =>
      (await items()).find((item) => item.orderId === orderId && item.lastTry !== null),
    );
  const inState = (orderId: string, state: string): Promise<GatewayHistory> =>
    until(`${orderId} is ${state}`, async () => {
      const found = await history(orderId);
      return found.state === state ? found : undefined;
    });
  return { sandbox, supervisor, handOver, tried, settled, history, inState };
}

/** The lookups' own faults are tried in test/supervisor/sandbox-faults.test.ts. */
const lookupFaults = ["lookup-refused", "lookup-plural-refused"] as const;
type FaultKind = keyof typeof faultKinds;
type AnswerFault = Exclude<FaultKind, `notification-${string}` | (typeof lookupFaults)[number]>;

/**
 * The state after the first try, and whether it is marked as ambiguous. What the gateway does not
 * have is looked up again a minute later and then sent (test/supervisor/sandbox-faults.test.ts).
 */
const answerFaults: Readonly<Record<AnswerFault, readonly [state: string, ambiguous: boolean]>> = {
  // These strike later than the order that is handed off here.
  "capture-nok": ["sent", false],
  "refund-nok": ["sent", false],
  "cancellation-nok": ["sent", false],
  latency: ["sent", false],
  "hang-before-commit": ["pending", true],
  "hang-after-commit": ["sent", true],
  "reset-before-commit": ["pending", true],
  "reset-after-commit": ["sent", true],
  "error-500": ["pending", true],
  "error-500-empty": ["pending", true],
  "unavailable-503": ["sent", false],
  "not-found-404": ["sent", false],
  "malformed-xml": ["sent", true],
  "wrong-code": ["parked", false],
  "wrong-id": ["sent", false],
  "wrong-amount": ["sent", false],
  "wrong-currency": ["sent", false],
  "answer-twice": ["sent", true],
};

const notificationFaults: Readonly<
  Record<Extract<FaultKind, `notification-${string}`>, readonly [state: string, copies: number[]]>
> = {
  "notification-twice": ["captured", [2, 2]],
  "notification-reversed": ["captured", [1, 1]],
  "notification-waiting": ["captured", [1, 1, 1, 1]],
  "notification-delayed": ["captured", [1, 1]],
  "notification-before-answer": ["captured", [1, 1]],
  "notification-bad-digest": ["unknown", []],
};

describe("the real supervisor with every fault of the gateway", () => {
  test("every switch of the sandbox is tried here", () => {
    const tried = [answerFaults, notificationFaults].flatMap((table) => Object.keys(table));
    tried.push(...lookupFaults);
    expect(tried.sort()).toEqual(Object.keys(faultKinds).sort());
  });

  test(
    "no order is lost, none comes twice, and a lost answer is marked",
    async () => {
      const at = await gatewayAndSupervisor();
      const ends = Object.entries(answerFaults) as Array<[AnswerFault, [string, boolean]]>;
      const expectEnd = ({ orderId, state, ambiguous }: OutboxItem) =>
        expect([orderId, [state, ambiguous]]).toEqual(ends.find(([kind]) => kind === orderId));
      for (const [kind, [state]] of ends) {
        // Bound to its order: retries of the orders before it come at any time.
        const bound = { kind, merchantReference: kind, times: 1 };
        at.sandbox.addFault({ ...bound, delayMs: 100, retryAfter: 1 });
        await at.handOver(kind);
        const item = await at.tried(kind);
        // What is pending now is sent again a minute later.
        if (state === "pending") expectEnd(item);
      }
      for (const [kind, [state]] of ends) {
        if (state !== "pending") expectEnd(await at.settled(kind));
      }
      const left = at.sandbox.faults().map(({ kind }) => kind);
      expect(left).toEqual(["refund-nok", "cancellation-nok"]);
      const arrived = new Set(at.sandbox.orders().map((order) => order.merchantReference));
      const lost = ends.filter(([kind, [state]]) => state === "sent" && !arrived.has(kind));
      expect(lost).toEqual([]);
      expect(at.sandbox.orders()).toHaveLength(arrived.size);
      expect(await at.supervisor.ended("SIGTERM")).toBe(0);
    },
    10 * PATIENCE_MS,
  );

  test("notifications are taken in any number and order, and only genuine ones", async () => {
    const at = await gatewayAndSupervisor();
    for (const [kind, [state, copies]] of Object.entries(notificationFaults)) {
      at.sandbox.clearFaults();
      at.sandbox.addFault({ kind: kind as FaultKind, times: 1, delayMs: 300 });
      await at.handOver(kind);
      await at.settled(kind);
      if (kind === "notification-bad-digest") {
        await until("the forged ones were answered", async () => {
          const sent = await (await fetch(`${at.sandbox.url}/sandbox/notifications`)).json();
          const refused = (sent as Array<{ outcome: string }>).filter(
            ({ outcome }) => outcome === "HTTP 403",
          );
          return refused.length === 2 || undefined;
        });
      }
      const wanted = [...copies].sort();
      const found = await until(`all of ${kind} arrive`, async () => {
        const now = await at.inState(kind, state);
        const numbers = now.events.map((event) => event.copies).sort();
        return JSON.stringify(numbers) === JSON.stringify(wanted) ? now : undefined;
      });
      expect(found.transactionPublicIds).toHaveLength(copies.length === 0 ? 0 : 1);
    }
  });

  test.each([35, 255])("a login of %i characters sends, notifies, refunds, looks up", async (n) => {
    const at = await gatewayAndSupervisor("x".repeat(n));
    await at.handOver("A-1");
    const { transactionPublicIds } = await at.inState("A-1", "captured");
    const id = transactionPublicIds[0] ?? "";
    const found = await at.supervisor.call("gateway-lookup", { id }, PATIENCE_MS);
    expect(found).toMatchObject({ outcome: "found" });
    const refund = {
      operationId: newId(),
      kind: "refund" as const,
      transactionPublicId: id,
      amountMinor: 100,
      currency: "EUR",
      exponent: 2,
    };
    const done = await at.supervisor.call("gateway-operation", refund, PATIENCE_MS);
    expect(done.operation?.state).toBe("done");
  });

  test("what the gateway does later: a failed refund, a fraud, a chargeback", async () => {
    const at = await gatewayAndSupervisor();
    await at.handOver("A-1");
    const { transactionPublicIds } = await at.inState("A-1", "captured");
    at.sandbox.addFault({ kind: "refund-nok", times: 1 });
    const operationId = newId();
    const refund = {
      operationId,
      kind: "refund" as const,
      transactionPublicId: transactionPublicIds[0] ?? "",
      amountMinor: 899,
      currency: "EUR",
      exponent: 2,
    };
    const { operation } = await at.supervisor.call("gateway-operation", refund, PATIENCE_MS);
    expect(operation?.state).toBe("done");
    await until("the failure is notified", async () => {
      return (await at.history("A-1")).failed?.includes(operationId) || undefined;
    });
    const { alarms } = await at.supervisor.call("alarms", { after: 0, limit: 10 }, PATIENCE_MS);
    expect(alarms).toMatchObject([{ alarm: "gateway-operation-failed", orderId: "A-1" }]);

    await at.handOver("B-1");
    const [id] = (await at.inState("B-1", "captured")).transactionPublicIds;
    const order = `${at.sandbox.url}/sandbox/orders/${id}`;
    await fetch(`${order}/fraud`, { method: "POST" });
    await until("the fraud event arrives", async () => {
      return (await at.history("B-1")).fraudReported || undefined;
    });
    await fetch(`${order}/chargeback`, { method: "POST" });
    await at.inState("B-1", "reversed");
    expect(at.supervisor.log().match(/chargeback-or-fraud/g)).toHaveLength(2);
    expect(at.supervisor.log()).not.toContain(PASSWORD);
  });
});

test("a refund from the payment to the gateway and back, over every program", async () => {
  const port = await freePort();
  const at = new TestInstallation({
    terminalSwitches: ["--instant"],
    sandboxSwitches: ["--auto-pay"],
    config: {
      GATEWAY_CALLBACK_URL: `http://127.0.0.1:${port}/notify`,
      NOTIFICATION_PORT: port,
      GATEWAY_TIMEOUT: 2_000,
    },
  });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  expect((await at.pay(5, "A-1")).one.status).toBe("Success");
  const gatewayOf = async () =>
    ((await at.call("GET", "/payment/A-1")).one as unknown as { gateway: { state: string } })
      .gateway.state;
  await until("the capture is notified", async () => {
    return (await gatewayOf()) === "captured" || undefined;
  });
  const part = await at.call("POST", "/gateway/refund", { orderId: "A-1", amount: 2 });
  expect([part.http, part.one.status, part.one.amount]).toEqual([200, "Success", 2]);
  await at.supervisor?.end("SIGKILL");
  const nobody = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
  expect([nobody.http, nobody.one.error?.code]).toEqual([503, "SUPERVISOR_UNAVAILABLE"]);
  await at.startSupervisor();
  const rest = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
  expect([rest.http, rest.one.amount]).toEqual([200, 3]);
  const again = await at.pay(5, "A-1");
  expect([again.http, again.one.error?.code]).toEqual([409, "ORDER_REVERSED"]);
  const found = await at.call("GET", "/payment/A-1");
  expect(found.one.status).toBe("Reversed");
  await until("the refund is notified", async () => {
    return (await gatewayOf()) === "refunded" || undefined;
  });
  const reversal = await at.call("POST", "/reversal", { orderId: "A-1" });
  expect(reversal.one.status).toBe("Reversed");
  const kinds = (await at.ledger()).entries.map(({ kind }) => kind);
  expect(kinds).toEqual(["charge"]);
});
