import { describe, expect, test } from "vitest";
import {
  alarms,
  type House,
  house,
  outcome,
  pay,
  request,
} from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import {
  aborted,
  approves,
  disconnected,
  lost,
} from "../../support/terminals/scripted-terminal.ts";

const phase = (at: House, orderId = "A-1") => at.journal.attempts.decisive(orderId)?.state.phase;

/** Order A-1 was turned away by the terminal, and its second attempt was never sent. */
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

async function soldLate(at: House, reported = report()): Promise<void> {
  at.terminal.stores(reported);
  at.terminal.emit({ type: "unmatched-report", report: reported });
  await at.clock.advance(30_000);
}

describe("a late sale of an order whose next attempt is never sent (docs/rules/19-late.md)", () => {
  test("charges the order, and no second payment is sent", async () => {
    const at = await repeatedInVain();
    await soldLate(at);
    expect(phase(at)).toBe("charged");
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-1"]);
  });

  test("that can be another order's too makes both unknown and is not paid again", async () => {
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

/** The command reports its result, then the line breaks; the storage shows no new sale. */
async function lostAfterResult(at: House, orderId: string, amountMinor = 999): Promise<void> {
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("the line broke"));
  };
  expect(outcome(await pay(at, request(orderId, { amountMinor })))).toBe("Unknown");
  await at.clock.advance(400_000);
  expect(phase(at, orderId)).toBe("not-charged");
}

test("a second late sale of an order raises order-charged-twice and is handed off", async () => {
  const at = house();
  at.start();
  await lostAfterResult(at, "A-1");
  at.terminal.script = () => Promise.resolve(aborted);
  expect(outcome(await pay(at, request("A-1")))).toBe("Cancelled");
  await soldLate(at);
  expect(phase(at)).toBe("charged");
  await soldLate(at, report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130700" }));
  expect(alarms(at)).toContain("order-charged-twice");
  const handed = [{ receiptNumber: "0002" }, { receiptNumber: "0003" }];
  expect(at.supervisor.stored).toMatchObject(handed);
});

// The order's own command reported the result, so no other order can have made it.
test("a stored sale that a later payment reported again charges its own order", async () => {
  const at = house();
  at.start();
  await lostAfterResult(at, "A-1");
  await lostAfterResult(at, "B-1", 500);
  at.terminal.stores(report());
  const again = pay(at, request("A-1")).catch((error: unknown) => error);
  await at.clock.advance(400_000);
  await again;
  expect(phase(at)).toBe("charged");
  expect(at.terminal.paid).toHaveLength(2);
});

// The reversal certainly belongs to its order only while no other order is in doubt.
test.each([
  ["alone is in doubt: not charged", [], "not-charged"],
  ["is in doubt like another order: in doubt", ["B-1"], "in-doubt"],
] as const)("the reversal of a late result, when its order %s", async (_when, others, expected) => {
  const at = house();
  at.start();
  at.terminal.last = { kind: "not-told", why: "nothing to repeat" };
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  for (const orderId of others) await pay(at, request(orderId, { amountMinor: 500 }));
  await at.clock.advance(0);
  await pay(at, request("A-1"));
  at.terminal.emit({ type: "unmatched-report", report: report() });
  const back = { traceNumber: "000013", originalTrace: "000012", localTime: "130030" };
  at.terminal.last = { kind: "transaction", report: report(back) };
  await at.clock.advance(20_000);
  await at.arbiter.recovery.recover(at.orders.decisive("A-1").transactionId);
  expect(phase(at)).toBe(expected);
});

test("a late sale in the same second as an order's own sale awaits an operator", async () => {
  const at = house();
  at.start();
  await pay(at, request("A-1"));
  await soldLate(at, report({ receiptNumber: "0003", traceNumber: "000013" }));
  expect(at.journal.terminalLog.unmatched(9).map(({ finding }) => finding)).toEqual(["held"]);
});

test("a late sale of an order whose later charge was refunded makes it unknown", async () => {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve(aborted);
  await pay(at, request("A-1"));
  at.terminal.script = approves;
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  const { transactionId, request: asked } = at.orders.decisive("A-1");
  const given = { transactionId, returnedMinor: asked.amountMinor };
  at.journal.returns.noteReturns([given], at.clock.now());
  expect(at.orders.chargedOfOrder("A-1")).toBe("no");
  await soldLate(at, report({ receiptNumber: "0004", traceNumber: "000014" }));
  expect([at.orders.chargedOfOrder("A-1"), alarms(at)]).toEqual([
    "unknown",
    expect.arrayContaining(["payment-unknown"]),
  ]);
  const again = pay(at, request("A-1"));
  await at.clock.advance(300_000);
  expect(outcome(await again)).toBe("Unknown");
  expect(at.terminal.paid).toHaveLength(2);
});
