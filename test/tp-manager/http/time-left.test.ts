import { expect, test } from "vitest";
import type { HubEvent } from "../../../src/tp-manager/http/events/event-hub.ts";
import type { PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { ScriptedTerminal } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

/** A house whose terminal waits for a card, the API on its clock, and the events so far. */
async function waiting(terminal = new ScriptedTerminal(), paymentTimeoutMs = 180_000) {
  const at = house(undefined, terminal, { paymentTimeoutMs });
  const { call } = await api({ clock: at.clock }, at);
  const events: HubEvent[] = [];
  at.hub.subscribe((event) => events.push(event));
  const { promise, resolve: end } = Promise.withResolvers<PaymentEnd>();
  terminal.script = () => promise;
  const answer = at.orders.pay(request("A-1"));
  await at.clock.advance(0);
  const left = async () => {
    const { http, one } = await call("GET", "/payment/A-1");
    const { running } = (await call("GET", "/health")).one;
    const { endsAt, secondsLeft } = one;
    if (running) expect(running).toMatchObject({ orderId: "A-1", endsAt, secondsLeft });
    return [http, endsAt, secondsLeft];
  };
  const begunMs = at.clock.now();
  const after = (seconds: number): string => new Date(begunMs + seconds * 1_000).toISOString();
  return { at, events, end, answer, left, after };
}

const timesOf = (events: readonly HubEvent[]) =>
  events.flatMap(({ name, data }) =>
    name === "payment" ? [[data.state, data.endsAt, data.secondsLeft]] : [],
  );
const warningsOf = (events: readonly HubEvent[]) =>
  events.flatMap(({ name, data }) => (name === "time-warning" ? [data] : []));

test("a running payment says when its time ends, in its event and in the lookups", async () => {
  const { at, events, end, answer, left, after } = await waiting();
  expect(timesOf(events)).toEqual([["running", after(180), 180]]);
  expect(await left()).toEqual([504, after(180), 180]);
  await at.clock.advance(100_500);
  expect(await left()).toEqual([504, after(180), 80]);
  await at.clock.advance(90_000);
  expect(await left()).toEqual([504, after(180), 0]);
  end({ end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" });
  await at.clock.advance(60_000);
  await answer;
  expect(await left()).toEqual([200, null, null]);
  expect(timesOf(events).at(-1)).toEqual(["cancelled", null, null]);
});

test("another order has no time while a payment runs", async () => {
  const { at, end, answer } = await waiting();
  const { call } = await api({ clock: at.clock }, at);
  expect((await call("GET", "/payment/A-2")).one).not.toHaveProperty("endsAt");
  end({ end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" });
  await at.clock.advance(60_000);
  await answer;
  at.terminal.script = () => new Promise(() => {});
  void at.orders.pay(request("A-2"));
  await at.clock.advance(0);
  expect((await call("GET", "/payment/A-1")).one).toMatchObject({ endsAt: null });
  expect((await call("GET", "/payment/A-2")).one).toMatchObject({ secondsLeft: 180 });
});

test.each([
  [180, 150, 30],
  [60, 30, 30],
  [10, 5, 5],
])("of %s s the customer is warned once, after %s s", async (limit, waits, secondsLeft) => {
  const { at, events, after } = await waiting(new ScriptedTerminal(), limit * 1_000);
  await at.clock.advance(waits * 1_000 - 1);
  expect(warningsOf(events)).toEqual([]);
  await at.clock.advance(limit * 2_000);
  expect(warningsOf(events)).toEqual([
    { orderId: "A-1", transactionId: expect.any(String), endsAt: after(limit), secondsLeft },
  ]);
});

test("a payment that has ended before warns of nothing", async () => {
  const { at, events, end, answer } = await waiting();
  await at.clock.advance(149_000);
  end({ end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" });
  await at.clock.advance(60_000);
  await answer;
  expect(warningsOf(events)).toEqual([]);
});

test("a terminal that cannot be cancelled sets no end", async () => {
  const terminal = new ScriptedTerminal();
  Object.defineProperty(terminal, "cancel", { value: undefined });
  const { at, events, left } = await waiting(terminal);
  expect(timesOf(events)).toEqual([["running", null, null]]);
  expect(await left()).toEqual([504, null, null]);
  await at.clock.advance(200_000);
  expect(warningsOf(events)).toEqual([]);
});

test("an approved sale says until when it waits for its goods, without a warning", async () => {
  const at = house();
  const { call } = await api({ clock: at.clock }, at);
  const events: HubEvent[] = [];
  at.hub.subscribe((event) => events.push(event));
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return new Promise(() => {});
  };
  await at.clock.advance(0);
  const endsAt = new Date(at.clock.now() + 170_000).toISOString();
  await pay(at, request("A-1", { delivery: { withinSeconds: 170 } }));
  expect(timesOf(events).at(-1)).toEqual(["approved", endsAt, 170]);
  await at.clock.advance(160_000);
  expect((await call("GET", "/payment/A-1")).one).toMatchObject({ endsAt, secondsLeft: 10 });
  expect(warningsOf(events)).toEqual([]);
  await at.clock.advance(10_000);
  expect(timesOf(events).at(-1)).toEqual(["running", null, null]);
  expect((await call("GET", "/payment/A-1")).one).toMatchObject({ endsAt: null });
});

test("each attempt of an order has a time of its own", async () => {
  const { at, events, end, answer, after } = await waiting();
  await at.clock.advance(50_000);
  at.terminal.script = (_order, observer) => {
    observer.report(declined());
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  end({ end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" });
  await at.clock.advance(60_000);
  await answer;
  const again = at.clock.now();
  await pay(at, request("A-1"));
  const running = timesOf(events).filter(([state]) => state === "running");
  expect(running).toEqual([
    ["running", after(180), 180],
    ["running", new Date(again + 180_000).toISOString(), 180],
  ]);
});
