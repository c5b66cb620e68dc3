import { describe, expect, test } from "vitest";
import type { FaultInput } from "../../../src/simulator/gateway/faults.ts";
import { openRig } from "../../supervisor/supervisor-rig.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import { reverses } from "../../support/terminals/scripted-terminal.ts";
import { type ApiWithSupervisor, apiWithSupervisor } from "./api-with-supervisor.ts";
import { chargedAtGateway, operator, stateOf } from "./charged-at-gateway.ts";

/** Waits until the sandbox has used a fault up, and lets our patience end. */
async function timedOut({ rig, sandbox }: Awaited<ReturnType<typeof chargedAtGateway>>) {
  const armed = async () => await (await fetch(`${sandbox.url}/sandbox/faults`)).json();
  await expect.poll(armed).toEqual([]);
  await rig.clock.advance(30_000);
}

describe("a refund", () => {
  test("by the order id needs the gateway's id from a notification or a lookup", async () => {
    const at = await chargedAtGateway();
    const early = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
    expect([early.http, early.one.error.code]).toEqual([409, "GATEWAY_ID_UNKNOWN"]);
    const fetched = await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    expect([fetched.http, fetched.one.merchant_order_id]).toEqual([200, "A-1"]);
    const { http, one } = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
    expect([http, one.status, one.code, one.amount, one.currency]).toEqual([
      200,
      "Success",
      0,
      9.99,
      "EUR",
    ]);
    expect(one.transactionPublicId).toBe(at.publicId());
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
  });

  test("of another program's transaction names the rest that the lookup shows", async () => {
    const at = await chargedAtGateway();
    const another = await openRig({ url: at.sandbox.url });
    another.forwarder.start();
    await another.tries(another.handOver("B-1", { amountMinor: 2000 }), 1);
    const order = at.sandbox.orders().find((one) => one.merchantReference === "B-1");
    const target = { transactionPublicId: order?.transactionPublicId };
    await at.call("POST", "/gateway/refund", { ...target, amount: 5 });
    at.sandbox.addFault({ kind: "wrong-amount", times: 1 });
    const lied = await at.call("POST", "/gateway/refund", target);
    expect(lied.one.error?.code).toBe("GATEWAY_OPERATION_UNKNOWN");
    expect(stateOf(at)).toContainEqual(["refunded", "20.00"]);
  });

  test("by the gateway's own id is looked up first", async () => {
    const at = await chargedAtGateway();
    const target = { transactionPublicId: at.publicId().toLowerCase() };
    const { http, one } = await at.call("POST", "/gateway/refund", target);
    expect([http, one.orderId]).toEqual([200, "A-1"]);
  });

  test("that was notified as failed afterwards stands in the order's lookup", async () => {
    const at = await chargedAtGateway();
    const { transactionId, rig } = at;
    const transactionPublicId = at.publicId();
    const target = { transactionPublicId };
    const refunded = await at.call("POST", "/gateway/refund", target);
    const order = async () => (await at.call("GET", "/payment/A-1")).one;
    expect((await order()).warnings).toEqual([]);
    const about = { transactionId, transactionPublicId, amountMinor: null, parsed: {}, raw: "" };
    const document = { kind: "operation", verdict: "accepted", fingerprint: "x" } as const;
    const failed = { operation: "refund", status: "nok" };
    rig.notifications.add({ ...document, ...about, ...failed }, rig.clock.now());
    const { status, warnings, gateway } = await order();
    expect(status).toBe("Reversed");
    expect(warnings).toEqual([expect.stringContaining("then notified that it failed")]);
    expect(gateway.failed).toEqual([refunded.one.operationId]);
  });

  test("finishes the order: no second refund, no reversal, no charge", async () => {
    const at = await chargedAtGateway();
    const target = { transactionPublicId: at.publicId() };
    await at.call("POST", "/gateway/refund", target);
    for (const [path, body] of [
      ["/gateway/refund", target],
      ["/gateway/cancel", { orderId: "A-1" }],
      ["/gateway/confirm", { orderId: "A-1" }],
    ] as const) {
      const { http, one } = await at.call("POST", path, body);
      expect([path, http, one.error.code, one.error.charged]).toEqual([
        path,
        409,
        "ORDER_REVERSED",
        "no",
      ]);
    }
    await expect(pay(at.at, request("A-1"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
    const reversal = await at.call("POST", "/reversal", { orderId: "A-1" });
    expect([reversal.http, reversal.one.status]).toEqual([200, "Reversed"]);
    expect(at.at.terminal.reversed).toEqual([]);
    expect(at.at.terminal.paid).toHaveLength(1);
    const { one } = await at.call("GET", "/payment/A-1");
    expect([one.status, one.gateway.state]).toEqual(["Reversed", "refunded"]);
    const { events } = one.attempts[0];
    expect(events.filter((event: { returnKind?: string }) => event.returnKind)).toMatchObject([
      { kind: "gateway-return-reserved", returnKind: "refund" },
    ]);
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
    const listed = await at.call("GET", "/payments?status=Reversed");
    expect(listed.body.map(({ orderId }) => orderId)).toEqual(["A-1"]);
  });

  test("of a part leaves the order charged, and only the rest can follow", async () => {
    const at = await chargedAtGateway();
    const target = { transactionPublicId: at.publicId() };
    const first = await at.call("POST", "/gateway/refund", { ...target, amount: 4 });
    expect([first.http, first.one.amount]).toEqual([200, 4]);
    const { one } = await at.call("GET", "/payment/A-1");
    expect([one.status, one.gateway.state]).toEqual(["Success", "partly-refunded"]);
    const tooMuch = await at.call("POST", "/gateway/refund", { ...target, amount: 6 });
    expect([tooMuch.http, tooMuch.one.error.code]).toEqual([400, "REQUEST_INVALID"]);
    const reversal = await at.call("POST", "/reversal", { orderId: "A-1" });
    expect(reversal.one.error.code).toBe("REVERSAL_REFUSED");
    expect((await at.call("POST", "/gateway/refund", target)).one.amount).toBe(5.99);
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
  });

  test("gives back no more than was charged and has not gone back yet", async () => {
    const at = await chargedAtGateway();
    const refund = async (amount: number) => {
      const target = { transactionPublicId: at.publicId() };
      const { http, one } = await at.call("POST", "/gateway/refund", { ...target, amount });
      return one.error === null ? http : [http, one.error.code, one.error.charged];
    };
    const tooMuch = [400, "REQUEST_INVALID", "yes"];
    expect(await refund(10)).toEqual(tooMuch);
    expect(await refund(4)).toBe(200);
    expect(await refund(6)).toEqual(tooMuch);
    expect(stateOf(at)).toEqual([["captured", "4.00"]]);
    expect(await refund(5.99)).toBe(200);
    expect(await refund(0.01)).toEqual([409, "ORDER_REVERSED", "no"]);
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
  });

  test("asked for by several at once happens once", async () => {
    const at = await chargedAtGateway();
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    const ask = () => at.call("POST", "/gateway/refund", { orderId: "A-1", amount: 9.99 });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.filter(({ http }) => http === 200)).toHaveLength(1);
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
  });

  test("and a reversal at the same time: one of the two happens", async () => {
    const at = await chargedAtGateway();
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    const both = await Promise.all([
      at.call("POST", "/reversal", { orderId: "A-1" }),
      at.call("POST", "/gateway/refund", { orderId: "A-1" }),
    ]);
    const reversedAtTerminal = at.at.terminal.reversed.length;
    const refunded = at.sandbox.orders().filter(({ state }) => state === "refunded").length;
    expect([both.map(({ http }) => http), reversedAtTerminal + refunded]).toEqual([
      expect.arrayContaining([200]),
      1,
    ]);
  });

  test("is refused while the terminal reverses and after it has", async () => {
    const at = await chargedAtGateway();
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    const codes: string[] = [];
    at.at.terminal.reversal = async (order, observer) => {
      const { one } = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
      codes.push(one.error.code);
      expect(one.error.message).toMatch(/^The order was paid\./);
      expect(one.error.details).toEqual({ inDoubt: "reversal" });
      return await reverses(order, observer);
    };
    await at.call("POST", "/reversal", { orderId: "A-1" });
    codes.push((await at.call("POST", "/gateway/refund", { orderId: "A-1" })).one.error.code);
    expect(codes).toEqual(["PAYMENT_UNKNOWN", "ORDER_REVERSED"]);
    expect(stateOf(at)).toEqual([["captured", "0.00"]]);
  });
});

describe("a reversal at the terminal", () => {
  const notified = (transactionId: string, operation: string) => ({
    fingerprint: operation,
    kind: "operation" as const,
    verdict: "accepted" as const,
    transactionId,
    transactionPublicId: "5CF62325CB217655",
    operation,
    status: "ok",
    amountMinor: null,
    parsed: {},
    raw: "",
  });

  test.each(["refund", "cancellation", "reject"])(
    "is refused when the gateway notified a %s that was not ours",
    async (operation) => {
      const at = await chargedAtGateway();
      at.rig.notifications.add(notified(at.transactionId, operation), 1);
      const { http, one } = await at.call("POST", "/reversal", { orderId: "A-1" });
      expect([http, one.error.code, one.error.charged]).toEqual([409, "REVERSAL_REFUSED", "yes"]);
      expect(at.at.terminal.reversed).toEqual([]);
    },
  );

  test("happens after a capture, and when the supervisor does not answer", async () => {
    const at = await chargedAtGateway();
    at.rig.notifications.add(notified(at.transactionId, "capture"), 1);
    await at.stopSupervisor();
    const { one } = await at.call("POST", "/reversal", { orderId: "A-1" });
    expect(one.status).toBe("Reversed");
    expect(at.at.terminal.reversed).toHaveLength(1);
  });
});

/** Every fault of the sandbox, what the caller hears, and whether the money may have gone back. */
const faults: ReadonlyArray<[FaultInput, http: number, code: string, open: boolean]> = [
  [{ kind: "hang-before-commit" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "hang-after-commit" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "reset-before-commit" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "reset-after-commit" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "error-500" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "error-500-empty" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "malformed-xml" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "unavailable-503" }, 504, "GATEWAY_OPERATION_UNKNOWN", true],
  [{ kind: "not-found-404" }, 503, "GATEWAY_NOT_SENT", false],
  [{ kind: "wrong-code" }, 409, "GATEWAY_REFUSED", false],
];

describe("a refund whose answer does not come", () => {
  test.each(faults)("%j: %i %s", async (fault, http, code, open) => {
    const at = await chargedAtGateway();
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    at.sandbox.addFault({ ...fault, times: 1, operation: "card" });
    const asked = at.call("POST", "/gateway/refund", { orderId: "A-1" });
    if (fault.kind.startsWith("hang")) await timedOut(at);
    const answer = await asked;
    const status = open ? "Unknown" : "Failed";
    expect([answer.http, answer.one.status, answer.one.error.code]).toEqual([http, status, code]);
    const again = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
    expect(again.http).toBe(open ? 409 : 200);
    if (!open) return;
    expect(again.one.error.code).toBe("GATEWAY_OPERATION_OPEN");
    const { http: displayed, one } = await at.call("GET", "/payment/A-1");
    // The sale stands, whatever became of the return (docs/rules/23-asked.md).
    expect([displayed, one.status, one.error]).toEqual([200, "Success", null]);
    expect(one.warnings).toEqual(["what became of a refund of 9.99 at the gateway is not known"]);
    expect([answer.one.error.charged, again.one.error.charged]).toEqual(["yes", "yes"]);
    const reversal = await at.call("POST", "/reversal", { orderId: "A-1" });
    expect(reversal.one.error.code).toBe("GATEWAY_OPERATION_OPEN");
    expect(at.at.terminal.reversed).toEqual([]);
    expect(at.rig.alarms()).toContain("gateway-operation-unknown");
    const refunds = at.sandbox.orders().filter(({ state }) => state === "refunded");
    expect(refunds.length).toBeLessThanOrEqual(1);
  });

  test("is settled by a lookup that shows it", async () => {
    const at = await chargedAtGateway();
    at.sandbox.addFault({ kind: "reset-after-commit", times: 1, operation: "card" });
    await at.call("POST", "/gateway/refund", { transactionPublicId: at.publicId() });
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Success");
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
  });

  test("is not settled by a lookup that does not show it, only by an operator", async () => {
    const at = await chargedAtGateway();
    at.sandbox.addFault({ kind: "reset-before-commit", times: 1, operation: "card" });
    const target = { transactionPublicId: at.publicId() };
    await at.call("POST", "/gateway/refund", target);
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    expect((await at.call("GET", "/payment/A-1")).one.warnings).toHaveLength(1);
    const decision = { orderId: "A-1", happened: false, note: "seen in the merchant account" };
    const settled = await at.call("POST", "/gateway/settle", decision);
    expect([settled.http, settled.one.state]).toEqual([200, "refused"]);
    expect((await at.call("GET", "/payment/A-1")).one.warnings).toEqual([]);
    expect((await at.call("POST", "/gateway/settle", decision)).one.error.code).toBe(
      "NOTHING_TO_SETTLE",
    );
    expect((await at.call("POST", "/gateway/refund", target)).http).toBe(200);
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
  });

  test("and was a cancel is settled by a lookup that shows the capture", async () => {
    const at = await chargedAtGateway();
    at.sandbox.addFault({ kind: "reset-before-commit", times: 1, operation: "cancel" });
    const target = { transactionPublicId: at.publicId() };
    const { one } = await at.call("POST", "/gateway/cancel", target);
    expect(one.error.code).toBe("GATEWAY_OPERATION_UNKNOWN");
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    const { one: displayed } = await at.call("GET", "/payment/A-1");
    expect([displayed.status, displayed.gateway.operations[0].state]).toEqual([
      "Success",
      "refused",
    ]);
    expect((await at.call("POST", "/gateway/refund", target)).http).toBe(200);
  });

  test("keeps its reservation when the supervisor is stopped meanwhile", async () => {
    const at = await chargedAtGateway();
    at.sandbox.addFault({ kind: "hang-after-commit", times: 1, operation: "card" });
    const asked = at.call("POST", "/gateway/refund", { transactionPublicId: at.publicId() });
    await expect.poll(() => at.sandbox.orders()[0]?.state).toBe("refunded");
    const stopped = at.rig.operations.stop(1);
    await at.rig.clock.advance(1);
    await stopped;
    expect((await asked).one.error.code).toBe("GATEWAY_OPERATION_UNKNOWN");
    expect(at.rig.operationStore.openOf(at.publicId())).toMatchObject({
      state: "unknown",
      class: "interrupted",
    });
    const [open] = at.at.journal.returns.openReturns();
    expect([open?.request.orderId, open?.openReturn?.amountMinor]).toEqual(["A-1", 999]);
  });

  test("that is on its way is not forbidden by a lookup that overtakes it", async () => {
    const at = await chargedAtGateway();
    await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    const blocked = Promise.withResolvers<void>();
    const { supervisor } = at;
    const call = supervisor.call.bind(supervisor);
    supervisor.call = ((name, asked) =>
      name === "gateway-operation"
        ? blocked.promise.then(() => call(name, asked))
        : call(name, asked)) as typeof call;
    const refund = at.call("POST", "/gateway/refund", { orderId: "A-1" });
    const { returns } = at.at.journal;
    await expect.poll(() => returns.openReturns()).toHaveLength(1);
    const fetched = await at.call("GET", "/payment/A-1");
    expect(fetched.one.warnings).toEqual([expect.stringContaining("refund of 9.99")]);
    blocked.resolve();
    expect((await refund).one.status).toBe("Success");
    expect(stateOf(at)).toEqual([["refunded", "9.99"]]);
  });

  test("that never reached the supervisor is never carried out late", async () => {
    const at = await chargedAtGateway();
    const [attempt] = at.at.journal.attempts.ofOrder("A-1");
    const operationId = "0b9f1e0e-6a1c-4f7e-9d0b-3a5f5a1b2c3d";
    const open = { operationId, kind: "refund", amountMinor: 999 } as const;
    const reserved = { ...open, transactionPublicId: at.publicId(), atMs: 1 };
    at.at.journal.returns.reserveReturn(attempt?.transactionId ?? "", reserved, 999);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Success");
    const late = { ...open, transactionPublicId: at.publicId(), currency: "EUR", exponent: 2 };
    await expect(at.rig.operations.operate(late)).rejects.toThrow(/too late/);
    expect(stateOf(at)).toEqual([["captured", "0.00"]]);
  });
});

describe("confirm and cancel", () => {
  async function authorized() {
    const at = await chargedAtGateway({ autoPay: false });
    const order = at.sandbox.orders()[0];
    return { ...at, order };
  }

  test("a cancellation of what was never authorised is refused with its text", async () => {
    const at = await authorized();
    const target = { transactionPublicId: at.publicId() };
    const { http, one } = await at.call("POST", "/gateway/cancel", target);
    expect([http, one.error.code, one.error.charged]).toEqual([409, "GATEWAY_REFUSED", "yes"]);
    expect(one.error.details).toMatchObject({ code: 20, class: "order-refused" });
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Success");
  });

  test("a confirm of what is captured already is refused with its text", async () => {
    const at = await chargedAtGateway();
    const target = { transactionPublicId: at.publicId(), amount: 1.5 };
    const { one } = await at.call("POST", "/gateway/confirm", target);
    expect(one.error).toMatchObject({ code: "GATEWAY_REFUSED", details: { code: 20 } });
  });

  test.each(["confirm", "cancel"] as const)(
    "a %s whose answer was lost is unknown",
    async (kind) => {
      const at = await chargedAtGateway();
      await at.call("GET", `/gateway/transaction/${at.publicId()}`);
      at.sandbox.addFault({ kind: "reset-before-commit", times: 1, operation: kind });
      const { http, one } = await at.call("POST", `/gateway/${kind}`, { orderId: "A-1" });
      expect([http, one.status, one.error.code, one.error.charged]).toEqual([
        504,
        "Unknown",
        "GATEWAY_OPERATION_UNKNOWN",
        "yes",
      ]);
      expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Success");
    },
  );
});

describe("who may and what is asked", () => {
  const wrong: Array<[string, object, string]> = [
    ["/gateway/refund", {}, "orderId"],
    ["/gateway/refund", { orderId: "A-1", transactionPublicId: "5CF62325CB217655" }, "orderId"],
    ["/gateway/refund", { transactionPublicId: "../etc" }, "transactionPublicId"],
    ["/gateway/refund", { transactionPublicId: "A".repeat(33) }, "transactionPublicId"],
    ["/gateway/cancel", { orderId: "A-1", amount: 1 }, "amount"],
    ["/gateway/settle", { orderId: "A-1", happened: "yes", note: "x" }, "happened"],
    ["/gateway/settle", { orderId: "A-1", happened: true }, "note"],
  ];
  test.each(wrong)("%s with %j is refused and names the field", async (path, body, field) => {
    const { call } = await apiWithSupervisor({ operator });
    const { http, one } = await call("POST", path, body);
    expect([http, one.error.details.faults[0].field]).toEqual([400, field]);
  });

  test("amounts are read as in a payment", async () => {
    const at = await chargedAtGateway();
    for (const amount of [0, -1, 1.999, "1"]) {
      const body = { transactionPublicId: at.publicId(), amount };
      const { http, one } = await at.call("POST", "/gateway/refund", body);
      expect([amount, http, one.error.details.faults[0].field]).toEqual([amount, 400, "amount"]);
    }
    expect(stateOf(at)).toEqual([["captured", "0.00"]]);
  });

  test("unknown orders and transactions get errors of their own", async () => {
    const at = await chargedAtGateway();
    const order = await at.call("POST", "/gateway/refund", { orderId: "B-1" });
    expect([order.http, order.one.error.code]).toEqual([404, "ORDER_NOT_FOUND"]);
    const fetched = await at.call("GET", "/gateway/transaction/FFFFFFFFFFFFFFFF");
    expect([fetched.http, fetched.one.error.code]).toEqual([404, "GATEWAY_TRANSACTION_NOT_FOUND"]);
  });

  test("the kiosk's pair may not, when there is an operator", async () => {
    const { call, kiosk } = await apiWithSupervisor({ operator });
    for (const path of ["confirm", "cancel", "refund", "settle", "copies"]) {
      const { http } = await call("POST", `/gateway/${path}`, { orderId: "A-1" }, kiosk);
      expect([path, http]).toEqual([path, 403]);
    }
    expect((await call("GET", "/gateway/transaction/A1", undefined, kiosk)).http).toBe(403);
  });

  test("without a supervisor nothing is reserved and the answer says so", async () => {
    const at: ApiWithSupervisor = await apiWithSupervisor({ operator });
    await pay(at.at, request("A-1"));
    await at.stopSupervisor();
    const { http, one } = await at.call("POST", "/gateway/refund", { orderId: "A-1" });
    expect([http, one.error.code]).toEqual([503, "SUPERVISOR_UNAVAILABLE"]);
    expect(at.at.journal.returns.openReturns()).toEqual([]);
    const found = await at.call("GET", "/payment/A-1");
    expect([found.http, found.one.status, found.one.gateway.state]).toEqual([
      200,
      "Success",
      "unknown",
    ]);
  });
});
