import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { emptyReceipt } from "../../../src/shared/receipt.ts";
import { isActing, pathsOf } from "../../../src/tp-manager/http/call.ts";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { openApiFile } from "../../../src/tp-manager/http/calls/program-calls.ts";
import { report } from "../../support/terminals/reports.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";
import { document, faultsOf } from "./conformity.ts";
import { api } from "./rig.ts";

/** Points in which the OpenAPI document and the API once differed. */

const noProof = { receipt: emptyReceipt, ticket: "", notificationGatewaySent: false };
const pay = { amount: 9.99, orderId: "A-1" };

describe("a refusal of a payment has receipt, ticket and notificationGatewaySent", () => {
  const refused: ReadonlyArray<readonly [string, string, object | undefined, number, string]> = [
    ["POST", "/payment", { amount: "x" }, 400, "REQUEST_INVALID"],
    ["POST", "/payment", { ...pay, orderId: "4111111111111111" }, 400, "CARD_DATA_REFUSED"],
    ["POST", "/payment", undefined, 400, "BODY_NOT_JSON"],
    ["POST", "/", { amount: 0 }, 400, "REQUEST_INVALID"],
    ["POST", "/reversal", { orderId: "B-1" }, 404, "ORDER_NOT_FOUND"],
    ["POST", "/delivery", { orderId: "B-1" }, 400, "REQUEST_INVALID"],
    ["GET", "/payment/B-1", undefined, 404, "ORDER_NOT_FOUND"],
  ];
  test.each(refused)("which are empty: %s %s %j", async (method, url, body, status, code) => {
    const { call } = await api();
    const { http, one: answer } = await call(method as "GET" | "POST", url, body);
    expect([http, answer.error.code]).toEqual([status, code]);
    expect(answer).toMatchObject(noProof);
  });

  test("which are those of the stored order that it is about", async () => {
    const { at, call } = await api();
    const { one: paid } = await call("POST", "/payment", pay);
    expect(paid.receipt.amount).not.toBe("");
    const { receipt, ticket } = paid;
    const own = { receipt, ticket, notificationGatewaySent: true };
    const other = await call("POST", "/payment", { ...pay, amount: 1 });
    expect([other.http, other.one.error.charged]).toEqual([422, "yes"]);
    expect(other.one).toMatchObject({ ...own, orderId: "A-1", amount: 1 });
    at.terminal.stores(report());
    await at.afterSale.reverse("A-1");
    const again = await call("POST", "/payment", pay);
    expect([again.http, again.one.error.code]).toEqual([409, "ORDER_REVERSED"]);
    expect(again.one.receipt).toEqual((await call("GET", "/payment/A-1")).one.receipt);
  });

  test("which are empty when another order is the reason of the refusal", async () => {
    const { at, call } = await api();
    const blocked = Promise.withResolvers<void>();
    at.terminal.script = async (order, observer) => {
      await blocked.promise;
      return approves(order, observer);
    };
    const first = call("POST", "/payment", pay);
    await expect.poll(() => at.arbiter.lease.current).toBeDefined();
    const busy = await call("POST", "/payment", { ...pay, orderId: "A-2" });
    expect(busy.one).toMatchObject({ ...noProof, error: { code: "TERMINAL_BUSY" } });
    blocked.resolve();
    await first;
  });

  test("but not before authentication, nor for calls that answer no payment", async () => {
    const { call } = await api();
    const early = await call("POST", "/payment", pay, { authorization: "" });
    const cancel = await call("POST", "/cancel");
    for (const { text } of [early, cancel]) expect(text).not.toContain("receipt");
  });
});

test("every call that refuses a card number names its field", async () => {
  const { call } = await api();
  const orderId = "4111111111111111";
  for (const [url, body, field] of [
    ["/payment", { amount: 1, orderId }, "orderId"],
    ["/reversal", { orderId }, "orderId"],
    ["/delivery", { orderId, delivered: true }, "orderId"],
    ["/gateway/cancel", { orderId }, "orderId"],
    ["/outbox/1/drop", { note: `card ${orderId}` }, "note"],
  ] as const) {
    const { code, details } = (await call("POST", url, body)).one.error;
    expect([url, code, details]).toEqual([url, "CARD_DATA_REFUSED", { field }]);
  }
});

describe("HEAD", () => {
  test("answers as GET does, without a body, where a call only reads", async () => {
    const { app } = await api();
    const headers = { host: "localhost:8765", authorization: `Basic ${btoa("kiosk:secret")}` };
    for (const url of ["/health", "/version", "/openapi.json", "/metrics", "/payments"]) {
      const { statusCode, body } = await app.inject({ method: "HEAD", url, headers });
      expect([url, statusCode, body]).toEqual([url, 200, ""]);
    }
  });

  test("is refused for a stream and for a call that changes anything", async () => {
    const { app, at } = await api();
    const headers = { host: "localhost:8765", authorization: `Basic ${btoa("kiosk:secret")}` };
    for (const [url, allow] of [
      ["/stop", "GET, POST"],
      ["/cancel", "GET, POST"],
      ["/reset", "GET, POST"],
      ["/tlc", "GET, POST"],
      ["/payment", "POST"],
      ["/events", "GET"],
    ] as const) {
      const answer = await app.inject({ method: "HEAD", url, headers });
      expect([url, answer.statusCode, answer.headers["allow"]]).toEqual([url, 405, allow]);
    }
    expect(at.arbiter.lease.stopping.aborted).toBe(false);
  });

  test("of an order with a generated id does not count as a reading of its answer", async () => {
    const { app, at, call } = await api();
    const { one: paid } = await call("POST", "/payment", { amount: 9.99 });
    const read: string[] = [];
    at.orders.answerRead = (orderId) => void read.push(orderId);
    const headers = { host: "localhost:8765", authorization: `Basic ${btoa("kiosk:secret")}` };
    const url = `/payment/${paid.orderId}`;
    expect((await app.inject({ method: "HEAD", url, headers })).statusCode).toBe(200);
    expect(read).toEqual([]);
    expect((await app.inject({ method: "GET", url, headers })).statusCode).toBe(200);
    expect(read).toEqual([paid.orderId]);
  });
});

test("a GET reads only when its record says so", () => {
  const record = { path: "/new", methods: ["GET"] } as unknown as Parameters<typeof isActing>[1];
  expect([isActing("GET", record), isActing("HEAD", record)]).toEqual([true, true]);
  const reads = { ...record, reads: true } as typeof record;
  expect([isActing("GET", reads), isActing("HEAD", reads)]).toEqual([false, false]);
  expect(isActing("POST", reads)).toBe(true);
});

/** Every GET that an address bar may send; another one is added only by a decision. */
const readingPaths: readonly string[] = [
  "/acts",
  "/check",
  "/config",
  "/day",
  "/doctor",
  "/events",
  "/gateway/open",
  "/gateway/transaction/{id}",
  "/health",
  "/logs",
  "/metrics",
  "/openapi.json",
  "/outbox",
  "/payment/{orderId}",
  "/payments",
  "/payments/search",
  "/reconciliation",
  "/settings",
  "/story/{orderId}",
  "/support-bundle",
  "/unexpected-reports",
  "/unmatched-transactions",
  "/version",
];

test("only a GET of a closed list is answered to an address bar", async () => {
  const reading = calls.filter(({ reads }) => reads).flatMap(pathsOf);
  expect(reading.toSorted()).toEqual(readingPaths);
  const { app, at } = await api();
  const headers = {
    host: "localhost:8765",
    authorization: `Basic ${btoa("kiosk:secret")}`,
    "sec-fetch-site": "none",
    "sec-fetch-mode": "navigate",
  };
  const gets = calls.filter(({ methods }) => methods.includes("GET")).flatMap(pathsOf);
  const acting = gets.filter((path) => !readingPaths.includes(path));
  expect(acting).toEqual(expect.arrayContaining(["/stop", "/cancel", "/reset", "/tlc"]));
  for (const path of acting) {
    const url = path.replace(/\{\w+\}/g, "A-1");
    const { statusCode, body } = await app.inject({ method: "GET", url, headers });
    expect([path, statusCode, JSON.parse(body)[0].error.code]).toEqual([
      path,
      403,
      "ORIGIN_REFUSED",
    ]);
  }
  expect(at.arbiter.lease.stopping.aborted).toBe(false);
});

describe("the OpenAPI document", () => {
  test("lets a later version add any member to details that have none", () => {
    const where = ["components", "schemas", "Error_NOT_FOUND", "properties", "details"];
    expect(faultsOf(where, { paths: ["/a", { b: [] }] })).toEqual([]);
    expect(faultsOf(where, { paths: [] }, "closed")).not.toEqual([]);
  });

  const bodyOf = (path: string) => {
    return ["paths", path, "post", "requestBody", "content", "application/json", "schema"];
  };

  test("allows no amount for a cancel, and order ids of 64 characters everywhere", () => {
    expect(faultsOf(bodyOf("/gateway/cancel"), { orderId: "A-1" })).toEqual([]);
    expect(faultsOf(bodyOf("/gateway/cancel"), { orderId: "A-1", amount: 1 })).not.toEqual([]);
    const long = { orderId: "x".repeat(65) };
    for (const path of ["/reversal", "/gateway/refund", "/gateway/cancel", "/gateway/confirm"]) {
      expect([path, faultsOf(bodyOf(path), long).length > 0]).toEqual([path, true]);
    }
    expect(faultsOf(bodyOf("/delivery"), { ...long, delivered: true })).not.toEqual([]);
  });

  test("has types for limit, status and since", () => {
    const listed = document.paths["/payments"]?.["get"]?.parameters ?? [];
    const schemas = Object.fromEntries(listed.map(({ name, schema }) => [name, schema]));
    expect(schemas["limit"]).toEqual({ type: "integer", minimum: 1, maximum: 500, default: 50 });
    expect(schemas["status"]).toMatchObject({ enum: expect.arrayContaining(["Success"]) });
    expect(schemas["since"]).toMatchObject({
      anyOf: [{ format: "date-time" }, { format: "date" }],
    });
  });

  test("carries the API's version, and is what docs/openapi.json says", () => {
    expect(document.info.version).toBe("1");
    expect(JSON.parse(readFileSync(openApiFile, "utf8"))).toEqual(document);
  });

  /** Only data of the kiosk may be open: its basket and its customer. */
  const open = [
    /^CartObject\.additionalProperties$/,
    /^Customer\.additionalProperties$/,
    /\.properties\.basket$/,
  ];

  test("has no empty or open schema except for the kiosk's own data", () => {
    const found = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      openSchemas(schema, name),
    );
    const others = Object.entries({ ...document.paths, ...document.components.responses });
    found.push(...others.flatMap(([name, part]) => openSchemas(part, name)));
    expect(found.filter((position) => !open.some((known) => known.test(position)))).toEqual([]);
    expect(found).toContain("PaymentAnswer.properties.basket");
  });
});

/** The places of schemas that allow anything. */
function openSchemas(value: unknown, position: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one, i) => openSchemas(one, `${position}.${i}`));
  if (typeof value !== "object" || value === null) return [];
  const schema = value as Record<string, unknown>;
  const isSchema = /\.(schema|additionalProperties|items|properties\.\w+)$/.test(position);
  const says = ["type", "$ref", "anyOf", "oneOf", "const", "enum"].some((name) => name in schema);
  const isBare =
    schema["type"] === "object" && !("properties" in schema) && !("additionalProperties" in schema);
  const here = (isSchema && !says) || isBare || schema["additionalProperties"] === true;
  const { example: _, examples: __, ...parts } = schema;
  return [
    ...(here ? [position] : []),
    ...Object.entries(parts).flatMap(([name, part]) => openSchemas(part, `${position}.${name}`)),
  ];
}
