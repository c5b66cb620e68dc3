import { expect, test } from "vitest";
import type { z } from "zod";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { approves, disconnected, lost } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

/** Orders with their `charged`, which every error about the order must carry. */
const orders = { "A-yes": "yes", "A-no": "no", "A-unknown": "unknown", "A-back": "no" } as const;
type Order = keyof typeof orders;

interface Named {
  readonly method?: "GET" | "POST";
  readonly url?: (order: Order, transactionId: string) => string;
  readonly body?: object;
}

/** Every call that names an order, with the other members that it needs. */
const named: Readonly<Record<string, Named>> = {
  "/payment": { body: { amount: 1.23 } },
  "/payment/{orderId}": { method: "GET", url: (order) => `/payment/${order}` },
  "/story/{orderId}": { method: "GET", url: (order) => `/story/${order}` },
  "/payment/{orderId}/settle": {
    url: (order) => `/payment/${order}/settle`,
    body: { outcome: "reversed", note: "seen on the receipt" },
  },
  "/delivery": { body: { delivered: true } },
  "/reversal": { body: {} },
  "/gateway/confirm": { body: {} },
  "/gateway/cancel": { body: {} },
  "/gateway/refund": { body: { amount: 1.5 } },
  "/gateway/settle": { body: { happened: true, note: "seen in the account" } },
  "/gateway/copies": { body: { note: "seen in the account" } },
  "/gateway/transaction/{id}": { method: "GET", url: (order) => `/gateway/transaction/${order}` },
  "/outbox/{id}/requeue": { url: (_, id) => `/outbox/${id}/requeue` },
  "/outbox/{id}/drop": { url: (_, id) => `/outbox/${id}/drop`, body: { note: "by hand" } },
};

const namesAnOrder = calls.filter(
  ({ path, body }) =>
    /\{\w+\}/.test(path) || (body as z.ZodObject | undefined)?.shape?.["orderId"] !== undefined,
);

test("the list of calls that name an order is complete", () => {
  expect(Object.keys(named).toSorted()).toEqual(namesAnOrder.map(({ path }) => path).toSorted());
});

async function everyKindOfOrder() {
  const at = house();
  const { baseline } = at.terminal;
  await pay(at, request("A-back"));
  at.terminal.stores(report());
  await at.afterSale.reverse("A-back");
  at.terminal.baseline = baseline;
  await pay(at, request("A-yes"));
  at.terminal.script = (_order, observer) => {
    observer.report(declined());
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  await pay(at, request("A-no"));
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, request("A-unknown"));
  await at.clock.advance(300_000);
  at.terminal.script = approves;
  at.supervisor.reachable = false;
  at.terminal.unavailable = disconnected();
  const operator = { login: "operator", password: "other" };
  return await api({ operator }, at);
}

/** Lets time pass until the call is answered, because an order in doubt is probed first. */
async function inTime<T>({ clock }: House, asked: Promise<T>): Promise<T> {
  let open = true;
  const over = () => {
    open = false;
  };
  asked.then(over, over);
  while (open) {
    await clock.advance(10_000);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return asked;
}

const asOperator = { authorization: `Basic ${btoa("operator:other")}` };

test.each(Object.entries(named))(
  "an error of %s has the order's own charged, even without supervisor and terminal",
  async (path, { method = "POST", url = () => path, body }) => {
    const rig = await everyKindOfOrder();
    const answered = async (order: Order, extra: object): Promise<unknown> => {
      const { transactionId = "" } = rig.at.journal.attempts.decisive(order) ?? {};
      const payload = url("A-yes", "") === path ? { orderId: order, ...body } : body;
      const given = payload && { ...payload, ...extra };
      const asked = rig.call(method, url(order, transactionId), given, asOperator);
      const { one } = await inTime(rig.at, asked);
      return one.error && [order, one.error.charged, one.error.retry === "safe"];
    };
    for (const [order, charged] of Object.entries(orders) as [Order, string][]) {
      // "safe" is said of an order that is not charged, and of no other.
      for (const extra of method === "GET" ? [{}] : [{ nonsense: 1 }, {}]) {
        const answer = await answered(order, extra);
        if (answer === null) continue;
        expect(answer).toEqual([order, charged, charged === "no" && (answer as unknown[])[2]]);
      }
    }
  },
);

/** An order whose payment has the terminal, which is being prepared until `ready` is called. */
async function prepared({ at, post }: Rig, orderId: string) {
  const blocked = Promise.withResolvers<void>();
  at.terminal.prepare = () => blocked.promise.then(() => at.terminal.baseline);
  const paid = post({ amount: 9.99, orderId });
  paid.catch(() => undefined);
  await expect.poll(() => at.arbiter.lease.current).toBeDefined();
  return { ready: blocked.resolve, paid };
}

type Rig = Awaited<ReturnType<typeof api>>;

/** Declines the order's first payment; the second is charged. */
async function declinedOnce(rig: Rig, orderId: string): Promise<void> {
  rig.at.terminal.script = (_order, observer) => {
    observer.report(declined());
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const delivery = { withinSeconds: 30 };
  const { one } = await rig.post({ amount: 9.99, orderId, delivery });
  expect(one.error).toMatchObject({ code: "PAYMENT_DECLINED", charged: "no" });
  rig.at.terminal.script = approves;
}

/** The calls that name an order by its own id, not by an id of the gateway or of a transaction. */
const byOrderId = Object.entries(named).filter(([path]) => !path.includes("{id}"));

test.each(
  byOrderId.flatMap((call) =>
    ["is new", "was declined before"].map((before) => [...call, before] as const),
  ),
)(
  "while the terminal is prepared, an error of %s about an order has charged unknown",
  async (...row) => {
    const [path, { method = "POST", url = () => path, body }, before] = row;
    const rig = await api({ operator: { login: "operator", password: "other" } });
    if (before !== "is new") await declinedOnce(rig, "A");
    const { ready, paid } = await prepared(rig, "A");
    const at = url("A" as Order, "");
    const payload = at === path ? { orderId: "A", ...body } : body;
    for (const extra of method === "GET" ? [{}] : [{ nonsense: 1 }, {}]) {
      const { one } = await rig.call(method, at, payload && { ...payload, ...extra }, asOperator);
      expect(one.error).toMatchObject({ charged: "unknown" });
      expect(one.error.retry).not.toBe("safe");
      if (method === "GET") expect(one).toMatchObject({ status: "Unknown" });
    }
    ready();
    expect((await paid).one.status).toBe("Success");
  },
);

test("a decline is not repeated for goods while the order is paid again", async () => {
  const rig = await api();
  await declinedOnce(rig, "A");
  const { ready, paid } = await prepared(rig, "A");
  const { http, one } = await rig.call("POST", "/delivery", { orderId: "A", delivered: false });
  expect([http, one.status, one.error]).toMatchObject([
    504,
    "Unknown",
    { code: "PAYMENT_RUNNING", charged: "unknown" },
  ]);
  ready();
  expect((await paid).one.status).toBe("Success");
});

test.each(["/payment/A", "/story/A"])(
  "%s searches an order outside a lost journal",
  async (url) => {
    const rig = await api();
    rig.at.guard.begin("it is lost", true);
    rig.at.supervisor.reachable = false;
    const away = await rig.call("GET", url);
    expect([away.http, away.one.error]).toMatchObject([
      503,
      { code: "STORES_DISAGREE", charged: "unknown" },
    ]);
    rig.at.supervisor.reachable = true;
    const asked = await rig.call("GET", url);
    expect([asked.http, asked.one.error]).toMatchObject([
      404,
      { code: "ORDER_NOT_FOUND", charged: "unknown" },
    ]);
  },
);

test("an error has the order's own charged for a wrong pair too, not without a pair", async () => {
  const rig = await everyKindOfOrder();
  const refund = { orderId: "A-yes" };
  const kiosk = await rig.call("POST", "/gateway/refund", refund);
  const paidOne = { code: "OPERATOR_REQUIRED", charged: "yes", retry: "same_order" };
  expect(kiosk.one.error).toMatchObject(paidOne);
  const nobody = await rig.call("POST", "/gateway/refund", refund, { authorization: "" });
  const untold = { code: "UNAUTHORIZED", charged: "unknown", retry: "same_order" };
  expect(nobody.one.error).toMatchObject(untold);
  for (const path of ["/payment/A-yes", "/payment/nobody-asked", "/story/A-yes"]) {
    const { one } = await rig.call("GET", path, undefined, { authorization: "" });
    expect([path, one.error]).toEqual([path, expect.objectContaining(untold)]);
  }
  const paid = await rig.call("POST", "/payment", { orderId: "A-yes" }, { authorization: "" });
  expect(paid.one.error).toMatchObject(untold);
  const other = await rig.call("GET", "/version", undefined, { authorization: "" });
  expect(other.one.error).toMatchObject({ charged: "no", retry: "safe" });
});

test("an error about several orders has the charged that all share, else unknown", async () => {
  const rig = await everyKindOfOrder();
  const answered = async (kind: string, items: readonly string[], headers = asOperator) => {
    const { one } = await rig.call("POST", "/seen", { kind, items, nonsense: 1 }, headers);
    return [one.error.charged, one.error.retry === "safe"];
  };
  expect(await answered("charge", ["A-yes"])).toEqual(["yes", false]);
  expect(await answered("charge", ["A-unknown"])).toEqual(["unknown", false]);
  expect((await answered("return", ["A-back"]))[0]).toBe("no");
  expect(await answered("charge", ["A-yes", "A-no"])).toEqual(["unknown", false]);
  const note = "helped";
  const kiosk = await rig.call("POST", "/seen", { kind: "charge", items: ["A-yes"], note });
  expect(kiosk.one.error).toMatchObject({ code: "OPERATOR_REQUIRED", charged: "yes" });
});

test("an error about a gateway transaction of no known order has charged unknown", async () => {
  const rig = await everyKindOfOrder();
  const refund = { transactionPublicId: "0A1B2C3D4E5F6071" };
  const { one } = await rig.call("POST", "/gateway/refund", refund, asOperator);
  expect(one.error).toMatchObject({ code: "SUPERVISOR_UNAVAILABLE", charged: "unknown" });
  const found = await rig.call("GET", "/gateway/transaction/0A1B2C", undefined, asOperator);
  expect(found.one.error).toMatchObject({ code: "SUPERVISOR_UNAVAILABLE", charged: "unknown" });
});

test("an error has a charged of its own for the other order in its details", async () => {
  const rig = await everyKindOfOrder();
  rig.at.terminal.unavailable = undefined;
  rig.at.terminal.script = () => new Promise(() => {});
  const running = rig.call("POST", "/payment", { amount: 2, orderId: "A-runs" });
  running.catch(() => undefined);
  await rig.at.clock.advance(0);
  const { one } = await rig.call("POST", "/reversal", { orderId: "A-yes" });
  expect(one.error).toMatchObject({
    code: "TERMINAL_BUSY",
    charged: "yes",
    retry: "same_order",
    details: { orderId: "A-runs", charged: "unknown" },
  });
});

test("an error about an archived order has the order's own charged", async () => {
  const rig = await everyKindOfOrder();
  const { transactionId } = rig.at.journal.attempts.decisive("A-yes") ?? {};
  rig.at.supervisor.reachable = true;
  rig.at.handOff.nudge();
  await rig.at.clock.advance(30_000);
  await rig.at.orders.lookUp("A-yes");
  const archived = rig.at.journal.archive.putAway(rig.at.clock.now() + 1, 100).archived;
  expect(archived).toBeGreaterThan(0);
  for (const [url, payload] of [
    [`/outbox/${transactionId}/requeue`, undefined],
    ["/gateway/cancel", { orderId: "A-yes" }],
  ] as const) {
    const { one } = await rig.call("POST", url, payload, asOperator);
    expect(one.error).toMatchObject({ code: "SUPERVISOR_UNAVAILABLE", charged: "yes" });
  }
});

test("a repetition with another basket or customer is answered with warnings", async () => {
  const rig = await api();
  const sale = { amount: 9.99, orderId: "0001", customer: { id: 7 }, basket: { name: "Tea" } };
  const first = await rig.call("POST", "/payment", sale);
  const same = await rig.call("POST", "/payment", sale);
  expect([same.one.replayed, same.one.warnings]).toEqual([true, first.one.warnings]);
  const basket = { name: "Coffee" };
  const { one } = await rig.call("POST", "/payment", { ...sale, basket, customer: { id: 8 } });
  expect([one.status, one.replayed, one.basket]).toEqual(["Success", true, { name: "Tea" }]);
  expect(one.warnings.slice(first.one.warnings.length)).toEqual([
    "basket is not that of the stored order; a new sale needs a new orderId",
    "customer is not that of the stored order; a new sale needs a new orderId",
  ]);
  expect(rig.at.terminal.paid).toHaveLength(1);
});

test("with REPEAT_MUST_MATCH=all a charged or running order refuses another basket", async () => {
  const at = house(undefined, undefined, { repeatMustMatch: "all" });
  const rig = await api({}, at);
  const blocked = Promise.withResolvers<void>();
  at.terminal.script = async (order, observer) => {
    await blocked.promise;
    return approves(order, observer);
  };
  const sale = { amount: 9.99, orderId: "0001", customer: { id: 7 }, basket: { name: "Tea" } };
  const other = { ...sale, basket: { name: "Coffee" }, customer: { id: 8 } };
  const first = rig.call("POST", "/payment", sale);
  await expect.poll(() => at.arbiter.lease.current).toBeDefined();
  const running = await rig.call("POST", "/payment", other);
  expect([running.http, running.one.error.code]).toEqual([422, "ORDER_MISMATCH"]);
  expect(running.one.error.charged).toBe("unknown");
  blocked.resolve();
  expect((await first).one.status).toBe("Success");
  const charged = await rig.call("POST", "/payment", other);
  expect([charged.http, charged.one.error]).toMatchObject([
    422,
    { code: "ORDER_MISMATCH", charged: "yes", details: { differs: ["basket", "customer"] } },
  ]);
  const same = await rig.call("POST", "/payment", { ...sale, basket: { name: "Tea" } });
  expect([same.one.status, same.one.replayed]).toEqual(["Success", true]);
  expect(at.terminal.paid).toHaveLength(1);
});

test("with REPEAT_MUST_MATCH=all an order that is not charged takes another basket", async () => {
  const at = house(undefined, undefined, { repeatMustMatch: "all" });
  const rig = await api({}, at);
  at.terminal.script = (_order, observer) => {
    observer.report(declined());
    return Promise.resolve({ end: "completed", code: "", text: "", ticket: "" });
  };
  const sale = { amount: 9.99, orderId: "0001", basket: { name: "Tea" } };
  await rig.call("POST", "/payment", sale);
  at.terminal.script = approves;
  const again = await rig.call("POST", "/payment", { ...sale, basket: { name: "Coffee" } });
  expect(again.one.status).toBe("Success");
});

test.each(["7/12", "7%20/12", "7/12/"])("an unencoded orderId is not found: %s", async (path) => {
  const rig = await api();
  await rig.call("POST", "/payment", { amount: 9.99, orderId: decodeURIComponent(path) });
  const { http, one } = await rig.call("GET", `/payment/${path}`);
  expect([http, one.error]).toMatchObject([404, { code: "NOT_FOUND", charged: "yes" }]);
});

test.each([
  ["DELETE", "/payment/7", 405, "yes"],
  ["GET", "/payment/7/settle", 405, "unknown"],
  ["GET", "/payment/7/", 404, "unknown"],
  ["GET", "/payment/7/status", 404, "unknown"],
  ["GET", "/Payment/7", 404, "unknown"],
  ["GET", "/payment/", 404, "unknown"],
  ["GET", "/payment/?x=7", 404, "unknown"],
  ["POST", "/payment//settle", 404, "unknown"],
  ["GET", "/story/", 404, "unknown"],
  ["GET", "/", 405, "unknown"],
  ["POST", "/settle", 404, "unknown"], // what a URL parser makes of /payment/../settle
  ["POST", "/payment/", 404, "unknown"], // the order in its body can be charged
  ["GET", "/gateway/transaction/", 404, "unknown"],
  ["POST", "/outbox//requeue", 404, "unknown"],
])("a wrong call about a charged order never has charged no: %s %s", async (...row) => {
  const [method, path, status, charged] = row;
  const rig = await api();
  await rig.call("POST", "/payment", { amount: 9.99, orderId: "7" });
  const { http, one } = await rig.call(method as "GET", path);
  expect([http, one.error.charged]).toEqual([status, charged]);
});

test("a broken invariant before a payment is no fault of the disk and not 'not paid'", async () => {
  const at = house();
  const rig = await api({}, at);
  const { attempts } = at.journal;
  const begin = attempts.begin.bind(attempts);
  attempts.begin = () => {
    throw new BrokenInvariant("of a test");
  };
  const sale = { amount: 9.99, orderId: "A" };
  const { http, one } = await rig.call("POST", "/payment", sale);
  expect([http, one.status, one.error]).toMatchObject([
    500,
    "Unknown",
    { code: "INTERNAL", charged: "unknown", retry: "same_order" },
  ]);
  expect(at.terminal.paid).toEqual([]);
  attempts.begin = begin;
  expect((await rig.call("POST", "/payment", sale)).one.status).toBe("Success");
  expect(at.terminal.paid).toHaveLength(1);
});

test("a broken invariant after a sale without an order id answers the generated id", async () => {
  const at = house();
  const rig = await api({}, at);
  const { attempts } = at.journal;
  const read = attempts.read.bind(attempts);
  attempts.read = (transactionId) => {
    const attempt = read(transactionId);
    if (attempt?.state.phase === "charged") throw new BrokenInvariant("of a test");
    return attempt;
  };
  const { http, one } = await rig.call("POST", "/payment", { amount: 9.99 });
  expect([http, one.status, one.error.charged]).toEqual([500, "Unknown", "unknown"]);
  expect(attempts.decisive(one.orderId)?.state.phase).toBe("charged");
});

test("a broken invariant while an order is read leaves it unknown", async () => {
  const at = house();
  const rig = await api({}, at);
  await rig.call("POST", "/payment", { amount: 9.99, orderId: "A" });
  at.journal.attempts.decisive = () => {
    throw new BrokenInvariant("of a test");
  };
  for (const [method, path] of [
    ["GET", "/payment/A"],
    ["POST", "/payment"],
  ] as const) {
    const body = method === "POST" ? { amount: 9.99, orderId: "A" } : undefined;
    const { http, one } = await rig.call(method, path, body);
    expect([http, one.status, one.error]).toMatchObject([
      500,
      "Unknown",
      { code: "INTERNAL", charged: "unknown" },
    ]);
  }
});
