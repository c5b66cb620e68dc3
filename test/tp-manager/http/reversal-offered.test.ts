import { expect, test } from "vitest";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { baseline, report } from "../../support/terminals/reports.ts";
import { reverses } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

/** What an order says of its reversal: whether one is offered, and whether one runs. */

const order = { orderId: "A-1" };
const last = { kind: "transaction", report: report() } as const;

async function imported(): Promise<House> {
  const from = house();
  await pay(from, request("A-1"));
  const [transaction] = from.supervisor.stored;
  if (!transaction) throw new Error("nothing was handed off");
  const known = { transaction, returnedMinor: 0, openReturn: null } as const;
  const at = house();
  const orders = [{ ...known, state: "sent", reversed: false }] as const;
  at.journal.gaps.importOrders(orders, { to: 1, done: true }, at.clock.now());
  return at;
}

async function archived(): Promise<House> {
  const at = house();
  await pay(at, request("A-1"));
  at.journal.archive.putAway(at.clock.now() + 1, 100);
  return at;
}

test("a reversal that runs is not called a payment that runs", async () => {
  const at = house();
  const { call } = await api({}, at);
  await pay(at, request("A-1"));
  Object.assign(at.terminal, { last, baseline: { ...baseline, last } });
  const errors: unknown[] = [];
  at.terminal.reversal = async (reversal, observer) => {
    errors.push((await call("GET", "/payment/A-1")).one.error);
    return await reverses(reversal, observer);
  };
  expect((await call("POST", "/reversal", order)).one.status).toBe("Reversed");
  const running = { code: "PAYMENT_RUNNING", details: { inDoubt: "reversal" } };
  expect(errors).toMatchObject([running]);
});

test.each([
  ["imported", imported],
  ["archived", archived],
])("no reversal is offered of an order that was %s, and its refusal says why", async (_, made) => {
  const at = await made();
  Object.assign(at.terminal, { last, baseline: { ...baseline, last } });
  const asked = await api({ operator: { login: "boss", password: "secret" } }, at);
  const headers = { authorization: `Basic ${btoa("boss:secret")}` };
  const { http, one } = await asked.call("GET", "/story/A-1", undefined, headers);
  expect([http, one.status, one.may]).toEqual([200, "Success", ["cancel", "refund"]]);
  const refused = await asked.call("POST", "/reversal", order, headers);
  expect(refused.one.error).toMatchObject({
    code: "REVERSAL_REFUSED",
    charged: "yes",
    message: "Which terminal made the sale is not known any more.",
  });
});
