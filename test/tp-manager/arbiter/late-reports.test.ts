import { describe, expect, test } from "vitest";
import type { PaymentEnd, TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import {
  alarms,
  type House,
  house,
  outcome,
  pay,
  request,
} from "../../support/house/payment-house.ts";
import { baseline, declined, identity, report } from "../../support/terminals/reports.ts";
import { aborted, approves, lost } from "../../support/terminals/scripted-terminal.ts";

const late = report();
const findings = (at: House): string[] =>
  at.journal.terminalLog.unmatched(9).map(({ finding }) => finding);
const phases = (at: House, ...orders: string[]): unknown[] =>
  orders.map((orderId) => at.journal.attempts.decisive(orderId)?.state.phase);
const charges = (at: House): string[] => at.supervisor.stored.map(({ orderId }) => orderId);

function shows(at: House, stored: TransactionReport): void {
  const last = { kind: "transaction", report: stored } as const;
  at.terminal.last = last;
  at.terminal.baseline = { ...baseline, last };
}

/** The terminal itself has ended the payment of an order without a charge. */
async function turnedAway(orderId = "A-1", change = {}): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve(aborted);
  expect(outcome(await pay(at, request(orderId, change)))).toBe("Cancelled");
  at.terminal.script = approves;
  return at;
}

function reportedLate(at: House, reported = late, kept: TransactionReport = reported): void {
  shows(at, kept);
  at.terminal.emit({ type: "unmatched-report", report: reported });
}

/** Order A-1 was sold, and its reversal is in doubt. */
async function reversalInDoubt(): Promise<House> {
  const at = house();
  at.start();
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  shows(at, report());
  at.terminal.reversal = () => Promise.resolve(lost("line broken"));
  await at.afterSale.reverse("A-1");
  // A decline that the terminal has stored says nothing of the reversal before it.
  shows(at, { ...declined(), receiptNumber: "0043", traceNumber: "000013" });
  await at.clock.advance(400_000);
  expect(phases(at, "A-1")).toEqual(["reversal-in-doubt"]);
  return at;
}

describe("a sale reported or found after the end of a payment (docs/rules/19-late.md)", () => {
  test("charges its order although an old reversal of the amount is in doubt", async () => {
    const at = await reversalInDoubt();
    await at.clock.advance(3_600_000);
    at.terminal.script = () => Promise.resolve(aborted);
    expect(outcome(await pay(at, request("B-1")))).toBe("Cancelled");
    const number = { receiptNumber: "0044", traceNumber: "000014" };
    reportedLate(at, report({ ...number, localTime: "140705" }));
    await at.clock.advance(20_000);
    expect(phases(at, "A-1", "B-1")).toEqual(["reversal-in-doubt", "charged"]);
  });

  test("of no order raises an alarm though an old reversal of the amount is in doubt", async () => {
    const at = await reversalInDoubt();
    await at.clock.advance(3_600_000);
    const number = { receiptNumber: "0044", traceNumber: "000014" };
    shows(at, report({ ...number, localTime: "140705" }));
    const next = pay(at, request("B-1", { amountMinor: 500 })).catch((error: unknown) => error);
    await at.clock.advance(20_000);
    expect(await next).toMatchObject({ body: { error: { code: "TERMINAL_IN_DOUBT" } } });
    expect(alarms(at)).toEqual(
      expect.arrayContaining(["unmatched-transaction", "unmatched-transaction held"]),
    );
    // The terminal had shown what the journal knows since the start: nothing was lost.
    expect(alarms(at)).not.toContain("journal-lost");
  });

  test("is found before its order is paid again, while a reversal is in doubt", async () => {
    const at = await reversalInDoubt();
    at.terminal.script = () => Promise.resolve(aborted);
    expect(outcome(await pay(at, request("B-1")))).toBe("Cancelled");
    at.terminal.script = approves;
    const number = { receiptNumber: "0044", traceNumber: "000014" };
    shows(at, report({ ...number, localTime: "130645" }));
    const again = pay(at, request("B-1")).catch((error: unknown) => error);
    await at.clock.advance(400_000);
    await again;
    expect(at.terminal.paid).toHaveLength(2);
    expect(phases(at, "B-1")).toEqual(["charged"]);
    expect(findings(at)).toEqual(["known"]);
  });

  /** A-1 was turned away, the outcome of B-1 was lost, and a sale is stored but not reported. */
  async function neverReported(first: PaymentEnd = aborted, report1 = false): Promise<House> {
    const at = house();
    at.start();
    at.terminal.script = (_order, observer) => {
      if (report1) observer.report(declined());
      return Promise.resolve(first);
    };
    await pay(at, request("A-1"));
    await at.clock.advance(20_000);
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    await pay(at, request("B-1"));
    shows(at, report());
    at.terminal.baseline = baseline;
    await at.clock.advance(200_000);
    return at;
  }

  test("that was never reported leaves both orders that it can belong to in doubt", async () => {
    const at = await neverReported();
    expect(phases(at, "A-1", "B-1")).toEqual(["in-doubt", "in-doubt"]);
    shows(at, report());
    const again = pay(at, request("A-1")).catch((error: unknown) => error);
    await at.clock.advance(200_000);
    await again;
    expect(at.terminal.paid).toHaveLength(2);
    expect(phases(at, "A-1", "B-1")).toEqual(["in-doubt", "in-doubt"]);
  });

  test("that was never reported is not of a declined order, and charges the other", async () => {
    const at = await neverReported({ ...aborted, code: "05", reason: "declined" }, true);
    expect(phases(at, "A-1", "B-1")).toEqual(["not-charged", "charged"]);
  });

  test("charges its order, with warning and alarm, when the terminal has stored it", async () => {
    const at = await turnedAway();
    await at.clock.advance(400);
    reportedLate(at);
    await at.clock.advance(20_000);
    const again = await pay(at, request("A-1"));
    expect(again.body).toMatchObject({
      status: "Success",
      warnings: [expect.stringContaining("answered as not charged")],
    });
    expect(at.terminal.paid).toHaveLength(1);
    expect([charges(at), findings(at)]).toEqual([["A-1"], ["known"]]);
    expect(alarms(at)).toEqual(["charged-late", "unmatched-transaction"]);
  });

  test("makes a repetition of its order wait, and answers it with the charge", async () => {
    const at = await turnedAway();
    reportedLate(at);
    const again = pay(at, request("A-1"));
    const other = pay(at, request("B-1"));
    await expect(other).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT", charged: "no" });
    await at.clock.advance(20_000);
    expect(outcome(await again)).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("answers its order with charged unknown when no probe ends in time", async () => {
    const at = await turnedAway();
    reportedLate(at);
    at.terminal.lastTransaction = () => new Promise(() => {});
    const again = pay(at, request("A-1"));
    again.catch(() => undefined);
    await at.clock.advance(300_000);
    await expect(again).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT", charged: "unknown" });
  });

  test("that the terminal has reversed leaves its order not charged", async () => {
    const at = await turnedAway();
    const back = { traceNumber: "000013", originalTrace: "000012", localTime: "130030" };
    reportedLate(at, late, report(back));
    await at.clock.advance(20_000);
    expect(findings(at)).toEqual(["reversed"]);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
    at.terminal.script = (order, observer) => approves(order, observer, 9);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  const unfit: ReadonlyArray<readonly [string, Partial<TransactionReport>]> = [
    ["another amount", { amountMinor: 998 }],
    ["another currency", { currencyNumeric: "756" }],
  ];
  test.each(unfit)("of %s charges nothing and raises an alarm", async (_name, change) => {
    const at = await turnedAway();
    reportedLate(at, report(change));
    await at.clock.advance(20_000);
    expect([charges(at), findings(at)]).toEqual([[], ["held"]]);
    expect(alarms(at)[0]).toBe("unmatched-transaction held");
  });

  test("long after the end of the payment charges nothing and awaits an operator", async () => {
    const at = await turnedAway();
    await at.clock.advance(3_600_000);
    reportedLate(at, report({ localTime: "140005" }));
    await at.clock.advance(20_000);
    expect([charges(at), findings(at)]).toEqual([[], ["held"]]);
  });

  async function twoTurnedAway(): Promise<House> {
    const at = await turnedAway();
    at.terminal.script = () => Promise.resolve(aborted);
    expect(outcome(await pay(at, request("B-1")))).toBe("Cancelled");
    reportedLate(at);
    await at.clock.advance(20_000);
    at.terminal.script = approves;
    return at;
  }

  test("with two orders as candidates charges neither", async () => {
    const at = await twoTurnedAway();
    expect([charges(at), findings(at)]).toEqual([[], ["held"]]);
    expect(alarms(at)).toContain("unmatched-transaction held");
  });

  test("with two orders as candidates leaves both unknown, and not paid again", async () => {
    const at = await twoTurnedAway();
    expect(alarms(at).filter((alarm) => alarm === "payment-unknown")).toHaveLength(2);
    for (const orderId of ["A-1", "B-1"]) {
      const again = pay(at, request(orderId));
      await at.clock.advance(20_000);
      expect(outcome(await again)).toBe("Unknown");
    }
    expect(at.terminal.paid).toHaveLength(2);
    at.close();
    const after = house(at.path);
    shows(after, late);
    after.start();
    await after.clock.advance(400_000);
    expect([phases(after, "A-1", "B-1"), charges(after)]).toEqual([["in-doubt", "in-doubt"], []]);
    await after.settle({ orderId: "A-1", outcome: "not_charged", note: "the customer went" });
    await after.settle({ orderId: "B-1", outcome: "charged", note: "receipt 2 is of this card" });
    await after.clock.advance(0);
    expect(phases(after, "A-1", "B-1")).toEqual(["not-charged", "charged"]);
    expect(after.supervisor.stored).toMatchObject([{ orderId: "B-1" }]);
  });

  test("with two orders as candidates leaves both not charged once reversed", async () => {
    const at = await twoTurnedAway();
    const back = { traceNumber: "000013", originalTrace: "000012", localTime: "130030" };
    shows(at, report(back));
    for (const orderId of ["A-1", "B-1"])
      await at.arbiter.recovery.recover(at.orders.decisive(orderId).transactionId);
    expect(phases(at, "A-1", "B-1")).toEqual(["not-charged", "not-charged"]);
    expect(at.orders.decisive("A-1").state).toMatchObject({ outcome: { status: "cancelled" } });
  });

  test("of an order that was charged since raises order-charged-twice", async () => {
    const at = await turnedAway();
    const second = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130020" });
    at.terminal.script = (_order, observer) => {
      observer.report(second);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    reportedLate(at, report({ receiptNumber: "0004", traceNumber: "000014" }));
    await at.clock.advance(20_000);
    expect(alarms(at)).toContain("order-charged-twice");
    expect(charges(at)).toEqual(["A-1"]);
  });

  test("does not overturn an operator's decision", async () => {
    const at = house();
    at.start();
    at.terminal.script = () => Promise.resolve({ ...aborted, end: "lost", text: "line" });
    at.terminal.last = { kind: "not-told", why: "nothing" };
    await pay(at, request("A-1"));
    await at.settle({ orderId: "A-1", outcome: "not_charged", note: "seen" });
    reportedLate(at);
    await at.clock.advance(20_000);
    expect([charges(at), findings(at)]).toEqual([[], ["held"]]);
  });

  test("is probed again after a crash, and charges its order once", async () => {
    const before = await turnedAway();
    reportedLate(before);
    before.close();
    const at = house(before.path);
    shows(at, late);
    at.start();
    await at.clock.advance(20_000);
    expect([charges(at), findings(at)]).toEqual([["A-1"], ["known"]]);
    at.close();
    const after = house(before.path);
    after.start();
    await after.clock.advance(20_000);
    expect(after.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });
});

describe("a good report while an order is in doubt (docs/rules/19-late.md)", () => {
  async function lostWith(at: House, orderId: string): Promise<void> {
    at.terminal.script = () => Promise.resolve(lost("line"));
    expect(outcome(await pay(at, request(orderId)))).toBe("Unknown");
  }

  test("charges that order when it has no other candidate", async () => {
    const at = house();
    at.start();
    await lostWith(at, "B-1");
    reportedLate(at);
    await at.clock.advance(400_000);
    expect([phases(at, "B-1"), findings(at)]).toEqual([["charged"], ["known"]]);
  });

  test("proves nothing when it can also be of an order answered as not charged", async () => {
    const at = await turnedAway("A-1");
    await lostWith(at, "B-1");
    reportedLate(at);
    await at.clock.advance(400_000);
    expect(phases(at, "A-1", "B-1")).toEqual(["in-doubt", "in-doubt"]);
    expect([charges(at), findings(at)]).toEqual([[], ["held"]]);
    expect(alarms(at)).toEqual(
      expect.arrayContaining([
        "payment-unknown",
        "unmatched-transaction held",
        "unmatched-transaction",
      ]),
    );
    // The next sale, which shows the same record, proves nothing either.
    const next = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130100" });
    at.terminal.script = (_order, observer) => {
      observer.report(next);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("C-1")))).toBe("Success");
    await at.clock.advance(200_000);
    expect(phases(at, "B-1", "C-1")).toEqual(["in-doubt", "charged"]);
  });

  test("proves nothing when two orders in doubt are candidates", async () => {
    const at = house();
    at.start();
    at.terminal.last = { kind: "not-told", why: "nothing to repeat" };
    await lostWith(at, "A-1");
    await at.clock.advance(0);
    at.terminal.last = baseline.last;
    await lostWith(at, "B-1");
    reportedLate(at);
    await at.clock.advance(400_000);
    expect(phases(at, "A-1", "B-1")).toEqual(["in-doubt", "in-doubt"]);
    expect([charges(at), findings(at)]).toEqual([[], ["held"]]);
  });
});

describe("a sale that the terminal stored and never reported (docs/rules/19-late.md)", () => {
  test("is found before the next command leaves, and charges its order", async () => {
    const at = await turnedAway();
    shows(at, late);
    await at.clock.advance(5_000);
    const again = pay(at, request("A-1"));
    await expect(again).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT", charged: "unknown" });
    await at.clock.advance(20_000);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
    expect(alarms(at)).toContain("charged-late");
  });

  test("stops another order, which would hide the sale, until one probe has read it", async () => {
    const at = await turnedAway();
    shows(at, late);
    expect((await pay(at, request("B-1"))).body).toMatchObject({
      status: "Failed",
      error: { code: "TERMINAL_IN_DOUBT", charged: "no" },
    });
    await at.clock.advance(20_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    const next = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130100" });
    at.terminal.script = (_order, observer) => {
      observer.report(next);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    expect(charges(at)).toEqual(["A-1", "B-1"]);
  });

  test("without a candidate raises one alarm, which names the nearest order", async () => {
    const at = await turnedAway();
    shows(at, report({ amountMinor: 1250 }));
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    at.terminal.script = (order, observer) => approves(order, observer, 9);
    expect(outcome(await pay(at, request("B-2")))).toBe("Success");
    const reported = at.hub.source.alarms(20).map(({ data }) => data);
    expect(reported).toMatchObject([
      { alarm: "unmatched-transaction", finding: "unclear", orderId: "A-1" },
    ]);
    expect(findings(at)).toEqual(["unclear"]);
  });

  test("without a candidate shows a lost journal right after a start", async () => {
    const before = await turnedAway();
    before.close();
    const at = house(before.path);
    at.start();
    shows(at, report({ amountMinor: 1250 }));
    await expect(pay(at, request("B-1"))).rejects.toMatchObject({ code: "STORES_DISAGREE" });
    expect(alarms(at)).toContain("journal-lost");
  });

  test("charges an order that had stayed unknown", async () => {
    const at = house();
    at.start();
    at.terminal.last = { kind: "not-told", why: "nothing to repeat" };
    at.terminal.script = () => Promise.resolve({ ...aborted, end: "lost", text: "line" });
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(0);
    shows(at, late);
    await pay(at, request("B-1"));
    await at.clock.advance(20_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    expect(findings(at)).toEqual(["known"]);
  });

  const known: ReadonlyArray<readonly [string, (at: House) => void]> = [
    ["the last order's own sale", (at) => shows(at, report())],
    ["its own sale, spelled otherwise", (at) => shows(at, report({ receiptNumber: "2" }))],
    ["what it had stored before", () => {}],
    ["a reversal", (at) => shows(at, report({ traceNumber: "000077", originalTrace: "000001" }))],
    ["an answer without any last transaction", (at) => refusesLast(at)],
  ];
  test.each(known)("is not %s", async (_name, arrange) => {
    const at = house();
    at.start();
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    arrange(at);
    const next = report({ receiptNumber: "0003", traceNumber: "000099", localTime: "130100" });
    at.terminal.script = (_order, observer) => {
      observer.report(next);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    expect(findings(at)).toEqual([]);
  });

  function refusesLast(at: House): void {
    at.terminal.baseline = { ...baseline, last: { kind: "not-told", why: "nothing" } };
  }

  test("is ignored when another terminal has stored it", async () => {
    const at = await turnedAway();
    at.terminal.baseline = {
      ...baseline,
      identity: { ...identity, serialNumber: "SN-2" },
      last: { kind: "transaction", report: late },
    };
    await pay(at, request("B-1"));
    expect(findings(at)).toEqual([]);
  });
});
