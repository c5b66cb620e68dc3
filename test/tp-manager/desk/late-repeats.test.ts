import { describe, expect, test } from "vitest";
import type { LastTransaction, PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/payment-house.ts";
import { baseline, report } from "../../support/reports.ts";
import { approves, disconnected, lost } from "../../support/scripted-terminal.ts";

const aborted: PaymentEnd = {
  ...{ end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" },
};
const phase = (at: House, orderId = "A-1") => at.journal.attempts.latest(orderId)?.state.phase;

/** Order A-1 was turned away by the terminal, and its repetition never left. */
async function repeatedInVain(): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve(aborted);
  expect(outcome(await pay(at, request("A-1")))).toBe("Cancelled");
  at.terminal.script = approves;
  at.terminal.unavailable = disconnected();
  expect(outcome(await pay(at, request("A-1")))).toBe("Failed");
  at.terminal.unavailable = undefined;
  return at;
}

async function soldLate(at: House): Promise<void> {
  const last: LastTransaction = { kind: "transaction", report: report() };
  at.terminal.last = last;
  at.terminal.baseline = { ...baseline, last };
  at.terminal.tell({ type: "unmatched-report", report: report() });
  await at.clock.advance(30_000);
}

describe("a late sale of an order that was tried again in vain (docs/design.md 3.19)", () => {
  test("charges it, and it is not paid again", async () => {
    const at = await repeatedInVain();
    await soldLate(at);
    expect(phase(at)).toBe("charged");
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-1"]);
  });

  test("that can be another order's too makes it unknown, and it is not paid again", async () => {
    const at = await repeatedInVain();
    at.terminal.script = () => Promise.resolve(aborted);
    expect(outcome(await pay(at, request("B-1")))).toBe("Cancelled");
    at.terminal.script = () => Promise.resolve(lost("nobody is asked to pay"));
    await soldLate(at);
    expect([phase(at), phase(at, "B-1")]).toEqual(["in-doubt", "in-doubt"]);
    const answer = pay(at, request("A-1"));
    await at.clock.advance(300_000);
    expect(outcome(await answer)).toBe("Unknown");
    expect(at.terminal.paid).toHaveLength(2);
  });
});

// Its own command told the result, so no other order can have made it.
test("a result that another payment told again is found for its order", async () => {
  const at = house();
  at.start();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("the line broke"));
  };
  for (const [orderId, amountMinor] of [
    ["A-1", 999],
    ["B-1", 500],
  ] as const) {
    expect(outcome(await pay(at, request(orderId, { amountMinor })))).toBe("Unknown");
    await at.clock.advance(400_000);
    expect(phase(at, orderId)).toBe("not-charged");
  }
  at.terminal.stores(report());
  const again = pay(at, request("A-1")).catch((error: unknown) => error);
  await at.clock.advance(400_000);
  await again;
  expect(phase(at)).toBe("charged");
  expect(at.terminal.paid).toHaveLength(2);
});
