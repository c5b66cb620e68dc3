import { describe, expect, test } from "vitest";
import { pay, request } from "../../support/house/payment-house.ts";
import { chargedAtGateway, stateOf } from "./charged-at-gateway.ts";

/** The gateway took the order, its answer was lost, and it was sent again. */
async function twice() {
  const at = await chargedAtGateway({ lost: "after-commit" });
  const ids = at.sandbox.orders().map(({ transactionPublicId }) => transactionPublicId);
  expect(ids).toHaveLength(2);
  const status = async () => (await at.call("GET", "/payment/A-1")).one.status;
  const refund = (id: string | undefined, amount?: number) =>
    at.call("POST", "/gateway/refund", { transactionPublicId: id, amount: amount ?? null });
  return { ...at, ids, status, refund };
}

describe("an order that the gateway has twice", () => {
  test("stays charged when one of the two is refunded, reversed with the other", async () => {
    const at = await twice();
    expect((await at.refund(at.ids[1])).http).toBe(200);
    expect(await at.status()).toBe("Success");
    expect((await pay(at.at, request("A-1"))).replayed).toBe(true);
    const listed = await at.call("GET", "/payments?status=Reversed");
    expect(listed.body).toEqual([]);
    expect((await at.refund(at.ids[0])).http).toBe(200);
    expect(await at.status()).toBe("Reversed");
    expect(stateOf(at)).toEqual([
      ["refunded", "9.99"],
      ["refunded", "9.99"],
    ]);
  });

  test("is answered as perhaps there twice until the gateway has named both of them", async () => {
    const at = await twice();
    const warnings = async () => (await at.call("GET", "/payment/A-1")).one.warnings;
    expect(await warnings()).toEqual([expect.stringContaining("may have this order 2 times")]);
    expect(at.rig.admin.uncertain()).toEqual({ sends: 1, inDoubt: 0, possibleCopies: 1 });
    await at.call("GET", `/gateway/transaction/${at.ids[0]}`);
    expect(at.rig.alarms()).not.toContain("gateway-order-twice");
    await at.call("GET", `/gateway/transaction/${at.ids[1]}`);
    expect(at.rig.alarms()).toContain("gateway-order-twice");
    expect(await warnings()).toEqual([]);
    expect(at.rig.admin.uncertain().possibleCopies).toBe(0);
  });

  test("also when the gateway had named both of them before", async () => {
    const at = await twice();
    for (const id of at.ids) await at.call("GET", `/gateway/transaction/${id}`);
    await at.refund(at.ids[0]);
    expect(await at.status()).toBe("Success");
  });

  test("is not reversed at the terminal when one of the two went back", async () => {
    const at = await twice();
    await at.refund(at.ids[1]);
    await at.stopSupervisor();
    const { http, one } = await at.call("POST", "/reversal", { orderId: "A-1" });
    expect([http, one.error.code]).toEqual([409, "REVERSAL_REFUSED"]);
    expect(at.at.terminal.reversed).toEqual([]);
  });

  test("is returned as far as both are", async () => {
    const at = await twice();
    await at.refund(at.ids[1], 4);
    await at.refund(at.ids[0]);
    expect(await at.status()).toBe("Success");
    const tooMuch = await at.refund(at.ids[1], 6);
    expect([tooMuch.http, tooMuch.one.error.code]).toEqual([400, "REQUEST_INVALID"]);
    expect((await at.refund(at.ids[1])).one.amount).toBe(5.99);
    expect(await at.status()).toBe("Reversed");
  });

  test("is shown as returned in part while one of the two stands", async () => {
    const at = await twice();
    for (const id of at.ids) await at.call("GET", `/gateway/transaction/${id}`);
    await at.refund(at.ids[1]);
    const { one } = await at.call("GET", "/payment/A-1");
    expect(one.gateway.state).toBe("partly-refunded");
  });

  test("is found out as twice when one of the two is asked to go back", async () => {
    const at = await twice();
    await at.refund(at.ids[1]);
    expect(at.rig.alarms()).toContain("gateway-order-twice");
  });

  test("stays charged when the lost answer of one refund is found again", async () => {
    const at = await twice();
    at.sandbox.addFault({ kind: "reset-after-commit", times: 1, operation: "card" });
    await at.refund(at.ids[1]);
    expect(at.at.journal.returns.openReturns()).toHaveLength(1);
    await at.call("GET", `/gateway/transaction/${at.ids[1]}`);
    expect(await at.status()).toBe("Success");
    expect(at.at.journal.returns.openReturns()).toEqual([]);
  });
});

test("an order that was sent again after a lost answer may stand a second time", async () => {
  const at = await chargedAtGateway({ lost: "before-commit" });
  const [order, ...others] = at.sandbox.orders();
  expect(others).toEqual([]);
  const target = { transactionPublicId: order?.transactionPublicId };
  expect((await at.call("POST", "/gateway/refund", target)).http).toBe(200);
  expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Success");
  expect(at.rig.alarms()).toContain("gateway-order-twice");
  const again = await at.call("POST", "/gateway/refund", target);
  expect([again.http, again.one.error.code]).toEqual([400, "REQUEST_INVALID"]);
});

describe("an operator who found the order at the gateway once", () => {
  const settle = (at: Awaited<ReturnType<typeof chargedAtGateway>>) =>
    at.call("POST", "/gateway/copies", { orderId: "A-1", note: "one in the merchant account" });

  test.each(["named", "not named"])("ends the warning, its transaction %s", async (how) => {
    const at = await chargedAtGateway({ lost: "before-commit" });
    if (how === "named") await at.call("GET", `/gateway/transaction/${at.publicId()}`);
    const warnings = async () => (await at.call("GET", "/payment/A-1")).one.warnings;
    expect(await warnings()).toEqual([expect.stringContaining("may have this order 2 times")]);
    const { http, one } = await settle(at);
    const transactionPublicIds = how === "named" ? [at.publicId()] : [];
    const done = { status: "Success", accepted: true, orderId: "A-1", transactionPublicIds };
    expect([http, one]).toEqual([200, done]);
    expect(await warnings()).toEqual([]);
    expect(at.rig.admin.uncertain().possibleCopies).toBe(0);
    expect((await settle(at)).one.error.code).toBe("NOTHING_TO_SETTLE");
    const target = { transactionPublicId: at.publicId() };
    expect((await at.call("POST", "/gateway/refund", target)).http).toBe(200);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
  });

  test("gets NOTHING_TO_SETTLE before there may be a copy", async () => {
    const at = await chargedAtGateway();
    expect((await settle(at)).one.error.code).toBe("NOTHING_TO_SETTLE");
    const unknown = { orderId: "B-1", note: "x" };
    const { one } = await at.call("POST", "/gateway/copies", unknown);
    expect(one.error.code).toBe("ORDER_NOT_FOUND");
  });

  test("and all of it had gone back: the order is reversed", async () => {
    const at = await chargedAtGateway({ lost: "before-commit" });
    await at.call("POST", "/gateway/refund", { transactionPublicId: at.publicId() });
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Success");
    expect((await settle(at)).http).toBe(200);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
  });
});

describe("an operator who found no other transaction at the gateway", () => {
  const decision = (id: string | undefined, happened = true) => ({
    transactionPublicId: id,
    happened,
    note: "only one in the merchant account",
  });

  test("settles that all of the order went back", async () => {
    const at = await chargedAtGateway({ lost: "before-commit" });
    const id = at.publicId();
    const settle = (happened: boolean) =>
      at.call("POST", "/gateway/settle", decision(id, happened));
    await at.call("GET", `/gateway/transaction/${id}`);
    expect((await settle(true)).one.error.code).toBe("NOTHING_TO_SETTLE");
    await at.call("POST", "/gateway/refund", { transactionPublicId: id });
    expect((await settle(false)).one.error.code).toBe("NOTHING_TO_SETTLE");
    const { http, one } = await settle(true);
    expect([http, one.state]).toEqual([200, "done"]);
    expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
    expect((await settle(true)).one.error.code).toBe("NOTHING_TO_SETTLE");
  });

  test("is not believed while another one is known to stand", async () => {
    const at = await twice();
    for (const id of at.ids) await at.call("GET", `/gateway/transaction/${id}`);
    await at.refund(at.ids[1]);
    const { one } = await at.call("POST", "/gateway/settle", decision(at.ids[1]));
    expect(one.error.code).toBe("NOTHING_TO_SETTLE");
    expect(await at.status()).toBe("Success");
  });
});

test("a lookup by the order id needs the gateway's id once, and names both of two", async () => {
  const at = await twice();
  const read = (id: string | undefined) => at.call("GET", `/gateway/transaction/${id}`);
  const early = await read("A-1");
  expect([early.http, early.one.error.code]).toEqual([409, "GATEWAY_ID_UNKNOWN"]);
  await read(at.ids[0]);
  const known = await read("A-1");
  expect([known.http, known.one.merchant_order_id]).toEqual([200, "A-1"]);
  await read(at.ids[1]);
  const both = await read("A-1");
  expect(both.one.error.details.transactionPublicIds).toEqual(expect.arrayContaining(at.ids));
  expect((await read("no-such-order")).http).toBe(400);
});

test("an order in the archive that is refunded here is reversed", async () => {
  const at = await chargedAtGateway();
  at.at.journal.handOffs.noteAccepted(at.transactionId, "pending", at.at.clock.now());
  at.at.journal.handOffs.setDelivery(at.transactionId, "sent", at.at.clock.now());
  at.at.journal.archive.putAway(at.at.clock.now() + 1, 100);
  const target = { transactionPublicId: at.publicId() };
  expect((await at.call("POST", "/gateway/refund", target)).http).toBe(200);
  expect((await at.call("GET", "/payment/A-1")).one.status).toBe("Reversed");
  await expect(pay(at.at, request("A-1"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
  const again = await at.call("POST", "/gateway/refund", target);
  expect([again.http, again.one.error.code]).toEqual([409, "ORDER_REVERSED"]);
});
