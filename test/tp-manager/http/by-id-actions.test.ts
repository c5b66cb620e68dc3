import { expect, test } from "vitest";
import { answered, houseOf, loses, running, sold } from "../../support/house/by-id-house.ts";
import { LIMIT_MS } from "../../support/terminals/asked-by-id.ts";
import { report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

/** What an operator is offered for an order of a terminal that is asked by id. */

const order = { orderId: "A-1" };

async function shop() {
  const { at, terminal } = houseOf();
  terminal.script = (_order, observer) => {
    observer.report(sold());
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const boss = { login: "boss", password: "secret" };
  const asked = await api({ operator: boss }, at);
  const headers = { authorization: `Basic ${btoa("boss:secret")}` };
  const call = (method: "GET" | "POST", path: string, body?: object) =>
    asked.call(method, path, body, headers);
  const may = async (): Promise<string[]> => (await call("GET", "/story/A-1")).one.may;
  return { at, terminal, call, may };
}

test("no decision is offered while the terminal can still carry the payment out", async () => {
  const { at, terminal, may } = await shop();
  terminal.recollection = running;
  await loses(at);
  expect(await may()).toEqual([]);
  await at.clock.advance(LIMIT_MS + 10_000);
  expect(await may()).toEqual(["settle"]);
});

test("the answer says what can be decided, about which attempt, and from when", async () => {
  const { at, terminal, call } = await shop();
  const settlement = async () => (await call("GET", "/story/A-1")).one.settlement;
  terminal.recollection = running;
  await loses(at);
  const decision = { attempt: 1, outcomes: ["charged", "not_charged"], amounts: [9.99] };
  expect(await settlement()).toEqual({ ...decision, from: expect.stringMatching(/Z$/) });
  terminal.recollection = answered({ amountMinor: 1_999 });
  await at.clock.advance(LIMIT_MS + 10_000);
  expect(await settlement()).toEqual({ ...decision, amounts: [9.99, 19.99], from: null });
  const said = { outcome: "charged", note: "in the account" };
  expect((await call("POST", "/payment/A-1/settle", said)).http).toBe(400);
  const { one } = await call("POST", "/payment/A-1/settle", { ...said, attempt: 1, amount: 19.99 });
  expect([one.status, one.chargedAmount]).toEqual(["Success", 19.99]);
  expect(await settlement()).toMatchObject({ outcomes: ["not_charged"], from: null });
});

test("an approval of another currency says nothing about the amount", async () => {
  const { at, terminal, call } = await shop();
  terminal.recollection = answered({ amountMinor: 1_999, currencyNumeric: "840" });
  await loses(at);
  await at.clock.advance(LIMIT_MS + 10_000);
  expect((await call("GET", "/story/A-1")).one.settlement.amounts).toEqual([9.99]);
});

test("no second reversal is offered, and its refusal says that one was sent", async () => {
  const { at, terminal, call, may } = await shop();
  await call("POST", "/payment", { ...order, amount: 9.99 });
  expect(await may()).toContain("reverse");
  terminal.reversal = () => Promise.resolve({ ...lost("received"), code: "requested" });
  await call("POST", "/reversal", order);
  await at.settle({ ...order, outcome: "charged", note: "it failed in the account" });
  expect(await may()).toEqual(["cancel", "refund"]);
  const { http, one } = await call("POST", "/reversal", order);
  expect([http, one.error.code]).toEqual([409, "REVERSAL_NOT_SAFE"]);
  expect(one.error.message).toMatch(/^An earlier reversal was sent, and .*\.$/);
});

test("a sale with an operator's amount is not reversed: its number is not known", async () => {
  const { at, terminal, call, may } = await shop();
  terminal.script = (_order, observer) => {
    observer.report(report({ amountMinor: 1000 }));
    return Promise.resolve(lost("line broken"));
  };
  terminal.recollection = { kind: "not-found" };
  await call("POST", "/payment", { ...order, amount: 9.99 });
  await at.clock.advance(LIMIT_MS + 10_000);
  await at.settle({ ...order, outcome: "charged", amountMinor: 500, note: "on the receipt" });
  expect(await may()).not.toContain("reverse");
  const { one } = await call("POST", "/reversal", order);
  expect(one.error).toMatchObject({
    code: "REVERSAL_REFUSED",
    message: "An operator settled this order: the sale's receipt number is not known.",
  });
});
