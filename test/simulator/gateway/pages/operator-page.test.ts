import { expect, test } from "vitest";
import { merchantForTest } from "../merchant-for-test.ts";
import { eventually, generate, sandboxForTest } from "../sandbox-for-test.ts";

interface Buttons {
  readonly [action: string]: string;
}

/** The forms of the page by the last part of their address. */
function buttonsOf(page: string): Buttons {
  const found = [...page.matchAll(/<form method="post" action="([^"]*\/([a-z]+))">/g)];
  return Object.fromEntries(found.map(([, address = "", action = ""]) => [action, address]));
}

test("the page lists orders, operations and deliveries, and its buttons work", async () => {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest();
  await generate(sandbox, {
    manualCapture: "1",
    urlCallback: merchant.url,
    merchantReference: "&lt;b&gt;bold",
  });
  const page = async () => (await fetch(sandbox.url)).text();
  const press = async (action: string, amount = "") => {
    const address = buttonsOf(await page())[action] ?? "/missing";
    const response = await fetch(sandbox.url + address, {
      method: "POST",
      body: new URLSearchParams({ amount }),
      redirect: "manual",
    });
    expect([action, response.status, response.headers.get("location")]).toEqual([action, 303, "/"]);
    return sandbox.orders()[0]?.state;
  };
  expect(Object.keys(buttonsOf(await page()))).toEqual(["pay", "decline", "abort", "wait"]);
  expect(await press("wait")).toBe("waiting");
  expect(Object.keys(buttonsOf(await page()))).toEqual(["pay", "decline", "abort"]);
  expect(await press("pay")).toBe("authorized");
  expect(Object.keys(buttonsOf(await page()))).toEqual(["capture", "cancel"]);
  expect(await press("capture", "10")).toBe("captured");
  expect(await press("refund", "2.50")).toBe("captured");
  expect(await press("fraud")).toBe("captured");
  expect(await press("chargeback")).toBe("reversed");
  await eventually(() => merchant.received.length).toBe(4);
  await eventually(page).toMatch(/reject ok: delivered \(1\)/);
  const text = await page();
  expect(text).toContain("capture ok 10.00 (fraud)");
  expect(text).toContain("refund ok 2.50");
  expect(text).toContain("reject ok 7.50");
  expect(text.slice(text.indexOf('id="notifications"'))).toContain("&lt;b&gt;bold");
  expect(text).not.toContain("<b>bold");
});

test("the same requests are taken as JSON, and refused with a readable reason", async () => {
  const sandbox = await sandboxForTest();
  await generate(sandbox);
  const id = sandbox.orders()[0]?.transactionPublicId;
  const demand = (action: string, body?: string) =>
    fetch(`${sandbox.url}/sandbox/orders/${id}/${action}`, {
      method: "POST",
      ...(body !== undefined && { body }),
    });
  expect((await demand("capture")).status).toBe(409);
  expect(await (await demand("pay")).json()).toMatchObject({ state: "captured" });
  expect((await demand("refund", '{"amount":"20"}')).status).toBe(409);
  expect((await demand("refund", '{"amount":"x"}')).status).toBe(400);
  expect((await demand("refund", "[]")).status).toBe(400);
  expect(await (await demand("refund", '{"amount":"19.99"}')).json()).toMatchObject({
    state: "refunded",
  });
  expect((await demand("toString")).status).toBe(404);
  const details = await fetch(`${sandbox.url}/sandbox/orders/${id}`);
  expect(await details.json()).toMatchObject({
    state: "refunded",
    operations: [{ type: "authorization" }, { type: "capture" }, { type: "refund" }],
    notifications: [{ subject: "authorization ok" }, {}, {}],
  });
  expect((await fetch(`${sandbox.url}/sandbox/orders/none`)).status).toBe(404);
});
