import { describe, expect, onTestFinished, test } from "vitest";
import { createLogger } from "../../../src/shared/logger.ts";
import { systemClock } from "../../../src/shared/time.ts";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { FailureDelay } from "../../../src/tp-manager/http/failure-delay.ts";
import { type House, house } from "../../support/payment-house.ts";
import { report } from "../../support/reports.ts";
import { approves } from "../../support/scripted-terminal.ts";
import { careForTest } from "./care-for-test.ts";
import { withoutSupervisor } from "./no-supervisor.ts";
import { monitorOf } from "./rig.ts";
import { createWatchedApi } from "./watched-api.ts";

const authorization = `Basic ${Buffer.from("kiosk:secret").toString("base64")}`;
const headers = { host: "localhost:8765", authorization };

async function api(change: Partial<ApiOptions> = {}, at: House = house()) {
  const app = await createWatchedApi({
    port: 8765,
    kiosk: { login: "kiosk", password: "secret" },
    operator: undefined,
    allowedOrigins: [],
    failures: new FailureDelay(systemClock),
    acts: at.journal.acts,
    seen: at.journal.seen,
    care: careForTest(),
    defaultCurrency: "EUR",
    orders: at.orders,
    days: at.journal.days,
    desk: at.desk,
    afterSale: at.afterSale,
    settle: at.settle,
    refused: at.refused,
    ...withoutSupervisor(at),
    monitor: monitorOf(at),
    clock: systemClock,
    log: createLogger({ program: "test", level: "error" }),
    requestStop: () => {},
    ...change,
  });
  onTestFinished(() => app.close());
  const call = async (
    method: "GET" | "POST" | "OPTIONS" | "PUT",
    url: string,
    more: { headers?: Record<string, string>; payload?: string | object } = {},
  ) => {
    const response = await app.inject({
      method,
      url,
      ...more,
      headers: { ...headers, ...more.headers },
    });
    const body = response.body === "" ? undefined : response.json();
    return { http: response.statusCode, headers: response.headers, body, one: body?.[0] };
  };
  const post = (payload: object | string) =>
    call("POST", "/payment", { payload, headers: { "content-type": "application/json" } });
  return { app, at, call, post };
}

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

  test("works at / too, makes an order id when there is none, and takes the currency", async () => {
    const { call, at } = await api({ defaultCurrency: "CHF" });
    const { one } = await call("POST", "/", { payload: { amount: 1 } });
    expect(one).toMatchObject({ currency: "CHF", amount: 1 });
    expect(one.orderId).toMatch(/^[0-9a-f-]{36}$/);
    expect(at.terminal.paid).toMatchObject([{ amountMinor: 100, currencyNumeric: "756" }]);
  });

  test("names a generated order whose end could not be stored", async () => {
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
    const { headers: seen, one } = await post({ amount: 1.0, orderId: "A-1" });
    expect(seen["idempotent-replay"]).toBe("true");
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

  test("refuses card numbers wherever they are, and article numbers only elsewhere", async () => {
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

  test("refuses what is not JSON, not an object, too large or of another type", async () => {
    const { post, call } = await api();
    for (const payload of ["{", "[]", '"x"', "1", '{"amount":1,"__proto__":{}}', ""]) {
      expect((await post(payload)).one.error.code).toBe("BODY_NOT_JSON");
    }
    expect((await post({ amount: 1, customData: { a: "x".repeat(70_000) } })).http).toBe(413);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await call("POST", "/payment", { payload: "a=1", headers: form })).http).toBe(415);
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
  test("tells an order with its attempts and their events", async () => {
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

describe("GET /payments", () => {
  test("lists attempts newest first, by status, in pages", async () => {
    const { post, call, at } = await api();
    for (const orderId of ["A-1", "A-2", "A-3"]) await post({ amount: 1, orderId });
    at.terminal.script = () =>
      Promise.resolve({ end: "refused", code: "83", text: "not possible" });
    await post({ amount: 1, orderId: "A-4" });
    const ids = async (query: string) => {
      const { body, headers } = await call("GET", `/payments${query}`);
      const orders = body.map(({ orderId }: { orderId: string }) => orderId);
      return { orders, next: headers["next-cursor"] };
    };
    expect(await ids("")).toEqual({ orders: ["A-4", "A-3", "A-2", "A-1"], next: undefined });
    expect((await ids("?status=Failed")).orders).toEqual(["A-4"]);
    const first = await ids("?status=Success&limit=2");
    expect(first.orders).toEqual(["A-3", "A-2"]);
    expect((await ids(`?status=Success&cursor=${first.next}`)).orders).toEqual(["A-1"]);
    expect((await ids("?since=2100-01-01T00:00:00Z")).orders).toEqual([]);
  });

  test("names what it does not understand", async () => {
    const { call } = await api();
    for (const query of [
      "cursor=archive-x",
      "status=success",
      "limit=0",
      "limit=501",
      "since=x",
      "cursor=-1",
      "x=1",
    ]) {
      const { http, one } = await call("GET", `/payments?${query}`);
      expect([query, http, one.error.code]).toEqual([query, 400, "REQUEST_INVALID"]);
    }
  });
});

describe("GET /unexpected-reports", () => {
  test("lists what no order asked for, masked, and what became of it", async () => {
    const { call, at } = await api();
    at.start();
    at.terminal.last = { kind: "transaction", report: report() };
    at.terminal.tell({ type: "unexpected-report", report: report() });
    const health = await call("GET", "/health");
    expect(health.one.reasons).toEqual([
      "the terminal reported a sale without an order and is asked",
    ]);
    await at.clock.advance(15_000);
    const { http, body } = await call("GET", "/unexpected-reports");
    expect([http, body]).toMatchObject([
      200,
      [{ finding: "held", receiptNumber: "0002", amountMinor: 999, currency: "EUR" }],
    ]);
    expect(body[0].maskedPan).toBe("541333XXXXXX4444");
  });
});

describe("maintenance", () => {
  test("/version joins number, type and system with hyphens", async () => {
    const { one } = (await (await api()).call("GET", "/version")) as {
      one: Record<string, string>;
    };
    expect(one["version"]).toBe(`0.1.0-tpa-${one["os"]}`);
    expect(one["type"]).toBe("tpa");
  });

  test("/config tells the terminal's identity beside the version", async () => {
    const { one } = await (await api()).call("GET", "/config");
    expect(one).toMatchObject({
      serialNumber: "SN-1",
      deviceId: "test terminal",
      terminalId: "52500001",
      terminalVersion: "1.0",
      version: `0.1.0-tpa-${one["os"]}`,
      type: "tpa",
    });
  });

  test("/check asks the terminal, and does not while a payment runs", async () => {
    const { call, at } = await api();
    expect((await call("GET", "/check")).one).toMatchObject({
      cr: "0",
      card: "0",
      call: "0",
      periph: "0",
    });
    expect(at.terminal.checks).toBe(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    at.terminal.script = async (order, observer) => {
      await promise;
      return approves(order, observer);
    };
    const attempt = call("POST", "/", { payload: { amount: 1 } });
    await expect.poll(() => at.desk.turn.current).toBeDefined();
    expect((await call("GET", "/check")).one.cr).toBe("1");
    expect(at.terminal.checks).toBe(1);
    resolve();
    await attempt;
  });

  test("/cancel says that nothing runs, by GET and by POST", async () => {
    const { call } = await api();
    for (const method of ["GET", "POST"] as const) {
      const { http, one } = await call(method, "/cancel");
      expect([http, one.error.code]).toEqual([409, "NOTHING_TO_CANCEL"]);
    }
  });

  test("/stop answers at once and payments are refused from then on", async () => {
    const stops: string[] = [];
    const { call, post } = await api({ requestStop: (why) => stops.push(why) });
    expect((await call("GET", "/stop")).one).toMatchObject({ status: "Success", stopped: true });
    expect((await post({ amount: 1 })).one.error.code).toBe("STOPPING");
    await expect.poll(() => stops).toEqual(["/stop"]);
  });

  test("a wrong method gets 405 with what is allowed, a wrong path 404", async () => {
    const { call } = await api();
    const wrong = await call("GET", "/payment");
    expect([wrong.http, wrong.headers["allow"]]).toEqual([405, "POST"]);
    expect((await call("GET", "/nothing")).one.error.code).toBe("NOT_FOUND");
  });
});

describe("who gets in", () => {
  test("nobody without the right pair, and 401 names the scheme", async () => {
    const { app } = await api();
    for (const given of [
      undefined,
      "",
      "Bearer x",
      "Basic",
      "Basic ???",
      `Basic ${btoa("kiosk:wrong")}`,
      `Basic ${btoa("other:secret")}`,
      `Basic ${btoa("kiosk")}`,
    ]) {
      const response = await app.inject({
        url: "/version",
        headers: { host: headers.host, ...(given === undefined ? {} : { authorization: given }) },
      });
      expect([given, response.statusCode]).toEqual([given, 401]);
      expect(response.headers["www-authenticate"]).toMatch(/^Basic/);
      expect(response.json()[0].error.code).toBe("UNAUTHORIZED");
    }
  });

  test("no host name but this machine's, before any authentication", async () => {
    const { call } = await api();
    for (const host of [
      "evil.test",
      "evil.test:8765",
      "localhost:1",
      "localhost",
      "127.0.0.2:8765",
    ]) {
      expect([host, (await call("GET", "/version", { headers: { host } })).http]).toEqual([
        host,
        403,
      ]);
    }
    for (const host of ["127.0.0.1:8765", "[::1]:8765", "LOCALHOST:8765"]) {
      expect((await call("GET", "/version", { headers: { host } })).http).toBe(200);
    }
  });

  test("no page of another origin, other ports of localhost included", async () => {
    const { call, at } = await api();
    for (const seen of [
      { origin: "https://evil.test" },
      { origin: "http://localhost:3000" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      const given = { headers: seen as Record<string, string>, payload: { amount: 1 } };
      expect((await call("POST", "/payment", given)).one.error.code).toBe("ORIGIN_REFUSED");
    }
    expect(at.terminal.paid).toEqual([]);
  });

  test("the address bar may read; what acts, and what is fetched ahead, needs more", async () => {
    const { call, at } = await api();
    const typed = { headers: { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" } };
    for (const path of ["/stop", "/%73top", "/stop?now", "/cancel", "/reset", "/tlc"]) {
      const { http, one } = await call("GET", path, typed);
      expect([path, http, one.error.code]).toEqual([path, 403, "ORIGIN_REFUSED"]);
    }
    for (const path of ["/version", "/check", "/health", "/payments"]) {
      expect([path, (await call("GET", path, typed)).http]).toEqual([path, 200]);
      const ahead = { headers: { ...typed.headers, "sec-purpose": "prefetch" } };
      expect([path, (await call("GET", path, ahead)).http]).toEqual([path, 403]);
    }
    expect(at.desk.turn.closed).toBe(false);
  });

  test("a listed origin, with correct preflights; others get none", async () => {
    const origin = "http://localhost:3000";
    const { call } = await api({ allowedOrigins: [origin] });
    const ask = { origin, "access-control-request-method": "POST", authorization: "" };
    const preflight = await call("OPTIONS", "/payment", { headers: ask });
    expect(preflight.http).toBe(204);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "authorization, content-type, last-event-id",
    });
    const used = await call("GET", "/version", { headers: { origin } });
    expect([used.http, used.headers["access-control-allow-origin"]]).toEqual([200, origin]);
    const other = await call("OPTIONS", "/payment", {
      headers: { ...ask, origin: "http://a.test" },
    });
    expect([other.http, other.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });

  test("with an operator's pair the kiosk's pair may not stop", async () => {
    const { call } = await api({ operator: { login: "op", password: "op-secret" } });
    expect((await call("GET", "/stop")).one.error.code).toBe("OPERATOR_REQUIRED");
    const operator = { authorization: `Basic ${btoa("op:op-secret")}` };
    expect((await call("GET", "/stop", { headers: operator })).http).toBe(200);
  });
});
