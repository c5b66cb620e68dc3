import { expect, test } from "vitest";
import { houseOf, loses, running, sold } from "../../support/house/by-id-house.ts";
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
