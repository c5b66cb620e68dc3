import { describe, expect, test } from "vitest";
import { type AskedFor, disagreement } from "../../../src/supervisor/gateway/asked-for.ts";

const ID = "5CF62325CB217655";
const refund: AskedFor = {
  transactionPublicId: ID,
  amountMinor: 1000,
  currency: "EUR",
  exponent: 2,
  needed: ["transactionPublicId", "amount", "currency"],
};
const good = { transactionPublicId: ID, amount: "10.00", currency: "EUR" };
const fields = (given: Record<string, string | undefined>) =>
  new Map(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

describe("a refund's answer", () => {
  test.each(["10.00", "10", "10.0", "010.000", " 10.00 "])(
    "agrees with the amount %j",
    (amount) => {
      expect(disagreement(refund, fields({ ...good, amount }), true)).toBeNull();
    },
  );

  test.each([
    ["another amount", { amount: "1.00" }, "another amount: 1.00"],
    ["an amount a hundred times as large", { amount: "1000" }, "another amount: 1000"],
    ["an amount that is none", { amount: "ten" }, "another amount: ten"],
    ["a negative amount", { amount: "-10.00" }, "another amount: -10.00"],
    ["an amount with an exponent", { amount: "1e1" }, "another amount: 1e1"],
    ["no amount", { amount: undefined }, "no amount"],
    ["an empty amount", { amount: "" }, "no amount"],
    ["another currency", { currency: "CHF" }, "another currency: CHF"],
    ["no currency", { currency: undefined }, "no currency"],
    ["another id", { transactionPublicId: "5CF62325CB217656" }, "another transactionPublicId"],
    ["no id", { transactionPublicId: undefined }, "no transactionPublicId"],
  ])("with %s does not fit", (_what, change, text) => {
    expect(disagreement(refund, fields({ ...good, ...change }), true)).toContain(text);
  });

  test("has to name a sum above 0 where all of it was asked for", () => {
    const all = { ...refund, amountMinor: null };
    expect(disagreement(all, fields(good), true)).toBeNull();
    expect(disagreement(all, fields({ ...good, amount: "0.00" }), true)).toContain("amount");
    expect(disagreement(all, fields({ ...good, amount: "" }), true)).toContain("amount");
  });

  test("in a currency without decimals is compared as a number too", () => {
    const yen = { ...refund, amountMinor: 500, currency: "JPY", exponent: 0 };
    const answered = { ...good, amount: "500.0", currency: "jpy" };
    expect(disagreement(yen, fields(answered), true)).toBeNull();
  });
});

test("letter case of an id means nothing", () => {
  const answered = { ...good, transactionPublicId: ID.toLowerCase() };
  expect(disagreement(refund, fields(answered), true)).toBeNull();
});

test("a refusal needs no field, and may name a sum of its own, but no other transaction", () => {
  expect(disagreement(refund, fields({}), false)).toBeNull();
  expect(disagreement(refund, fields({ ...good, amount: "0" }), false)).toBeNull();
  const other = { ...good, transactionPublicId: "5CF62325CB217656" };
  expect(disagreement(refund, fields(other), false)).toContain("another transactionPublicId");
});

test("what was asked for without a field is not compared with it", () => {
  const nothing = { needed: [] } as const;
  expect(disagreement(nothing, fields({ ...good, merchantReference: "A" }), true)).toBeNull();
});
