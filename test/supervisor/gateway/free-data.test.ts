import { XMLValidator } from "fast-xml-parser";
import { expect, test } from "vitest";
import type { Transaction } from "../../../src/shared/transaction.ts";
import { orderRequestOf } from "../../../src/supervisor/gateway/order-request.ts";
import { gatewaySettings } from "../gateway-settings.ts";
import { fullTransaction, MASKED_PAN, sampleTransaction } from "../sample-transaction.ts";

const settings = gatewaySettings("https://gateway.example");

/** The items of a transaction's order request, and what was changed to make them. */
function freeDataOf(transaction: Transaction) {
  const { parameters, notes } = orderRequestOf(transaction, settings);
  return { items: parameters?.freeData.item ?? [], notes };
}

const itemsOf = (given: Parameters<typeof sampleTransaction>[0]) => {
  const { items } = freeDataOf(sampleTransaction(given));
  return Object.fromEntries(items.map(({ key, value }) => [key, value]));
};

test("an empty transaction sends its transaction id alone", () => {
  const transaction = sampleTransaction();
  expect(freeDataOf(transaction)).toEqual({
    items: [{ key: "transactionId", value: transaction.transactionId }],
    notes: [],
  });
});

test("a full transaction sends card, terminal, custom data and cart, each as an item", () => {
  const transaction = fullTransaction();
  expect(freeDataOf(transaction).items).toEqual([
    { key: "transactionId", value: transaction.transactionId },
    { key: "maskedPan", value: MASKED_PAN },
    { key: "authorisationNumber", value: "136967" },
    { key: "terminalId", value: "29001234" },
    { key: "receiptNumber", value: "0042" },
    { key: "cardName", value: "VISA" },
    { key: "custom_machine", value: "north & <south>" },
    { key: "custom_cold", value: "true" },
    { key: "customData", value: '{"slot number":7}' },
    { key: "cart", value: JSON.stringify(transaction.cart) },
  ]);
});

test("custom keys cannot take the place of our own items", () => {
  const items = itemsOf({
    customData: { transactionId: "x", cart: "y", customData: "z", custom_cart: "w" },
  });
  expect(items).toMatchObject({
    custom_transactionId: "x",
    custom_cart: "y",
    custom_customData: "z",
    custom_custom_cart: "w",
  });
  expect(items["transactionId"]).not.toBe("x");
  expect(items).not.toHaveProperty("cart");
});

test.each(["a", "_a", "a.b-c_1", "prénom", "名前"])("%s is a key of its own", (key) => {
  expect(itemsOf({ customData: { [key]: 1 } })).toMatchObject({ [`custom_${key}`]: "1" });
  // In notifications the key becomes an element name (docs/gateway.md 3.1).
  expect(XMLValidator.validate(`<_aKey_custom_${key}/>`)).toBe(true);
});

test.each(["", "1a", "a b", "a:b", "<a>", "a\u0000", "-a", "é×", "😀 "])(
  "%j is no XML name and travels in the JSON item",
  (key) => {
    const items = itemsOf({ customData: { [key]: "v", good: true } });
    expect(JSON.parse(items["customData"] ?? "")).toEqual({ [key]: "v" });
    expect(items).toHaveProperty("custom_good", "true");
  },
);

test("values are text: numbers and booleans as JSON writes them", () => {
  expect(itemsOf({ customData: { a: 0.1, b: false, c: "", d: -0 } })).toMatchObject({
    custom_a: "0.1",
    custom_b: "false",
    custom_c: "",
    custom_d: "0",
  });
});

test("characters that XML cannot carry are replaced and noted", () => {
  const transaction = sampleTransaction({ customData: { a: "x\u0000y" } });
  const { items, notes } = freeDataOf(transaction);
  expect(items.at(-1)).toEqual({ key: "custom_a", value: "x\uFFFDy" });
  expect(notes).toEqual(["free data custom_a: characters that XML cannot carry replaced"]);
});
