import { expect, test } from "vitest";
import { type House, house, outcome, pay, request } from "../../support/payment-house.ts";
import { report } from "../../support/reports.ts";
import { approves, lost } from "../../support/scripted-terminal.ts";

/** An order that recovery has asked about and could not settle. */
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

const word = (outcome: "charged" | "not_charged" | "reversed") => ({
  orderId: "A-1",
  outcome,
  note: "seen on the terminal's own receipt",
});

test("settled as charged, the sale is answered and handed over like any other", async () => {
  const at = await unknown(true);
  const { attempt } = await at.settle(word("charged"));
  await at.clock.advance(0);
  expect(attempt.state).toMatchObject({ phase: "charged", by: "operator" });
  expect(at.supervisor.stored).toMatchObject([
    { orderId: "A-1", origin: "operator", receiptNumber: "0002" },
  ]);
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  expect(at.terminal.paid).toHaveLength(1);
});

test("settled as charged without any report, nothing is made up", async () => {
  const at = await unknown(false);
  await at.settle(word("charged"));
  await at.clock.advance(0);
  expect(at.supervisor.stored).toMatchObject([
    { amountMinor: 999, maskedPan: null, authorisationNumber: null, receiptNumber: null },
  ]);
});

test("settled as not charged, the order may be paid again", async () => {
  const at = await unknown(true);
  await at.settle(word("not_charged"));
  expect(at.supervisor.stored).toEqual([]);
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  expect(at.terminal.paid).toHaveLength(2);
});

test("the operator's word and note stay with the order", async () => {
  const at = await unknown(true);
  await at.settle(word("charged"));
  const { attempts } = await at.orders.lookUp("A-1");
  expect(attempts[0]?.events.at(-1)).toMatchObject({
    kind: "settled-by-operator",
    detail: { outcome: "charged", note: "seen on the terminal's own receipt" },
  });
});

test("only what is in doubt can be settled, once", async () => {
  const at = await unknown(true);
  await expect(async () => at.settle(word("reversed"))).rejects.toMatchObject({
    code: "NOTHING_TO_SETTLE",
    charged: "unknown",
  });
  await at.settle(word("charged"));
  await expect(async () => at.settle(word("not_charged"))).rejects.toMatchObject({
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
    await pay(at, request("A-1"));
    at.terminal.last = { kind: "not-told", why: "bare completion" };
    at.terminal.reversal = () => Promise.resolve(lost("line broken"));
    await at.afterSale.reverse("A-1");
    await at.clock.advance(0);
    const { attempt } = await at.settle(word(settled));
    expect(attempt.state.phase).toBe(phase);
    await at.clock.advance(0);
    expect(at.supervisor.withdrawn).toHaveLength(settled === "reversed" ? 1 : 0);
  }
});

test("an operator who is faster than recovery wins, and recovery leaves it alone", async () => {
  const at = house();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, request("A-1"));
  await at.settle(word("charged"));
  await at.clock.advance(200_000);
  expect(at.journal.attempts.latest("A-1")?.state).toMatchObject({ phase: "charged" });
});
