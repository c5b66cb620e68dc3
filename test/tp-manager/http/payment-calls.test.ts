import { describe, expect, test } from "vitest";
import { approves } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

describe("POST /payment", () => {
  test("answers an array with one object, as docs/design.md 12.6 shows it", async () => {
    const { post } = await api();
    const sent = {
      amount: 9.99,
      orderId: "A-1",
      currency: "EUR",
      basket: {
        european_article_numbering: 4711892728946,
        type: "good",
        quantity: 1,
        name: "Ticket",
        unit_price: 9.99,
        tax_rate: 0,
        discount: 0,
        total_amount: 9.99,
      },
      customer: { id: 1, firstname: "Ada", lastName: "L", email: "ada@example.test" },
      customData: { shop: "1", vip: true, number: 42, ratio: 0.5 },
    };
    const { http, body, one } = await post(sent);
    expect([http, body.length]).toEqual([200, 1]);
    expect(one).toMatchObject({ ...sent, status: "Success", error: null, warnings: [] });
    expect(one.notificationGatewaySent).toBe(true);
    expect(Object.keys(one.receipt)).toHaveLength(32);
    expect(Object.values(one.receipt).every((value) => typeof value === "string")).toBe(true);
  });

  test.each([".", ".."])("pays the order %s, which no path can name, at once", async (orderId) => {
    const { call } = await api();
    const body = { amount: 9.99, orderId };
    const { http, one } = await call("POST", "/payment", body, { prefer: "respond-async" });
    expect([http, one.status, one.orderId]).toEqual([200, "Success", orderId]);
  });

  test("works at / too, makes a missing order id, and uses the default currency", async () => {
    const { call, at } = await api({ defaultCurrency: "CHF" });
    const { one } = await call("POST", "/", { amount: 1 });
    expect(one).toMatchObject({ currency: "CHF", amount: 1 });
    expect(one.orderId).toMatch(/^[0-9a-f-]{36}$/);
    expect(at.terminal.paid).toMatchObject([{ amountMinor: 100, currencyNumeric: "756" }]);
  });

  test("names a generated order id when the outcome could not be stored", async () => {
    const { post, call, at } = await api();
    at.terminal.script = (order, observer) => {
      const ending = approves(order, observer);
      at.close();
      return ending;
    };
    const { http, one } = await post({ amount: 9.99 });
    expect([http, one.status, one.error.code]).toEqual([503, "Unknown", "STORAGE_FAILED"]);
    expect(one.orderId).toMatch(/^[0-9a-f-]{36}$/);
    const again = await call("GET", `/payment/${one.orderId}`);
    expect(again.one.error).toMatchObject({ code: "STORAGE_FAILED", charged: "unknown" });
  });

  test("marks a replay in header and body", async () => {
    const { post } = await api();
    await post({ amount: 1, orderId: "A-1" });
    const { headers: replied, one } = await post({ amount: 1.0, orderId: "A-1" });
    expect(replied["idempotent-replay"]).toBe("true");
    expect(one).toMatchObject({ status: "Success", replayed: true });
    expect(Date.parse(one.answeredAt)).not.toBeNaN();
  });

  test("forwards an empty cart with a warning when the basket does not add up", async () => {
    const { post, at } = await api();
    const basket = { type: "good", quantity: 1, unit_price: 8.99, total_amount: 8.99 };
    const { one } = await post({ amount: 100, orderId: "A-1", basket });
    expect(one).toMatchObject({ status: "Success", basket });
    expect(one.warnings[0]).toMatch(/add up/);
    expect(at.supervisor.stored[0]?.cart).toEqual([]);
  });

  const bad: Array<[string, object, string]> = [
    ["no amount", { orderId: "A" }, "amount"],
    ["an amount as text", { amount: "9.99" }, "amount"],
    ["zero", { amount: 0 }, "amount"],
    ["a negative amount", { amount: -1 }, "amount"],
    ["more decimals than the euro has", { amount: 9.999 }, "amount"],
    ["an amount above eight digits", { amount: 1000000 }, "amount"],
    ["decimals in yen", { amount: 1.5, currency: "JPY" }, "amount"],
    ["an unknown currency", { amount: 1, currency: "EURO" }, "currency"],
    ["an order id of 65 characters", { amount: 1, orderId: "x".repeat(65) }, "orderId"],
    ["an empty order id", { amount: 1, orderId: "" }, "orderId"],
    ["an order id as number", { amount: 1, orderId: 5 }, "orderId"],
    ["a line feed in the order id", { amount: 1, orderId: "a\nb" }, "orderId"],
    ["an unknown field", { amount: 1, orderID: "A" }, "orderID"],
    ["nested custom data", { amount: 1, customData: { a: { b: 1 } } }, "customData.a"],
    ["null in custom data", { amount: 1, customData: { a: null } }, "customData.a"],
    ["a customer that is a list", { amount: 1, customer: [] }, "customer"],
    ["an e-mail address that is none", { amount: 1, customer: { email: "x" } }, "customer.email"],
  ];
  test.each(bad)("refuses %s and names the field", async (_name, payload, field) => {
    const { post, at } = await api();
    const { http, one } = await post(payload);
    expect(http).toBe(400);
    expect(one).toMatchObject({ status: "Failed", error: { code: "REQUEST_INVALID" } });
    expect(one.error.charged).toBe("no");
    expect(one.error.details.faults.map((fault: { field: string }) => fault.field)).toContain(
      field,
    );
    expect(at.terminal.paid).toEqual([]);
  });

  test("names every fault at once", async () => {
    const { post } = await api();
    const { one } = await post({ amount: "x", orderId: 1, currency: 2, extra: 3 });
    expect(one.error.details.faults).toHaveLength(4);
  });

  test("refuses a card number in every member", async () => {
    const { post, at } = await api();
    const pan = "4111 1111 1111 1111";
    for (const payload of [
      { amount: 1, orderId: pan },
      { amount: 1, customData: { note: `card ${pan}` } },
      { amount: 1, customData: { [pan]: 1 } },
      { amount: 1, customData: { n: 4111111111111111 } },
      { amount: 1, customer: { firstname: pan } },
      { amount: 1, basket: { name: pan } },
    ]) {
      const { http, one } = await post(payload);
      expect([http, one.error.code]).toEqual([400, "CARD_DATA_REFUSED"]);
      expect(JSON.stringify(one)).not.toContain("1111 1111");
    }
    expect(at.terminal.paid).toEqual([]);
  });

  test("refuses a body that is not JSON, no object, too large or of another type", async () => {
    const { post, call } = await api();
    for (const payload of ["{", "[]", '"x"', "1", '{"amount":1,"__proto__":{}}', ""]) {
      expect((await post(payload)).one.error.code).toBe("BODY_NOT_JSON");
    }
    expect((await post({ amount: 1, customData: { a: "x".repeat(70_000) } })).http).toBe(413);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await call("POST", "/payment", "a=1", form)).http).toBe(415);
    expect((await call("POST", "/payment")).one.error.code).toBe("BODY_NOT_JSON");
  });

  test("refuses numbers that would change when they are echoed", async () => {
    const { post } = await api();
    const { one } = await post('{"amount":1,"customer":{"id":9007199254740993}}');
    expect(one.error).toMatchObject({
      code: "REQUEST_INVALID",
      message: "the number 9007199254740993 is too large",
    });
    expect((await post('{"amount":1e999}')).one.error.message).toBe(
      "the number 1e999 is too large",
    );
  });
});

describe("GET /payment/{orderId}", () => {
  test("answers an order with its attempts and their events", async () => {
    const { post, call } = await api();
    await post({ amount: 9.99, orderId: "Ord/1 ä" });
    const { http, one } = await call("GET", `/payment/${encodeURIComponent("Ord/1 ä")}`);
    expect(http).toBe(200);
    expect(one).toMatchObject({ status: "Success", notificationGatewaySent: true });
    expect(one.attempts).toMatchObject([{ number: 1, status: "Success" }]);
    expect(one.attempts[0].events.map(({ kind }: { kind: string }) => kind)).toEqual([
      "report",
      "acknowledged",
      "end-completed",
    ]);
  });

  test("answers 404 for an order that was never asked for", async () => {
    const { call } = await api();
    const { http, one } = await call("GET", "/payment/A-1");
    expect([http, one.error.code]).toEqual([404, "ORDER_NOT_FOUND"]);
  });
});
