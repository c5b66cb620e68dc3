import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { approves, lost } from "../../support/terminals/scripted-terminal.ts";
import { hangUpDuring } from "./hang-up.ts";
import { listening } from "./listening.ts";
import { api, authorization, monitorOf } from "./rig.ts";

const unread = (at: House): readonly string[] => at.journal.answers.unreadCharges()?.orderIds ?? [];

/** A charge whose outcome was lost on the line, and that two probes have proved. */
async function found(at: House, orderId: string): Promise<void> {
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  at.terminal.last = { kind: "transaction", report: report() };
  expect((await pay(at, request(orderId))).http).toBe(504);
  expect(unread(at)).toEqual([]);
  await at.clock.advance(10_000);
  expect(at.journal.attempts.decisive(orderId)?.state.phase).toBe("charged");
}

test("a charge found after the answer is a condition until its order is looked up", async () => {
  const { at, get } = await listening();
  await found(at, "A-1");
  expect(unread(at)).toEqual(["A-1"]);
  const listed = await monitorOf(at, () => Promise.reject(new Error("down"))).conditions();
  expect(listed.find(({ name }) => name === "charges-unread")).toMatchObject({
    count: 1,
    says: "Charges that the kiosk does not know of: 1 (A-1)",
  });
  await get("/payment/A-1", { method: "HEAD" });
  await get("/transactions");
  expect(unread(at)).toEqual(["A-1"]);
  expect((await get("/payment/A-1")).status).toBe(200);
  await expect.poll(() => unread(at)).toEqual([]);
});

test("what an operator has acknowledged waits no longer, and no money changes", async () => {
  const at = house();
  await found(at, "A-1");
  const strange = report({ receiptNumber: "0009", traceNumber: "000099" });
  at.start();
  at.terminal.stores(strange);
  at.terminal.emit({ type: "unmatched-report", report: strange });
  await at.clock.advance(15_000);
  const body = {
    kind: "receipt-jump",
    from: "0002",
    to: "0009",
    missing: 6,
    suspects: [],
  } as const;
  const jump = { atMs: at.clock.now(), closingId: null, result: "jump", body } as const;
  at.journal.reconciliations.keep(jump, "number-missing");
  const { call } = await api({ clock: at.clock }, at);
  const waits = async () => {
    const { troubles: listed, alarms, warnings } = (await call("GET", "/health")).one;
    const names = listed.map(({ trouble: condition }: { trouble: string }) => condition);
    return [names, alarms.map(({ alarm }: { alarm: string }) => alarm), warnings.length];
  };
  const money = async () => [(await call("GET", "/payments")).text, at.orders.decisive("A-1")];
  const before = await money();
  const ids = async (path: string) =>
    JSON.parse((await call("GET", path)).text).map(({ id }: { id: number }) => id);
  expect(await waits()).toEqual([
    ["sales-without-order", "differences", "charges-unread"],
    ["unmatched-transaction", "unmatched-transaction"],
    3,
  ]);
  for (const [kind, path, items] of [
    ["unmatched", "/unmatched-transactions", ["1"]],
    ["difference", "/reconciliation", ["1"]],
    ["charge", "/payments", ["A-1"]],
  ] as const) {
    const said = { kind, items, note: "given back at the terminal (Anna)" };
    const like = { ...said, items: items.map((item) => `${item} (Anna)`) };
    expect((await call("POST", "/seen", like)).one).toMatchObject({ marked: 0 });
    expect((await call("POST", "/seen", said)).one).toMatchObject({ marked: 1 });
    expect((await call("POST", "/seen", said)).one).toMatchObject({ marked: 0 });
    if (kind === "charge") continue;
    expect(await ids(path)).toEqual([1]);
    expect(await ids(`${path}?waiting=yes`)).toEqual([]);
    expect((await call("GET", path)).one.seenAt).toBe(new Date(at.clock.now()).toISOString());
  }
  expect(await waits()).toEqual([[], [], 0]);
  expect(await money()).toEqual(before);
  at.hub.tap(at.log).error({ alarm: "daily-chore" }, "a daily chore failed");
  const [alarm] = (await call("GET", "/health")).one.alarms;
  expect(alarm).toMatchObject({ alarm: "daily-chore", endsWhenSeen: true });
  await call("POST", "/seen", { kind: "alarm", items: [String(alarm.id)], note: "done (Anna)" });
  expect(await waits()).toEqual([[], [], 0]);
});

test("an alarm of an older version keeps its name, and the former kind ends it", async () => {
  const at = house();
  at.start();
  const strange = report({ receiptNumber: "0009", traceNumber: "000099" });
  at.terminal.stores(strange);
  at.terminal.emit({ type: "unmatched-report", report: strange });
  await at.clock.advance(15_000);
  for (const alarm of ["unexpected-report", "sale-without-order-unclear", "sale-without-order"]) {
    const former = { alarm, message: "of the version before", source: "tp-manager" as const };
    at.journal.events.raise({ ...former, orderId: null, transactionId: null }, at.clock.now());
  }
  const { call } = await api({ clock: at.clock }, at);
  const alarms = async (): Promise<string[]> =>
    (await call("GET", "/health")).one.alarms.map(({ alarm }: { alarm: string }) => alarm);
  expect(await alarms()).toEqual([
    "sale-without-order",
    "sale-without-order-unclear",
    "unexpected-report",
    "unmatched-transaction",
  ]);
  const said = { kind: "stray", items: ["1"], note: "given back" };
  expect((await call("POST", "/seen", said)).one).toMatchObject({ marked: 1 });
  expect(await alarms()).toEqual([]);
});

test("a charge found after the answer is read when the order is paid again", async () => {
  const { at, get } = await listening();
  await found(at, "A-1");
  const body = JSON.stringify({ orderId: "A-1", amount: 9.99 });
  const headers = { "content-type": "application/json" };
  expect((await get("/payment", { method: "POST", body, headers })).status).toBe(200);
  await expect.poll(() => unread(at)).toEqual([]);
  expect(at.terminal.paid).toHaveLength(1);
});

test("a charge found after the answer is no condition once it is reversed", async () => {
  const at = house();
  await found(at, "A-1");
  at.terminal.stores(report());
  await at.afterSale.reverse("A-1");
  expect(unread(at)).toEqual([]);
});

test("a charge is unread when its answer did not reach the kiosk", async () => {
  const site = await listening();
  const { at, get } = site;
  await hangUpDuring({ orderId: "A-1", amount: 9.99 }, site);
  await expect.poll(() => unread(at)).toEqual(["A-1"]);
  await (await get("/payment/A-1")).text();
  await expect.poll(() => unread(at)).toEqual([]);
});

test("a charge whose answer arrived stays read when a later lookup is cut off", async () => {
  const { app, at, get, port, raw } = await listening();
  const body = JSON.stringify({ orderId: "A-1", amount: 9.99 });
  const headers = { "content-type": "application/json" };
  expect((await get("/payment", { method: "POST", body, headers })).status).toBe(200);
  expect(unread(at)).toEqual([]);
  const lookup = ["GET /payment/A-1 HTTP/1.1", `Host: 127.0.0.1:${port}`];
  const { resolve: asked, promise } = Promise.withResolvers<void>();
  const { lookUp } = at.orders;
  at.orders.lookUp = async (orderId) => {
    const found = await lookUp.call(at.orders, orderId);
    socket.destroy();
    await cut.promise;
    asked();
    return found;
  };
  const cut = Promise.withResolvers<void>();
  app.server.once("connection", (one: Socket) => one.once("close", () => cut.resolve()));
  const { socket } = raw([...lookup, `Authorization: ${authorization}`, "", ""].join("\r\n"));
  await promise;
  await (await get("/version")).text();
  expect(unread(at)).toEqual([]);
});

test("a charge after the answer's time limit is unread", async () => {
  const at = house();
  const goesOn = Promise.withResolvers<void>();
  at.terminal.script = async (order, observer) => {
    await goesOn.promise;
    return approves(order, observer);
  };
  const answer = pay(at, request("A-1"));
  await at.clock.advance(225_000);
  expect((await answer).body.error?.code).toBe("PAYMENT_RUNNING");
  expect(unread(at)).toEqual([]);
  goesOn.resolve();
  await expect.poll(() => unread(at)).toEqual(["A-1"]);
});
