import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { AppError } from "../../../src/shared/catalog/errors.ts";
import { AttemptWriter } from "../../../src/tp-manager/attempts/attempt-writer.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import type { PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { alarms, type House, house, pay, request } from "../../support/house/payment-house.ts";
import {
  approved,
  broken,
  decided,
  deliver,
  deliverAfterProof,
  found,
  held,
  mayBeOut,
  noGoods,
  raised,
  reversal,
  silent,
  twoPhase,
  uncharged,
  withheld,
} from "../../support/house/two-phase-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { aborted, lost } from "../../support/terminals/scripted-terminal.ts";

/**
 * Goods, window, lost line, operator, restart and second attempt in orders that a kiosk is not
 * supposed to choose (docs/design.md 5.12). In each of them what the kiosk reported last counts.
 */

const nothingReported = { kind: "not-told", why: "bare completion" } as const;
const settled = (outcome: "charged" | "not_charged") =>
  ({ orderId: "A-1", outcome, note: "seen at the bank" }) as const;
const mayBuyAgain = { charged: "no", retry: "safe" };

/** Reports about the goods while the terminal shows nothing about the order. */
async function deliverInDoubt(at: House, delivered: boolean) {
  at.terminal.last = nothingReported;
  const answer = deliver(at, delivered);
  answer.catch(() => undefined);
  await at.clock.advance(225_000);
  return answer;
}

/** The terminal has stored a sale that can be the order's, after the order was answered. */
function storesTheSale({ journal, clock, log }: House): void {
  const attempt = journal.attempts.decisive("A-1");
  if (!attempt) throw new Error("there is no such order");
  const writer = new AttemptWriter(attempt, { journal, clock, log });
  writer.advance({ input: "found-in-doubt", report: report(), because: "it is stored" });
}

test("no goods, reported as the time is over and the line is lost, count", async () => {
  const { at, ends } = await held();
  await at.clock.advance(30_000);
  const answer = deliver(at, false);
  await at.clock.advance(1_000);
  at.terminal.last = { kind: "transaction", report: reversal };
  ends(lost("line broken"));
  expect((await answer).body.status).toBe("Unknown");
  await at.clock.advance(225_000);
  expect(await found(at)).toMatchObject({ error: mayBuyAgain, late: [{ goods: "not-issued" }] });
  expect(raised(at)).toEqual([]);
});

test("goods, reported as the time is over, count while nobody can judge the order", async () => {
  const { at, ends } = await held();
  await at.clock.advance(30_000);
  at.orders.decisiveAfterProbe = () => Promise.reject(new AppError("STORES_DISAGREE"));
  const answer = deliver(at, true);
  ends(aborted);
  await expect(answer).rejects.toMatchObject({ code: "STORES_DISAGREE" });
  expect(await found(at)).toMatchObject({ error: mayBeOut, late: [{ goods: "issued" }] });
  expect(raised(at)).toHaveLength(1);
});

test("silence that an earlier version has written is no report of the kiosk", async () => {
  const before = await silent();
  before.close();
  const database = new DatabaseSync(before.path);
  database.exec(`UPDATE attempt_event SET detail = json_remove(detail, '$.unsaid'),
    input = json_set(json_remove(input, '$.decision.unsaid'), '$.unsaid', json('true'))
    WHERE kind = 'goods-decided'`);
  database.close();
  const at = house(before.path);
  expect((await deliver(at, false)).body.error).toMatchObject(noGoods);
  expect((await found(at)).late).toEqual([{ goods: "not-issued" }]);
});

test("a sale that is found after silence does not make the order free to buy again", async () => {
  const at = await silent();
  storesTheSale(at);
  expect((await found(at)).status).toBe("Unknown");
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
});

test("goods, reported after such a sale was found, count for the operator's finding", async () => {
  const at = await withheld();
  storesTheSale(at);
  await expect(deliverInDoubt(at, true)).rejects.toMatchObject(decided("unknown"));
  expect(raised(at)).toHaveLength(1);
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(1);
});

test("no goods, reported after such a sale was found, leave the order free", async () => {
  const at = await silent();
  storesTheSale(at);
  await expect(deliverInDoubt(at, false)).rejects.toMatchObject(decided("unknown"));
  await at.settle(settled("not_charged"));
  expect((await found(at)).error).toMatchObject({ code: "SETTLED_NOT_CHARGED", ...mayBuyAgain });
  expect(raised(at)).toEqual([]);
});

test("goods in time are alarmed when an operator corrects the charge", async () => {
  const at = await broken();
  expect((await deliver(at, true)).body.status).toBe("Unknown");
  await at.settle(settled("charged"));
  expect(raised(at)).toEqual([]);
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(1);
});

test("goods that were alarmed in doubt are alarmed again by a correction", async () => {
  const at = await broken();
  await deliver(at, false);
  await expect(deliverInDoubt(at, true)).rejects.toMatchObject(decided("unknown"));
  await at.settle(settled("charged"));
  expect(raised(at)).toHaveLength(1);
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(2);
});

test.each([
  [true, { ...uncharged, error: mayBeOut }, 1],
  [false, { error: { code: "SETTLED_NOT_CHARGED", ...mayBuyAgain } }, 0],
])("goods (%s), reported while it counts as charged, outlast the correction", async (...row) => {
  const [out, end, count] = row;
  const at = await broken();
  await deliver(at, !out);
  await at.settle(settled("charged"));
  const answer = deliver(at, out);
  if (out) expect((await answer).body.status).toBe("Success");
  else await expect(answer).rejects.toMatchObject(decided("yes"));
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...end, late: [{}] });
  expect(raised(at)).toHaveLength(count);
});

test("goods that the kiosk took back are not alarmed by the proof", async () => {
  const at = await broken();
  expect((await deliver(at, true)).body.status).toBe("Unknown");
  await expect(deliverInDoubt(at, false)).rejects.toMatchObject(decided("unknown"));
  expect((await deliverAfterProof(at, false)).body.error).toMatchObject(mayBuyAgain);
  expect(raised(at)).toEqual([]);
});

/** Another attempt of the order, whose card nobody has put in yet, and its answer. */
async function unapproved(at: House, asked = twoPhase) {
  let ends = (_end: PaymentEnd): void => {};
  at.terminal.script = () =>
    new Promise((resolve) => {
      ends = resolve;
    });
  const answer = pay(at, asked);
  await at.clock.advance(0);
  return { ends: (end: PaymentEnd) => ends(end), answer };
}

const refused: PaymentEnd = { ...aborted, reason: "declined" };
const unsold = { ...uncharged, error: mayBeOut };

/** How many late reports about goods each attempt has. */
async function lateOfEach(at: House): Promise<number[]> {
  const { attempts } = await at.orders.lookUp("A-1");
  const isLate = ({ kind }: { kind: string }) => kind === "goods-decided-late";
  return attempts.map(({ events }) => events.filter(isLate).length);
}

test.each([
  ["a two-phase sale", twoPhase],
  ["a sale without goods", request("A-1")],
])("goods of the first attempt outlast the decline of the second, %s", async (_, asked) => {
  const at = await withheld();
  const { ends, answer } = await unapproved(at, asked);
  for (let times = 0; times < 2; times += 1) {
    await expect(deliver(at, true)).rejects.toMatchObject(decided("unknown"));
    expect(raised(at)).toHaveLength(1);
  }
  ends(refused);
  const { http, body } = await answer;
  expect({ http, ...body }).toMatchObject(unsold);
  expect(await found(at)).toMatchObject(unsold);
  expect(await lateOfEach(at)).toEqual([1, 0]);
});

test("goods of the first attempt outlast a second that is declined and a third", async () => {
  const at = await withheld();
  (await unapproved(at)).ends(refused);
  await at.clock.advance(0);
  const { ends } = await unapproved(at);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("unknown"));
  ends(refused);
  await at.clock.advance(0);
  expect(await found(at)).toMatchObject(unsold);
  expect(await lateOfEach(at)).toEqual([1, 0, 0]);
});

test("goods of the first attempt outlast a second whose line is lost unapproved", async () => {
  const at = await withheld();
  const { ends } = await unapproved(at);
  ends(lost("line broken"));
  await expect(deliverInDoubt(at, true)).rejects.toMatchObject(decided("unknown"));
  expect(raised(at)).toHaveLength(1);
  const { attempt, delivery } = await at.settle(settled("not_charged"));
  expect(answerOf(attempt, delivery).body).toMatchObject({ status: "Cancelled", error: mayBeOut });
  expect(await lateOfEach(at)).toEqual([1, 0]);
});

test("goods that may be out outlast a second sale whose goods did not come out", async () => {
  const at = await silent();
  at.terminal.script = (_order, observer) => {
    observer.report(report({ receiptNumber: "0042", traceNumber: "000042" }));
    return new Promise((resolve) => {
      at.terminal.onDecision = () => resolve(aborted);
    });
  };
  expect((await pay(at, twoPhase)).body.status).toBe("Approved");
  for (let times = 0; times < 2; times += 1) {
    expect((await deliver(at, false)).body).toMatchObject({ error: mayBeOut });
  }
  expect(await lateOfEach(at)).toEqual([0, 0]);
  expect(raised(at)).toEqual([]);
});

test("a first attempt has no goods before its approval: nothing is kept or alarmed", async () => {
  const at = house();
  await unapproved(at);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("unknown"));
  expect((await found(at)).late).toEqual([]);
  expect(alarms(at)).toEqual([]);
});

test("goods of the first attempt are kept while the second is prepared", async () => {
  const at = await withheld();
  at.terminal.prepare = () => new Promise(() => undefined);
  void at.orders.pay(twoPhase).catch(() => undefined);
  await at.clock.advance(0);
  await expect(deliver(at, true)).rejects.toMatchObject({ code: "PAYMENT_RUNNING" });
  const [first] = at.journal.attempts.ofOrder("A-1");
  expect(first?.state).toMatchObject({ outcome: { newer: "DELIVERY_UNCONFIRMED" } });
  expect(raised(at)).toHaveLength(1);
});

test("goods of the first attempt: after the second's decline nobody buys again", async () => {
  const at = await withheld();
  const { ends } = await unapproved(at);
  ends(refused);
  await at.clock.advance(0);
  expect((await found(at)).error).toMatchObject({ code: "PAYMENT_DECLINED", ...mayBuyAgain });
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  expect(await found(at)).toMatchObject(unsold);
  expect(raised(at)).toHaveLength(1);
  const { body } = await deliver(at, false);
  expect(body.error).toMatchObject({ code: "PAYMENT_DECLINED", ...mayBuyAgain });
  expect(await lateOfEach(at)).toEqual([2, 0]);
});

test("a second attempt may be charged after goods without a charge, once", async () => {
  const at = await silent();
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  at.terminal.script = (_order, observer) => {
    observer.report(report({ receiptNumber: "0042", traceNumber: "000042" }));
    return new Promise((resolve) => {
      at.terminal.onDecision = () => resolve({ end: "completed", ticket: "" });
    });
  };
  expect((await pay(at, twoPhase)).body.status).toBe("Approved");
  expect((await deliver(at, true)).body.status).toBe("Success");
  expect(at.supervisor.stored).toHaveLength(1);
  expect(raised(at)).toHaveLength(1);
});

test.each([true, false])("a reversed order refuses each decision: goods out, %s", async (out) => {
  const at = await approved();
  await deliver(at, true);
  at.terminal.stores(report());
  await at.afterSale.reverse("A-1");
  const before = alarms(at);
  for (let times = 0; times < 2; times += 1) {
    await expect(deliver(at, out)).rejects.toMatchObject(decided("no"));
  }
  const late = out ? [] : [{ goods: "not-issued" }];
  expect(await found(at)).toMatchObject({ status: "Reversed", late });
  expect(alarms(at)).toEqual(before);
});

test("goods that come out after the money went back at the gateway are alarmed", async () => {
  const at = await approved();
  const { transactionId } = (await deliver(at, true)).body;
  await expect(deliver(at, false)).rejects.toMatchObject(decided("yes"));
  const noted = { transactionId: String(transactionId), returnedMinor: 999 };
  at.journal.returns.noteReturns([noted], at.clock.now());
  expect(raised(at)).toEqual([]);
  expect((await deliver(at, true)).body.status).toBe("Reversed");
  expect((await found(at)).late).toEqual([{ goods: "not-issued" }, { goods: "issued" }]);
  expect(raised(at)).toHaveLength(1);
});

test("a decision in doubt outlasts a restart", async () => {
  const before = await broken();
  await deliver(before, false);
  await expect(deliverInDoubt(before, true)).rejects.toMatchObject(decided("unknown"));
  before.close();
  const at = house(before.path);
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(1);
});

test("goods before a restart are alarmed by the operator's finding after it", async () => {
  const before = await broken();
  expect((await deliver(before, true)).body.status).toBe("Unknown");
  before.close();
  const at = house(before.path);
  at.terminal.last = nothingReported;
  at.start();
  await at.clock.advance(225_000);
  expect(raised(at)).toEqual([]);
  await at.settle(settled("not_charged"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(1);
});

test("a part of the goods, too late, is goods that may be out", async () => {
  const at = await silent();
  await expect(at.afterSale.deliver("A-1", true, 500)).rejects.toMatchObject(decided("no"));
  const late = [{ goods: "partly-issued", amountMinor: 500 }];
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut, late });
  expect(raised(at)).toHaveLength(1);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  expect((await found(at)).late).toEqual([...late, { goods: "issued" }]);
  expect(raised(at)).toHaveLength(1);
});
