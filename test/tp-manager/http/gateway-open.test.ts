import { expect, test } from "vitest";
import { chargedAtGateway } from "./charged-at-gateway.ts";

const nothing = { operations: [], copies: [], more: false };

test("an operation whose answer was lost is listed until a person settles it", async () => {
  const at = await chargedAtGateway();
  const open = async () => (await at.call("GET", "/gateway/open")).one;
  expect(await open()).toEqual(nothing);
  const target = { transactionPublicId: at.publicId() };
  at.sandbox.addFault({ kind: "reset-before-commit", times: 1, operation: "card" });
  const refund = await at.call("POST", "/gateway/refund", { ...target, amount: 4 });
  expect(refund.one.error.code).toBe("GATEWAY_OPERATION_UNKNOWN");
  const { operations, ...others } = await open();
  expect(operations).toEqual([
    {
      ...target,
      operationId: refund.one.error.details.operationId,
      kind: "refund",
      orderId: "A-1",
      amount: 4,
      currency: "EUR",
      askedAt: expect.any(String),
      description: expect.any(String),
    },
  ]);
  expect(others).toEqual({ copies: [], more: false });
  const decision = { ...target, happened: false, note: "not in the merchant account" };
  expect((await at.call("POST", "/gateway/settle", decision)).http).toBe(200);
  expect(await open()).toEqual(nothing);
});

test("an order that may be there twice is listed until a person has looked", async () => {
  const at = await chargedAtGateway({ lost: "before-commit" });
  const open = async () => (await at.call("GET", "/gateway/open")).one;
  const { transactionId } = at;
  expect((await open()).copies).toEqual([
    {
      orderId: "A-1",
      transactionId,
      amount: 9.99,
      currency: "EUR",
      possibleOrders: 2,
      transactionPublicIds: [],
      mayBeSent: false,
    },
  ]);
  await at.call("GET", `/gateway/transaction/${at.publicId()}`);
  expect((await open()).copies[0].transactionPublicIds).toEqual([at.publicId()]);
  const decision = { orderId: "A-1", note: "there once" };
  expect((await at.call("POST", "/gateway/copies", decision)).http).toBe(200);
  expect(await open()).toEqual(nothing);
});

test("the list is bounded, and for operators only", async () => {
  const at = await chargedAtGateway({ lost: "before-commit" });
  expect((await at.call("GET", "/gateway/open", undefined, at.kiosk)).http).toBe(403);
  for (const limit of ["0", "201", "x"]) {
    expect([limit, (await at.call("GET", `/gateway/open?limit=${limit}`)).http]).toEqual([
      limit,
      400,
    ]);
  }
  expect(at.rig.operationStore.open(1).more).toBe(false);
  await at.stopSupervisor();
  expect((await at.call("GET", "/gateway/open")).http).toBe(503);
});
