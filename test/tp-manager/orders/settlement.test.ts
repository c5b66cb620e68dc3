import { expect, test } from "vitest";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { approves, lost } from "../../support/terminals/scripted-terminal.ts";

/** An order in doubt that no probe could prove. */
async function unknown(reported: boolean): Promise<House> {
  const at = house();
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.script = (_order, observer) => {
    if (reported) observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  at.terminal.script = approves;
  return at;
}

const decision = (outcome: "charged" | "not_charged" | "reversed") => ({
  orderId: "A-1",
  outcome,
  note: "seen on the terminal's own receipt",
});

test("an order settled as charged is answered and handed off like any other", async () => {
  const at = await unknown(true);
  const { attempt } = await at.settle(decision("charged"));
  await at.clock.advance(0);
  expect(attempt.state).toMatchObject({ phase: "charged", by: "operator" });
  expect(at.supervisor.stored).toMatchObject([
    { orderId: "A-1", origin: "operator", receiptNumber: "0002" },
  ]);
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  expect(at.terminal.paid).toHaveLength(1);
});

test("an order settled as charged without a report is handed off without card data", async () => {
  const at = await unknown(false);
  await at.settle(decision("charged"));
  await at.clock.advance(0);
  expect(at.supervisor.stored).toMatchObject([
    { amountMinor: 999, maskedPan: null, authorisationNumber: null, receiptNumber: null },
  ]);
});

test("an order settled as not charged may be paid again", async () => {
  const at = await unknown(true);
  await at.settle(decision("not_charged"));
  expect(at.supervisor.stored).toEqual([]);
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  expect(at.terminal.paid).toHaveLength(2);
});

test("the operator's decision and note stay with the order", async () => {
  const at = await unknown(true);
  await at.settle(decision("charged"));
  const { attempts } = await at.orders.lookUp("A-1");
  expect(attempts[0]?.events.at(-1)).toMatchObject({
    kind: "settled-by-operator",
    detail: { outcome: "charged", note: "seen on the terminal's own receipt" },
  });
});

test("only an order in doubt can be settled, and only once", async () => {
  const at = await unknown(true);
  await expect(async () => at.settle(decision("reversed"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
    message:
      "That outcome is not possible for what is in doubt here; possible: charged, not_charged.",
    charged: "unknown",
  });
  await at.settle(decision("charged"));
  await expect(async () => at.settle(decision("charged"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
    charged: "yes",
  });
});

test("a reversal in doubt is settled as reversed or as charged", async () => {
  for (const [settled, phase] of [
    ["reversed", "reversed"],
    ["charged", "charged"],
  ] as const) {
    const at = house();
    at.terminal.remembers = true;
    await pay(at, request("A-1"));
    at.terminal.last = { kind: "not-told", why: "bare completion" };
    at.terminal.reversal = () => Promise.resolve(lost("line broken"));
    await at.afterSale.reverse("A-1");
    await at.clock.advance(0);
    const { attempt } = await at.settle(decision(settled));
    expect(attempt.state.phase).toBe(phase);
    await at.clock.advance(0);
    expect(at.supervisor.withdrawn).toHaveLength(settled === "reversed" ? 1 : 0);
  }
});

test("a refused report is no proof of a reversal that an operator found done", async () => {
  const at = house();
  at.terminal.remembers = true;
  const sold = await pay(at, request("A-1"));
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.reversal = (_order, observer) => {
    const refusal = { ...declined(), amountMinor: null };
    observer.report({ ...refusal, receipt: { ...refusal.receipt, ticketHeader: "REFUSED" } });
    return Promise.resolve(lost("line broken"));
  };
  await at.afterSale.reverse("A-1");
  const { attempt, delivery } = await at.settle(decision("reversed"));
  const { body } = answerOf(attempt, delivery);
  expect(body).toMatchObject({ status: "Reversed", chargedAmount: 9.99 });
  expect(body.receipt).toEqual(sold.body.receipt);
  await at.clock.advance(0);
  expect(at.journal.archive.putAway(at.clock.now() + 1, 100).archived).toBe(1);
  const archived = await at.orders.lookUp("A-1");
  expect(answerOf(archived.attempt, null).body).toMatchObject({
    status: "Reversed",
    chargedAmount: 9.99,
  });
});

test("a settled amount is from 1 to the approved one, and for charged only", async () => {
  for (const [outcome, amountMinor] of [
    ["charged", 0],
    ["charged", 1000],
    ["not_charged", 999],
  ] as const) {
    const at = await unknown(true);
    const settle = async () => at.settle({ ...decision(outcome), amountMinor });
    await expect(settle).rejects.toMatchObject({ code: "REQUEST_INVALID", charged: "unknown" });
  }
  const at = await unknown(true);
  const { attempt } = await at.settle({ ...decision("charged"), amountMinor: 1 });
  expect(answerOf(attempt, null).body.chargedAmount).toBe(0.01);
});

test("a terminal that reported another amount leaves two amounts to choose from", async () => {
  const at = house();
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.script = (_order, observer) => {
    observer.report(report({ amountMinor: 1200 }));
    return Promise.resolve(lost("line broken"));
  };
  expect((await pay(at, request("A-1"))).body.chargedAmount).toBeNull();
  await expect(async () => at.settle(decision("charged"))).rejects.toMatchObject({
    message: expect.stringContaining("9.99 or 12.00"),
  });
  await at.settle({ ...decision("charged"), amountMinor: 1200 });
  await at.clock.advance(0);
  expect(at.supervisor.stored).toMatchObject([{ amountMinor: 1200, cart: [] }]);
});

test("a second decision corrects charged, and the hand-off is withdrawn", async () => {
  const at = await unknown(true);
  await at.settle(decision("charged"));
  await at.clock.advance(0);
  const { attempt } = await at.settle({ ...decision("not_charged"), note: "the other machine" });
  await at.clock.advance(0);
  expect(answerOf(attempt, null).body).toMatchObject({ status: "Failed", chargedAmount: 0 });
  expect(at.supervisor.withdrawn).toHaveLength(1);
  // The gateway has the order, so the operator has to correct it there.
  expect(at.lines.filter((line) => line.includes("reversed-after-sending"))).toHaveLength(1);
  const { attempts } = await at.orders.lookUp("A-1");
  const decisions = attempts[0]?.events.filter(({ kind }) => kind === "settled-by-operator");
  expect(decisions?.map(({ detail }) => detail)).toMatchObject([
    { outcome: "charged", note: "seen on the terminal's own receipt" },
    { outcome: "not_charged", note: "the other machine" },
  ]);
  // An operator corrects a decision once.
  await expect(async () => at.settle(decision("charged"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
  });
});

test("a second decision corrects not charged, and the sale is handed off", async () => {
  const at = await unknown(true);
  await at.settle(decision("not_charged"));
  const { attempt } = await at.settle(decision("charged"));
  await at.clock.advance(0);
  expect(answerOf(attempt, null).body).toMatchObject({ status: "Success", chargedAmount: 9.99 });
  expect(at.supervisor.stored).toMatchObject([{ origin: "operator", receiptNumber: "0002" }]);
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  expect(at.terminal.paid).toHaveLength(1);
});

test("a second decision corrects only an operator's decision on the latest attempt", async () => {
  const proved = house();
  await pay(proved, request("A-1"));
  await expect(async () => proved.settle(decision("not_charged"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
  });
  const again = await unknown(true);
  await again.settle(decision("not_charged"));
  await pay(again, request("A-1"));
  await expect(async () => again.settle(decision("charged"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
    charged: "yes",
  });
  const archived = await unknown(true);
  await archived.settle(decision("not_charged"));
  archived.journal.archive.putAway(archived.clock.now() + 1, 100);
  await expect(async () => archived.settle(decision("charged"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
  });
});

test("an operator's decision stands when recovery ends later", async () => {
  const at = house();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, request("A-1"));
  await at.settle(decision("charged"));
  await at.clock.advance(200_000);
  expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({ phase: "charged" });
});

test("a decision for charged while the terminal is prepared stops the second command", async () => {
  const at = await unknown(true);
  await at.settle(decision("not_charged"));
  const ready = Promise.withResolvers<void>();
  const prepare = at.terminal.prepare.bind(at.terminal);
  at.terminal.prepare = async (signal) => {
    await ready.promise;
    return await prepare(signal);
  };
  const asked = pay(at, request("A-1"));
  await at.settle(decision("charged"));
  ready.resolve();
  expect(outcome(await asked)).toBe("Success");
  expect(at.terminal.paid).toHaveLength(1);
  expect(at.journal.attempts.decisive("A-1")?.number).toBe(1);
  // The next order is paid as ever.
  expect(outcome(await pay(at, request("A-2")))).toBe("Success");
});

test("a settlement that cannot be written leaves open whether the order is charged", async () => {
  const at = await unknown(true);
  const attempt = at.journal.attempts.decisive("A-1");
  if (!attempt) throw new Error("no attempt");
  at.journal.attempts.update = () => {
    throw new Error("disk is full");
  };
  const settle = () =>
    at.arbiter.settle(attempt, { outcome: "charged", report: report(), note: "a receipt" });
  expect(settle).toThrow(expect.objectContaining({ code: "STORAGE_FAILED", charged: "unknown" }));
});
