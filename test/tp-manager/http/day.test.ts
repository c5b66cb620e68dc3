import { expect, test } from "vitest";
import { HourWatch } from "../../../src/tp-manager/http/status/hour-watch.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("GET /day adds up payments by hour, money, and how long the kiosk was ready", async () => {
  const { at, call } = await api();
  const pay = (orderId: string) => call("POST", "/payment", { amount: 2.5, orderId });
  at.terminal.script = approves;
  await pay("A-1");
  await pay("A-2");
  await at.clock.advance(HOUR_MS);
  await pay("A-3");
  at.terminal.script = () => Promise.resolve({ end: "refused", code: "83", text: "no" });
  await pay("A-4");
  const hour = new Date(at.clock.now()).setMinutes(0, 0, 0);
  const row = { readyMs: 3_500_000, refusingMs: 0, noLinkMs: 60_000, waitingMax: 3 };
  at.journal.days.addHour({ atMs: hour, ...row }, 0);
  const { http, one: day } = await call("GET", "/day?date=2026-01-15");
  expect(http).toBe(200);
  expect(day).toMatchObject({ date: "2026-01-15", complete: true, successShare: 0.75 });
  expect(day.counts).toMatchObject({ Success: 3, Failed: 1, Unknown: 0 });
  expect(day.sums).toEqual([{ currency: "EUR", sales: 3, charged: 7.5, returned: 0 }]);
  expect(day.hours).toHaveLength(24);
  expect(day.hours[13]).toMatchObject({ counts: { Success: 2 }, readySeconds: null });
  const later = { counts: { Success: 1, Failed: 1 }, readySeconds: 3_500, noLinkSeconds: 60 };
  expect(day.hours[14]).toMatchObject({ ...later, waitingMax: 3 });
  const { one: before } = await call("GET", "/day?date=2026-01-14");
  expect(before).toMatchObject({ successShare: null, sums: [], endsOfDay: [] });
});

test("GET /day shows what was returned next to what was charged, also archived", async () => {
  const { at, call } = await api();
  at.terminal.script = approves;
  await call("POST", "/payment", { amount: 5, orderId: "A-1" });
  const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
  at.journal.returns.noteReturns([{ transactionId, returnedMinor: 200 }], at.clock.now());
  const sums = [{ currency: "EUR", sales: 1, charged: 5, returned: 2 }];
  expect((await call("GET", "/day?date=2026-01-15")).one.sums).toEqual(sums);
  at.journal.archive.putAway(at.clock.now() + 1, 100);
  expect(at.journal.attempts.list({ sinceMs: 0, status: null, limit: 9, before: null })).toEqual(
    [],
  );
  expect((await call("GET", "/day?date=2026-01-15")).one.sums).toEqual(sums);
});

test("GET /day shows each end of day with its reconciliation", async () => {
  const { at, call } = await api();
  at.terminal.script = approves;
  await call("POST", "/payment", { amount: 5, orderId: "A-1" });
  await call("POST", "/tlc");
  const { one: day } = await call("GET", "/day?date=2026-01-15");
  expect(day.endsOfDay).toMatchObject([{ askedBy: "operator", end: "completed" }]);
  expect(day.endsOfDay[0].reconciliation).toMatchObject({ kind: "end-of-day" });
});

test.each(["yesterday", "2026-02-30", "0001-01-01", "2026-01-15T00:00:00Z"])(
  "a day named %s is refused",
  async (date) => {
    const { call } = await api();
    const { http, one: body } = await call("GET", `/day?date=${date}`);
    expect([http, body.error.details.faults[0].field]).toEqual([400, "date"]);
  },
);

test("GET /day shows the running hour from its first sample on, before it is written", async () => {
  const at = house();
  const { clock, arbiter, journal, terminal } = at;
  const days = journal.days;
  const watch = new HourWatch({
    arbiter,
    days,
    clock,
    log: at.log,
    keptDays: 1,
    waiting: () => Promise.resolve(2),
  });
  const { call } = await api({ hours: watch }, at);
  const date = "2026-01-15";
  const hour = new Date(clock.now()).getHours();
  const figures = async () => {
    const { readySeconds, noLinkSeconds, waitingMax } = (await call("GET", `/day?date=${date}`)).one
      .hours[hour];
    return [readySeconds, noLinkSeconds, waitingMax];
  };
  expect(await figures()).toEqual([null, null, null]); // nobody watches yet
  await clock.advance(MINUTE_MS);
  watch.start();
  await clock.advance(10_000);
  expect(await figures()).toEqual([10, 0, 2]);
  expect(days.hours(0, Number.MAX_SAFE_INTEGER)).toEqual([]);
  await clock.advance(6 * MINUTE_MS);
  expect(days.hours(0, Number.MAX_SAFE_INTEGER)).toHaveLength(1);
  terminal.state = { ...terminal.state, link: "disconnected" };
  await clock.advance(20_000);
  const [ready, noLink] = await figures();
  expect([ready + noLink, noLink > 15]).toEqual([390, true]); // of both rows, each once
  expect((await call("GET", "/day?date=2026-01-14")).one.hours[hour].readySeconds).toBe(null);
  await watch.close();
  expect(await figures()).toEqual([ready, noLink, 2]);
});

test("a payment across the hour is counted in both hours, no hour has 61 minutes", async () => {
  const at = house();
  const { clock, arbiter, journal, terminal } = at;
  const waiting = () => Promise.resolve(0);
  const parts = { arbiter, days: journal.days, clock, log: at.log, keptDays: 1, waiting };
  const { promise, resolve } = Promise.withResolvers<void>();
  terminal.script = async (order, observer) => {
    await promise;
    return await approves(order, observer);
  };
  await clock.advance(HOUR_MS - (clock.now() % HOUR_MS));
  const watch = new HourWatch(parts);
  watch.start();
  await clock.advance(58 * MINUTE_MS);
  const paying = pay(at, request("A-1"));
  await clock.advance(5 * MINUTE_MS);
  const all = (one: { readyMs: number; refusingMs: number; noLinkMs: number }) =>
    Math.round((one.readyMs + one.refusingMs + one.noLinkMs) / MINUTE_MS);
  const counted = () => watch.hours(0, Number.MAX_SAFE_INTEGER).map(all);
  expect(counted()).toEqual([60, 3]);
  resolve();
  await paying;
  await clock.advance(MINUTE_MS);
  await watch.close();
  expect(counted()).toEqual([60, 4]);
});

test("each hour is counted as ready, refusing or without a link, and is written", async () => {
  const at = house();
  const { clock, arbiter, journal, terminal } = at;
  let waiting = 4;
  const watch = new HourWatch({
    arbiter,
    days: journal.days,
    clock,
    log: at.log,
    keptDays: 1,
    waiting: () => Promise.resolve(waiting),
  });
  const hours = () => journal.days.hours(0, Number.MAX_SAFE_INTEGER);
  watch.start();
  await clock.advance(10 * MINUTE_MS);
  terminal.state = { ...terminal.state, link: "disconnected" };
  waiting = 9;
  await clock.advance(10 * MINUTE_MS);
  const [half] = hours();
  expect(half).toMatchObject({ refusingMs: 0, waitingMax: 9 });
  expect(half?.readyMs).toBeCloseTo(10 * MINUTE_MS, -5);
  expect(half?.noLinkMs).toBeCloseTo(10 * MINUTE_MS, -5);
  await clock.advance(24 * HOUR_MS);
  await watch.close();
  const kept = hours();
  expect(kept.length).toBeGreaterThan(22);
  expect(kept.length).toBeLessThan(27);
  expect(kept.every(({ atMs }) => atMs % HOUR_MS === 0)).toBe(true);
});
