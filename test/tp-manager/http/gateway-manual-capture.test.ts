import { describe, expect, test } from "vitest";
import { generate } from "../../simulator/gateway/sandbox-for-test.ts";
import { PASSWORD } from "../../supervisor/supervisor-rig.ts";
import { chargedAtGateway, operator } from "./charged-at-gateway.ts";

/**
 * An order of ours that the merchant's other system has placed for manual capture and that was
 * paid: authorised, not captured.
 */
async function authorised() {
  const at = await chargedAtGateway({ autoPay: false });
  const { sandbox, transactionId } = at;
  await generate(sandbox, {
    wsLogin: "login",
    wsPassword: PASSWORD,
    amount: "9.99",
    manualCapture: "1",
    merchantReference: "A-1",
    freeData: `<item><key>transactionId</key><value>${transactionId}</value></item>`,
  });
  const order = () => sandbox.orders().find(({ manualCapture }) => manualCapture);
  const id = order()?.transactionPublicId ?? "";
  await fetch(`${sandbox.url}/sandbox/orders/${id}/pay`, { method: "POST" });
  expect(order()?.state).toBe("authorized");
  const state = () => [order()?.state, order()?.capturedAmount, order()?.refundedAmount];
  return { ...at, id, state };
}

describe("an authorised order", () => {
  test("is confirmed, and again without a second request", async () => {
    const { call, id, state, sandbox } = await authorised();
    const { http, one } = await call("POST", "/gateway/confirm", { transactionPublicId: id });
    expect([http, one.status, one.code, one.orderId]).toEqual([200, "Success", 0, "A-1"]);
    expect(one.description).toBe("transaction has been confirmed");
    expect(state()).toEqual(["captured", "9.99", "0.00"]);
    // Whatever a second request would meet, none is sent: the caller gets the first answer.
    sandbox.addFault({ kind: "error-500", operation: "confirm" });
    const again = await call("POST", "/gateway/confirm", { orderId: "A-1" });
    expect([again.http, again.one.operationId]).toEqual([200, one.operationId]);
    const displayed = await call("GET", "/payment/A-1");
    expect([displayed.one.status, displayed.one.gateway.state]).toEqual(["Success", "captured"]);
  });

  test("is confirmed in part", async () => {
    const { call, id, state } = await authorised();
    const body = { transactionPublicId: id, amount: 4.5 };
    const { http, one } = await call("POST", "/gateway/confirm", body);
    expect([http, one.amount, one.currency]).toEqual([200, 4.5, "EUR"]);
    expect(state()).toEqual(["captured", "4.50", "0.00"]);
  });

  test("is cancelled, and is finished then", async () => {
    const { call, id, state } = await authorised();
    const { http, one } = await call("POST", "/gateway/cancel", { transactionPublicId: id });
    expect([http, one.code, one.description]).toEqual([200, 0, "transaction has been cancelled"]);
    expect(state()[0]).toBe("cancelled");
    const { one: displayed } = await call("GET", "/payment/A-1");
    expect([displayed.status, displayed.gateway.state]).toEqual(["Reversed", "cancelled"]);
    const late = await call("POST", "/gateway/confirm", { transactionPublicId: id }, operator);
    expect([late.http, late.one.error.code]).toEqual([409, "ORDER_REVERSED"]);
  });

  test("that was confirmed cannot be cancelled: it is refused, and can be refunded", async () => {
    const { call, id, state } = await authorised();
    await call("POST", "/gateway/confirm", { transactionPublicId: id });
    const { http, one } = await call("POST", "/gateway/cancel", { orderId: "A-1" });
    expect([http, one.error.code, one.error.charged]).toEqual([409, "GATEWAY_REFUSED", "yes"]);
    expect(one.error.details.code).toBe(20);
    expect((await call("POST", "/gateway/refund", { orderId: "A-1" })).http).toBe(200);
    expect(state()).toEqual(["refunded", "9.99", "9.99"]);
  });
});
