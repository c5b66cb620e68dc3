import { expect, test } from "vitest";
import { orderRequestOf } from "../../../src/supervisor/gateway/order-request.ts";
import { gatewaySettings } from "../gateway-settings.ts";
import { fullTransaction, sampleTransaction } from "../sample-transaction.ts";

const settings = gatewaySettings("https://gateway.example", {
  GATEWAY_RATING: "+18",
  GATEWAY_LOCALE: "fr_FR",
  GATEWAY_CUSTOMER_IP: "192.0.2.10",
});

const parametersOf = (given: Parameters<typeof sampleTransaction>[0]) =>
  orderRequestOf(sampleTransaction(given), settings).parameters;

test("a full transaction becomes the order request of docs/design.md 12.10", () => {
  const { parameters, notes, problems } = orderRequestOf(fullTransaction(), settings);
  expect(parameters).toMatchObject({
    wsLogin: "login",
    wsPassword: "password",
    websiteId: "107",
    categoryId: "5",
    currency: "EUR",
    amount: "8.99",
    rating: "+18",
    locale: "fr_FR",
    customerIpAddress: "192.0.2.10",
    executionDate: "2026-01-15T11:59:58",
    manualCapture: "0",
    description: "Order Order_12345",
    customerEmail: "ada@shop.example",
    urlCallback: "https://shop.example/notify",
    merchantReference: "Order_12345",
  });
  expect([notes, problems]).toEqual([[], []]);
});

test.each([
  [1, 2, "0.01"],
  [100, 2, "1.00"],
  [70_000_029, 2, "700000.29"],
  [100, 0, "100"],
  [1_005, 3, "1.005"],
  [9_007_199_254_740_991, 2, "90071992547409.91"],
])("%i minor units with %i decimals are %s", (amountMinor, exponent, amount) => {
  expect(parametersOf({ amountMinor, exponent })).toMatchObject({ amount });
});

test("the execution date is the approval in UTC, without fractions", () => {
  const approvedAtMs = Date.parse("2026-07-01T00:30:00.999+02:00");
  expect(parametersOf({ approvedAtMs })).toMatchObject({ executionDate: "2026-06-30T22:30:00" });
});

test("a time that no calendar has is refused", () => {
  for (const approvedAtMs of [Number.MAX_SAFE_INTEGER, 253_402_300_800_000]) {
    const request = orderRequestOf(sampleTransaction({ approvedAtMs }), settings);
    expect(request.problems).toEqual(["executionDate is missing"]);
  }
});

test("the longest order id fits description and reference", () => {
  const orderId = "ü".repeat(64);
  const { parameters, notes } = orderRequestOf(sampleTransaction({ orderId }), settings);
  expect(parameters).toMatchObject({ merchantReference: orderId, description: `Order ${orderId}` });
  expect(notes).toEqual([]);
});

test("an e-mail of 32 characters is sent, one of 33 is left out with a note", () => {
  const longest = `${"a".repeat(19)}@shop.example`;
  expect(longest).toHaveLength(32);
  expect(parametersOf({ customerEmail: longest })).toMatchObject({ customerEmail: longest });
  const { parameters, notes } = orderRequestOf(
    sampleTransaction({ customerEmail: `a${longest}` }),
    settings,
  );
  expect(parameters).not.toHaveProperty("customerEmail");
  expect(notes).toEqual(["customerEmail has 33 characters, 32 are allowed: left out"]);
});

test.each(["ada", "ada@shop", "@shop.example", "a b@shop.example", "a@b@c.example", "a@b."])(
  "%s is no e-mail address and is left out with a note",
  (customerEmail) => {
    const { parameters, notes } = orderRequestOf(sampleTransaction({ customerEmail }), settings);
    expect(parameters).not.toHaveProperty("customerEmail");
    expect(notes).toEqual(["customerEmail does not look like an address: left out"]);
  },
);

test("an order id that XML cannot carry is refused: the reference must stay what it is", () => {
  const request = orderRequestOf(sampleTransaction({ orderId: "a\u0000b" }), settings);
  expect(request.parameters).toBeNull();
  expect(request.problems[0]).toMatch(/^merchantReference has characters/);
});
