import { describe, expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import type { OperationKind } from "../../../src/supervisor/gateway/operation-request.ts";
import { gatewayHistoryOf } from "../../../src/supervisor/operations/gateway-history.ts";
import { OperationStore } from "../../../src/supervisor/operations/operation-store.ts";
import { type Behaviour, operationBody, parametersOf } from "../recording-gateway.ts";
import { openRig, PASSWORD } from "../supervisor-rig.ts";

const ID = "5CF62325CB217655";
const EUR = { currency: "EUR", exponent: 2 } as const;

const asked = (kind: OperationKind, amountMinor: number | null = null) => ({
  operationId: newId(),
  kind,
  transactionPublicId: ID,
  amountMinor,
  ...EUR,
});

const ok = (operation: "confirm" | "cancel" | "card", more = {}): Behaviour => ({
  status: 200,
  body: operationBody(operation, 0, "N/A", more),
});

describe("what is sent", () => {
  const rows = [
    ["confirm", null, "/soap/transaction-v2/confirm", {}],
    ["confirm", 1250, "/soap/transaction-v2/confirm", { amount: "12.50", currency: "EUR" }],
    ["cancel", null, "/soap/transaction-v2/cancel", {}],
    ["refund", null, "/soap/refund-v2/card", { websiteId: "107" }],
    ["refund", 400, "/soap/refund-v2/card", { websiteId: "107", amount: "4.00" }],
  ] as const;
  test.each(rows)("%s of %j goes to %s", async (kind, amountMinor, path, fields) => {
    const rig = await openRig();
    const sum = amountMinor === 400 ? { amount: "4" } : {};
    rig.server.behave = () => ok(kind === "refund" ? "card" : kind, sum);
    const { operation } = await rig.operations.operate(asked(kind, amountMinor));
    expect(operation).toMatchObject({ state: "done", code: 0, class: "sent" });
    const [request] = rig.server.requests;
    expect(request?.path).toBe(path);
    expect(parametersOf(request?.body ?? "")).toEqual({
      wsLogin: "login",
      wsPassword: PASSWORD,
      transactionPublicId: ID,
      ...fields,
    });
  });

  test("the operation is on disk before it is sent", async () => {
    const rig = await openRig();
    const request = asked("refund");
    const states: unknown[] = [];
    rig.server.behave = () => {
      states.push(new OperationStore(rig.database).operation(request.operationId)?.state);
      return ok("card");
    };
    await rig.operations.operate(request);
    expect(states).toEqual(["sending"]);
  });
});

describe("what the answer means", () => {
  const rows: Array<[string, Behaviour, string]> = [
    ["code 0", ok("card"), "done"],
    ["a refusal", { status: 200, body: operationBody("card", 3, "amount invalid") }, "refused"],
    ["a refusal as HTTP 500", { status: 500, body: operationBody("card", 20) }, "refused"],
    ["refused credentials", { status: 200, body: operationBody("card", 1) }, "refused"],
    ["code 0 as HTTP 500", { status: 500, body: operationBody("card", 0) }, "unknown"],
    ["another operation's result", { status: 200, body: operationBody("cancel", 0) }, "unknown"],
    ["HTTP 500 without a body", { status: 500 }, "unknown"],
    ["HTTP 502", { status: 502 }, "unknown"],
    ["HTTP 504", { status: 504 }, "unknown"],
    ["a connection that breaks", "reset", "unknown"],
    ["HTTP 503, perhaps of a proxy that lost the gateway", { status: 503 }, "unknown"],
    ["HTTP 429", { status: 429 }, "not-sent"],
    ["HTTP 302, perhaps of a proxy that withheld the answer", { status: 302 }, "unknown"],
    ["HTTP 403, perhaps of such a proxy", { status: 403, body: "<html>blocked</html>" }, "unknown"],
    ["a page of such a proxy", { status: 200, body: "<html>blocked</html>" }, "unknown"],
    ["HTTP 404", { status: 404 }, "not-sent"],
    ["HTTP 401", { status: 401 }, "not-sent"],
  ];
  test.each(rows)("%s", async (_name, behaviour, state) => {
    const rig = await openRig();
    rig.server.behave = () => behaviour;
    const { operation } = await rig.operations.operate(asked("refund"));
    expect(operation?.state).toBe(state);
    expect(rig.server.requests).toHaveLength(1);
    expect(rig.alarms()).toEqual(state === "unknown" ? ["gateway-operation-unknown"] : []);
    expect(JSON.stringify(rig.lines)).not.toContain(PASSWORD);
  });

  const another = { transactionPublicId: "5CF62325CB217656" };
  const lies: Array<[string, OperationKind, object]> = [
    ["a refund of another amount", "refund", { amount: "1.00" }],
    ["a refund in another currency", "refund", { currency: "CHF" }],
    ["a refund of another transaction", "refund", another],
    ["a refund without an amount", "refund", { amount: "" }],
    ["a refund without a currency", "refund", { currency: "" }],
    ["a refund without an id", "refund", { transactionPublicId: "" }],
    ["a confirmation of another transaction", "confirm", another],
    ["a confirmation of another amount", "confirm", { amount: "1.00" }],
    ["a confirmation without an id", "confirm", { transactionPublicId: "" }],
    ["a cancellation of another transaction", "cancel", another],
    ["a cancellation without an id", "cancel", { transactionPublicId: "" }],
  ];
  test.each(lies)(
    "%s is no success: unknown, with an alarm about its order",
    async (_n, kind, lie) => {
      const rig = await openRig();
      const transactionId = rig.handOver("A-1");
      await rig.tries(transactionId, 1);
      rig.operationStore.learnId(ID, transactionId, "notification", 1);
      rig.server.behave = () => ok(kind === "refund" ? "card" : kind, lie);
      const request = asked(kind, kind === "cancel" ? null : 899);
      const { operation, orderReturnedMinor } = await rig.operations.operate(request);
      expect(operation).toMatchObject({ state: "unknown", class: "other-answer" });
      expect(orderReturnedMinor).toBe(0);
      expect(rig.lines.filter((line) => line["alarm"])).toMatchObject([
        { alarm: "gateway-operation-unknown", orderId: "A-1", transactionId },
      ]);
      expect(gatewayHistoryOf("A-1", rig.operationStore).state).toBe("unknown");
    },
  );

  test("a refund that names amounts twice does not say which one is meant", async () => {
    const rig = await openRig();
    const body = operationBody("card", 0).replace("<code>", "<amount>1.00</amount><code>");
    rig.server.behave = () => ({ status: 200, body });
    const { operation } = await rig.operations.operate(asked("refund", 899));
    expect(operation?.state).toBe("unknown");
  });

  test("a refusal of another transaction is no refusal of this one", async () => {
    const rig = await openRig();
    rig.server.behave = () => ({ status: 200, body: operationBody("card", 20, "N/A", another) });
    const { operation } = await rig.operations.operate(asked("refund", 899));
    expect(operation?.state).toBe("unknown");
  });

  test("a gateway that cannot be reached has not got the operation", async () => {
    const rig = await openRig();
    await rig.server.stop();
    const { operation } = await rig.operations.operate(asked("refund"));
    expect(operation).toMatchObject({ state: "not-sent", class: "unreachable" });
  });

  test("no answer in time is unknown, and time alone never sends it again", async () => {
    const rig = await openRig();
    rig.server.behave = () => "hang";
    const answer = rig.operations.operate(asked("refund"));
    await expect.poll(() => rig.server.requests).toHaveLength(1);
    await rig.clock.advance(30_000);
    expect((await answer).operation?.state).toBe("unknown");
    const lookups = () => rig.server.requests.filter(({ method }) => method === "GET").length;
    const steps = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await rig.clock.advance(60_000);
    };
    await steps(24 * 60);
    expect(lookups()).toBe(11);
    await steps(24 * 60);
    expect(lookups()).toBe(15);
    expect(rig.server.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    expect(rig.alarms()).toEqual(["gateway-operation-unknown"]);
  });
});

describe("an operation is sent once", () => {
  test("and a message with its id again only returns what became of it", async () => {
    const rig = await openRig();
    rig.server.behave = () => ok("card", { amount: "4.0" });
    const request = asked("refund", 400);
    const [one, other] = await Promise.all([
      rig.operations.operate(request),
      rig.operations.operate(request),
    ]);
    expect(other).toEqual(one);
    expect(await rig.operations.operate(request)).toEqual(one);
    expect(rig.server.requests).toHaveLength(1);
  });

  test("and not while another one of its transaction runs or is unknown", async () => {
    const rig = await openRig();
    rig.server.behave = () => "reset";
    const both = await Promise.all([
      rig.operations.operate(asked("refund", 100)),
      rig.operations.operate(asked("cancel")),
    ]);
    expect(both.map(({ operation }) => operation?.state)).toEqual(["unknown", undefined]);
    expect((await rig.operations.operate(asked("confirm"))).operation).toBeNull();
    expect(rig.server.requests).toHaveLength(1);
  });

  test("and a confirm that was done is answered again without asking", async () => {
    const rig = await openRig();
    rig.server.behave = () => ok("confirm");
    const first = await rig.operations.operate(asked("confirm"));
    expect(await rig.operations.operate(asked("confirm"))).toEqual(first);
    expect(rig.server.requests).toHaveLength(1);
  });

  test("and is unknown with an alarm after its process died, at the next start", async () => {
    const rig = await openRig();
    const request = asked("refund", 100);
    rig.operationStore.begin(request, rig.clock.now());
    rig.operations.start();
    expect(rig.operationStore.operation(request.operationId)?.state).toBe("unknown");
    expect(rig.alarms()).toEqual(["gateway-operation-unknown"]);
    expect(rig.server.requests).toHaveLength(0);
  });

  test.each([
    ["ok", "done"],
    ["nok", "refused"],
  ])("but is known when it was notified as %s before its process died", async (status, state) => {
    const rig = await openRig();
    const transactionId = rig.handOver("A-1");
    await rig.tries(transactionId, 1);
    const before = rig.server.requests.length;
    rig.operationStore.learnId(ID, transactionId, "notification", 1);
    const request = asked("refund");
    rig.operationStore.begin(request, rig.clock.now());
    const about = { transactionId, transactionPublicId: ID, operation: "refund", status };
    const kept = { fingerprint: "document 1", kind: "operation", verdict: "accepted" } as const;
    rig.notifications.add(
      { ...about, ...kept, amountMinor: 899, parsed: {}, raw: "" },
      rig.clock.now(),
    );
    rig.operations.notified(ID);
    expect(rig.operationStore.operation(request.operationId)?.state).toBe("sending");
    rig.operations.start();
    expect(rig.operationStore.operation(request.operationId)?.state).toBe(state);
    expect(rig.alarms()).toEqual([]);
    expect(rig.server.requests).toHaveLength(before);
  });
});

describe("an operation that was answered as done", () => {
  /** Done on our order; each notification is kept a moment after the one before. */
  async function done(kind: OperationKind, amountMinor: number | null = null) {
    const rig = await openRig();
    const transactionId = rig.handOver("A-1");
    await rig.tries(transactionId, 1);
    rig.operationStore.learnId(ID, transactionId, "notification", 1);
    rig.server.behave = () =>
      ok(kind === "refund" ? "card" : kind, amountMinor ? { amount: "4" } : {});
    const operate = async () => await rig.operations.operate(asked(kind, amountMinor));
    let kept = 0;
    const notify = async (
      operation: string,
      status: string,
      notifiedMinor: number | null = null,
    ) => {
      const isNew = rig.notifications.add(
        {
          fingerprint: `document ${++kept}`,
          kind: "operation",
          verdict: "accepted",
          transactionId,
          transactionPublicId: ID,
          operation,
          status,
          amountMinor: notifiedMinor,
          parsed: {},
          raw: "",
        },
        rig.clock.now(),
      );
      rig.operations.notified(ID);
      await rig.clock.advance(1_000);
      return isNew;
    };
    const failed = () => gatewayHistoryOf("A-1", rig.operationStore).failed;
    const stored = () => rig.alarmStore.after(undefined, 0, 10).alarms;
    return { rig, transactionId, operate, notify, failed, stored };
  }
  const names = { confirm: "capture", cancel: "cancellation", refund: "refund" } as const;

  test.each(["confirm", "cancel", "refund"] as const)(
    "and then notified as failed raises an alarm about its order, once: %s",
    async (kind) => {
      const { transactionId, operate, notify, failed, stored } = await done(kind);
      const { operation } = await operate();
      expect(failed()).toEqual([]);
      await notify(names[kind], "nok");
      const about = { alarm: "gateway-operation-failed", orderId: "A-1", transactionId };
      expect(stored()).toMatchObject([about]);
      expect(failed()).toEqual([operation?.operationId]);
      await notify("reject", "nok"); // something else about the transaction
      expect(stored()).toHaveLength(1);
      await notify(names[kind], "ok"); // the gateway tried once more
      expect(failed()).toEqual([]);
    },
  );

  test("is alarmed too when the notification overtook the answer", async () => {
    const { rig, operate, notify, stored } = await done("refund");
    const request = rig.server.behave;
    rig.server.behave = async (sent) => {
      await notify("refund", "nok");
      return await request(sent);
    };
    await operate();
    expect(stored()).toMatchObject([{ alarm: "gateway-operation-failed", orderId: "A-1" }]);
  });

  test("is not alarmed by a failure before it, nor by another one that was refused", async () => {
    const { rig, operate, notify, failed, stored } = await done("refund", 400);
    await notify("refund", "nok");
    await operate();
    await notify("refund", "ok", 400);
    rig.server.behave = () => ({ status: 200, body: operationBody("card", 20) });
    expect((await operate()).operation?.state).toBe("refused");
    await notify("refund", "nok");
    expect(failed()).toEqual([]);
    expect(stored()).toEqual([]);
  });
});

describe("the lookup", () => {
  const view = (change: object = {}) => ({
    id: 155_227_950_169,
    merchant_order_id: "A-1",
    amount: "8.99",
    captured_amount: "8.99",
    refunded_amount: "0.00",
    currency: "EUR",
    card: { pan: "4111111111111111" },
    ...change,
  });
  const json = (body: object, status = 200): Behaviour => ({ status, body: JSON.stringify(body) });

  test("asks with Basic authentication and masks what comes", async () => {
    const rig = await openRig();
    rig.server.behave = () => json(view());
    const { outcome, transaction } = await rig.operations.lookUp(ID);
    expect([outcome, transaction?.["merchant_order_id"]]).toEqual(["found", "A-1"]);
    expect(JSON.stringify(transaction)).not.toContain("4111111111111111");
    const [request] = rig.server.requests;
    expect([request?.method, request?.path]).toEqual(["GET", `/v3/transactions/${ID}`]);
    const basic = Buffer.from(`login:${PASSWORD}`).toString("base64");
    expect(request?.headers.authorization).toBe(`Basic ${basic}`);
  });

  test("tries the singular address where the plural one does not exist", async () => {
    const rig = await openRig();
    rig.server.behave = ({ path }) =>
      path.includes("/transactions/") ? { status: 404 } : json(view());
    expect((await rig.operations.lookUp(ID)).outcome).toBe("found");
    expect(rig.server.requests).toHaveLength(2);
  });

  test.each([
    ["an unknown transaction", json({ code: 3_000_002, message: "Unknown" }, 404), "not-found"],
    ["wrong credentials", json({ code: 1_000_001, message: "Incorrect" }, 401), "failed"],
    ["HTTP 500", { status: 500 }, "failed"],
    ["no JSON", { status: 200, body: "<html>" }, "failed"],
    ["another object", json({ hello: 1 }), "failed"],
  ] as Array<[string, Behaviour, string]>)("%s", async (_name, behaviour, outcome) => {
    const rig = await openRig();
    rig.server.behave = () => behaviour;
    const answer = await rig.operations.lookUp(ID);
    expect([answer.outcome, answer.transaction]).toEqual([outcome, null]);
    expect(answer.description).not.toBe("");
  });

  const binding: Array<[string, object, boolean]> = [
    ["agrees", {}, true],
    ["has another amount", { amount: "9.00" }, false],
    ["has another currency", { currency: "CHF" }, false],
    ["has another order", { merchant_order_id: "A-2" }, false],
    ["has no amount", { amount: undefined }, false],
  ];
  test.each(binding)("ties the id to our order when it %s: %j", async (_name, change, tied) => {
    const rig = await openRig();
    rig.handOver("A-1");
    rig.server.behave = ({ method }) => (method === "GET" ? json(view(change)) : { status: 503 });
    await rig.operations.lookUp(ID);
    const resolved = await rig.operations.resolve({ orderId: "A-1" });
    expect(resolved.found).toBe(tied);
  });

  const alone: Array<[OperationKind, object, string]> = [
    ["refund", { refunded_amount: "8.99" }, "done"],
    ["refund", { refunded_amount: "0.00" }, "unknown"],
    ["refund", { refunded_amount: "8.99", amount: "9.00" }, "unknown"],
    ["refund", { refunded_amount: "8.99", merchant_order_id: "A-2" }, "unknown"],
    ["refund", { refunded_amount: "899.00" }, "unknown"],
    ["confirm", { captured_amount: "8.99" }, "done"],
    ["confirm", { captured_amount: "0.00" }, "unknown"],
    ["confirm", { captured_amount: "899.00" }, "unknown"],
    ["cancel", { captured_amount: "8.99" }, "unknown"],
  ];
  test.each(alone)(
    "by itself ends an open %s of an order that it shows as %j: %s",
    async (kind, change, state) => {
      const rig = await openRig();
      const transactionId = rig.handOver("A-1");
      await rig.tries(transactionId, 1);
      rig.operationStore.learnId(ID, transactionId, "notification", 1);
      rig.server.behave = ({ method }) => (method === "GET" ? json(view(change)) : "reset");
      const request = asked(kind);
      await rig.operations.operate(request);
      const lookups = () => rig.server.requests.filter(({ method }) => method === "GET").length;
      await rig.advanceInSteps(20_000, () => lookups() >= 1);
      await rig.clock.advance(0);
      await expect.poll(() => rig.operationStore.operation(request.operationId)?.state).toBe(state);
      if (state !== "done") await rig.advanceInSteps(20_000, () => lookups() >= 3);
      expect(rig.operationStore.operation(request.operationId)?.state).toBe(state);
    },
  );

  test("two sales of one order go back each for itself", async () => {
    const rig = await openRig();
    const ids = [ID, "5CF62325CB217656"];
    for (const id of ids) {
      const transactionId = rig.handOver("A-1");
      await rig.tries(transactionId, 1);
      rig.operationStore.learnId(id, transactionId, "notification", 1);
    }
    for (const transactionPublicId of ids) {
      rig.server.behave = () => ok("card", { transactionPublicId });
      const request = { ...asked("refund", 899), transactionPublicId };
      const { operation, orderReturnedMinor } = await rig.operations.operate(request);
      expect([operation?.state, orderReturnedMinor]).toEqual(["done", 899]);
    }
  });

  test("two transactions of one order have to be named by their ids", async () => {
    const rig = await openRig();
    const transactionId = rig.handOver("A-1");
    for (const id of [ID, "5CF62325CB217656"]) {
      rig.operationStore.learnId(id, transactionId, "lookup", 1);
    }
    expect(await rig.operations.resolve({ orderId: "A-1" })).toMatchObject({
      found: false,
      candidates: [ID, "5CF62325CB217656"],
    });
    expect(await rig.operations.resolve({ transactionPublicId: ID })).toMatchObject({
      found: true,
      orderId: "A-1",
    });
  });
});
