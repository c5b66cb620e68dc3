import { describe, expect, test } from "vitest";
import type {
  LastTransaction,
  ReversalOrder,
  TelecollectionEnd,
} from "../../../src/tp-manager/terminal/terminal.ts";
import {
  alarms,
  type House,
  house,
  outcome,
  pay,
  request,
  SETUP,
} from "../../support/house/payment-house.ts";
import {
  baseline,
  declined,
  earlierReport,
  identity,
  report,
} from "../../support/terminals/reports.ts";
import {
  aborted,
  approves,
  disconnected,
  lost,
  reversalReport,
} from "../../support/terminals/scripted-terminal.ts";

const reported = report({ amountMinor: 1250, receiptNumber: "0042", traceNumber: "000077" });
const stored = (one = reported): LastTransaction => ({ kind: "transaction", report: one });

/** The terminal reports a sale although nothing runs, and has `last` stored afterwards. */
function surprised(last: LastTransaction, at = house()): House {
  at.start();
  at.terminal.last = last;
  at.terminal.emit({ type: "unmatched-report", report: reported });
  return at;
}

const findings = (at: House) => at.journal.terminalLog.unmatched(9).map(({ finding }) => finding);

describe("an unmatched transaction (docs/rules/04-approval.md)", () => {
  test("is on disk and raises an alarm at once, and is probed again after a crash", async () => {
    const at = surprised(baseline.last);
    expect(findings(at)).toEqual(["open"]);
    expect(alarms(at)).toEqual(["unmatched-transaction"]);
    // The hand-off that runs at the start reads the journal a moment later.
    await at.clock.advance(0);
    at.close();
    const after = house(at.path);
    after.start();
    await after.clock.advance(10_000);
    expect(findings(after)).toEqual(["gone"]);
  });

  test("that the terminal has stored raises an alarm with receipt and amount", async () => {
    const at = surprised(stored());
    await at.clock.advance(5_000);
    expect(findings(at)).toEqual(["open"]);
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual(["held"]);
    expect(at.hub.source.alarms(1)).toMatchObject([
      {
        data: {
          alarm: "unmatched-transaction",
          finding: "held",
          formerly: "sale-without-order",
          message: "the terminal holds an unmatched sale: receipt 0042, 12.50 EUR",
        },
      },
    ]);
    expect(at.listings.unmatchedTransactions(9)).toMatchObject([
      { report: { receiptNumber: "0042" } },
    ]);
  });

  test("that is no longer stored is unclear while the journal may lack later sales", async () => {
    const at = surprised(baseline.last);
    await at.clock.advance(0);
    at.close();
    const after = house(at.path);
    const { gaps } = after.journal;
    gaps.begin("an older copy was put back", false, after.clock.now());
    gaps.importOrders([], { to: 0, done: true }, after.clock.now());
    after.start();
    await after.clock.advance(10_000);
    expect(findings(after)).toEqual(["unclear"]);
  });

  test("that the terminal has reversed between two probes is gone", async () => {
    const at = surprised(stored());
    await at.clock.advance(5_000);
    at.terminal.last = baseline.last;
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual(["gone"]);
    expect(alarms(at)).toEqual(["unmatched-transaction"]);
  });

  const closings: [string, TelecollectionEnd, string][] = [
    ["ran", { end: "completed", applications: [], ticket: "" }, "unclear"],
    ["was lost", { end: "lost", code: "no-end", text: "no line" }, "unclear"],
    ["was refused", { end: "refused", code: "77", text: "not possible" }, "gone"],
  ];
  test.each(closings)("reported during an end of day that %s", async (_how, end, finding) => {
    const at = house();
    const id = at.journal.terminalLog.beginTelecollection(at.clock.now(), "operator");
    surprised(baseline.last, at);
    at.journal.terminalLog.endTelecollection(id, at.clock.now(), end);
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual([finding]);
  });

  test("after an end of day is gone when two probes do not find it", async () => {
    const at = house();
    const id = at.journal.terminalLog.beginTelecollection(at.clock.now(), "operator");
    at.journal.terminalLog.endTelecollection(id, at.clock.now(), at.terminal.telecollection);
    surprised(baseline.last, at);
    await at.clock.advance(0);
    expect(findings(at)).toEqual(["open"]);
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual(["gone"]);
  });

  test("after an interrupted end of day and a later payment is gone", async () => {
    const at = house();
    at.journal.terminalLog.beginTelecollection(at.clock.now(), "operator");
    at.terminal.script = () =>
      Promise.resolve({
        end: "aborted",
        code: "05",
        text: "declined",
        reason: "declined",
        ticket: "",
      });
    await pay(at, request("A-1"));
    surprised(baseline.last, at);
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual(["gone"]);
  });

  test("that the terminal stores after the first probe awaits a decision", async () => {
    const at = surprised(baseline.last);
    await at.clock.advance(5_000);
    at.terminal.last = stored();
    await at.clock.advance(20_000);
    expect(findings(at)).toEqual(["held"]);
  });

  test("that the terminal has reversed is known as reversed", async () => {
    const at = surprised(stored(report({ traceNumber: "000078", originalTrace: "000077" })));
    await at.clock.advance(0);
    expect(findings(at)).toEqual(["reversed"]);
  });

  test("holds up the next sale, which would hide it, until the terminal was probed", async () => {
    const at = surprised(stored());
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    expect(at.terminal.evidenceKept).toBe(true);
    await at.clock.advance(15_000);
    expect(at.terminal.evidenceKept).toBe(false);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("that comes while a payment is prepared stops that payment", async () => {
    const at = house();
    at.start();
    const { promise: ready, resolve } = Promise.withResolvers<typeof baseline>();
    at.terminal.prepare = () => ready;
    const answer = pay(at, request("A-1"));
    await at.clock.advance(0);
    at.terminal.emit({ type: "unmatched-report", report: reported });
    resolve(baseline);
    expect((await answer).body).toMatchObject({
      status: "Failed",
      error: { code: "TERMINAL_IN_DOUBT", charged: "no" },
    });
    expect(at.terminal.paid).toEqual([]);
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual(["gone"]);
  });

  test("below a later sale in the storage is unclear, with an alarm that says so", async () => {
    const at = house();
    at.start();
    at.terminal.script = (order, observer) => {
      at.terminal.emit({ type: "unmatched-report", report: reported });
      at.terminal.last = stored(report());
      return approves(order, observer);
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    await at.clock.advance(15_000);
    expect(findings(at)).toEqual(["unclear"]);
    expect(alarms(at)[0]).toBe("unmatched-transaction unclear");
  });

  test("is probed as soon as the terminal can be reached", async () => {
    const at = house();
    at.terminal.unavailable = disconnected();
    surprised(baseline.last, at);
    await at.clock.advance(60_000);
    expect(findings(at)).toEqual(["open"]);
    at.terminal.unavailable = undefined;
    await at.clock.advance(60_000);
    expect(findings(at)).toEqual(["gone"]);
  });

  test("of an order that is charged is known as that order's sale", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.start();
    at.terminal.emit({ type: "unmatched-report", report: report() });
    at.terminal.last = stored(report());
    await at.clock.advance(15_000);
    expect(findings(at)).toEqual(["known"]);
  });

  test("of an order in doubt belongs to that order once recovery has proved it", async () => {
    const at = house();
    at.start();
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    at.terminal.last = stored(report());
    await pay(at, request("A-1"));
    at.terminal.emit({ type: "unmatched-report", report: report() });
    await at.clock.advance(60_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    expect(findings(at)).toEqual(["known"]);
    expect(alarms(at)).not.toContain("unmatched-transaction held");
  });

  test("waits for its own terminal until an operator accepts another one", async () => {
    const at = house();
    surprised(stored(), at);
    at.terminal.become({ identity: { ...identity, serialNumber: "SN-2" } });
    await at.clock.advance(3_600_000);
    expect(findings(at)).toEqual(["open"]);
    at.arbiter.identityCheck.accept();
    await at.clock.advance(0);
    expect(findings(at)).toEqual(["unclear"]);
    expect(alarms(at)[0]).toBe("unmatched-transaction unclear");
    expect(outcome(await pay(at, request("A-1")))).toBe("Failed");
  });

  test("is probed when its own terminal is back", async () => {
    const at = house();
    surprised(stored(), at);
    at.terminal.become({ identity: { ...identity, serialNumber: "SN-2" } });
    await at.clock.advance(60_000);
    at.terminal.become({ identity });
    await at.clock.advance(10_000);
    expect(findings(at)).toEqual(["held"]);
  });

  test("reported five times is recorded once", async () => {
    const at = surprised(stored());
    for (let i = 0; i < 5; i++) at.terminal.emit({ type: "unmatched-report", report: reported });
    await at.clock.advance(20_000);
    expect(findings(at)).toEqual(["held"]);
  });

  test("reported again after probes have found it holds up no further sale", async () => {
    const at = surprised(stored());
    await at.clock.advance(20_000);
    at.terminal.emit({ type: "unmatched-report", report: reported });
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    await at.clock.advance(20_000);
    expect(findings(at)).toEqual(["held"]);
    expect(alarms(at)).toEqual(["unmatched-transaction held", "unmatched-transaction"]);
  });

  test("that was gone is probed again when it is reported again", async () => {
    const at = surprised(baseline.last);
    await at.clock.advance(10_000);
    at.terminal.last = stored();
    at.terminal.emit({ type: "unmatched-report", report: reported });
    await at.clock.advance(20_000);
    expect(findings(at)).toEqual(["held", "gone"]);
  });

  test("that reports a decline is recorded, and holds up no sale", async () => {
    const at = house();
    at.start();
    at.terminal.emit({ type: "unmatched-report", report: declined() });
    expect(findings(at)).toEqual(["not-good"]);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("is gone when the last record is a reversal from before the payment", async () => {
    const at = house();
    at.start();
    const back = report({ ...earlierReport, originalTrace: "000010" });
    at.terminal.stores(back);
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    await pay(at, request("A-1"));
    await at.clock.advance(400_000);
    const phase = () => at.journal.attempts.decisive("A-1")?.state.phase;
    expect(phase()).toBe("not-charged");
    at.terminal.emit({ type: "unmatched-report", report: report() });
    await at.clock.advance(20_000);
    expect([phase(), ...findings(at)]).toEqual(["not-charged", "gone"]);
    expect(alarms(at)).toEqual(["unmatched-transaction"]);
  });

  test.each([
    ["not charged", aborted, "not-charged"],
    ["in doubt", lost("line broken"), "in-doubt"],
  ] as const)("names the nearest order that is %s before a charged one", async (_, end, phase) => {
    const at = house();
    at.start();
    at.terminal.script = () => Promise.resolve(end);
    at.terminal.last = { kind: "not-told", why: "a test" };
    await pay(at, request("A-1", { amountMinor: 1250 }));
    await at.clock.advance(20_000);
    const older = at.journal.attempts.decisive("A-1");
    expect(older?.state.phase).toBe(phase);
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    at.terminal.emit({
      type: "unmatched-report",
      report: report({ ...reported, amountMinor: 999 }),
    });
    expect(at.hub.source.alarms(1)).toMatchObject([
      {
        data: {
          alarm: "unmatched-transaction",
          orderId: "A-1",
          transactionId: older?.transactionId,
          orders: ["A-1", "B-1"],
        },
      },
    ]);
  });

  test("that shows a lost journal is not probed before the orders are imported", async () => {
    const before = house();
    before.terminal.last = { kind: "not-told", why: "a test" };
    before.terminal.script = () => Promise.resolve(lost("line broken"));
    await pay(before, request("A-1"));
    await before.clock.advance(20_000);
    before.close();
    const at = house(before.path);
    at.terminal.last = { kind: "not-told", why: "a test" };
    at.start();
    await at.clock.advance(20_000);
    expect(at.arbiter.inquiries.isAsking).toBe(false);
    const { probes } = at.terminal;
    at.supervisor.reachable = false;
    at.terminal.stores(reported);
    const { body } = await pay(at, request("B-1", { generatedId: true }));
    expect(body.error?.code).toBe("TERMINAL_IN_DOUBT");
    expect([alarms(at).includes("journal-lost"), at.arbiter.inquiries.isAsking]).toEqual([
      true,
      true,
    ]);
    await at.clock.advance(60_000);
    expect(at.terminal.probes).toBe(probes);
    at.supervisor.reachable = true;
    await at.clock.advance(60_000);
    expect(at.terminal.probes).toBeGreaterThan(probes);
  });

  test("is ended in the journal as soon as the disk has room again", async () => {
    const at = surprised(baseline.last);
    const end = at.journal.terminalLog.endUnmatched.bind(at.journal.terminalLog);
    at.journal.terminalLog.endUnmatched = () => {
      throw new Error("disk full");
    };
    await at.clock.advance(60_000);
    expect(findings(at)).toEqual(["open"]);
    at.journal.terminalLog.endUnmatched = end;
    await at.clock.advance(15_000);
    expect(findings(at)).toEqual(["gone"]);
    expect(at.arbiter.inquiries.unmatchedAsked).toBe(false);
  });

  test("raises an alarm and is probed even while the journal cannot be written", async () => {
    const at = house();
    at.start();
    at.terminal.last = stored();
    const keep = at.journal.terminalLog.keepUnmatched.bind(at.journal.terminalLog);
    at.journal.terminalLog.keepUnmatched = () => {
      throw new Error("disk full");
    };
    for (let i = 0; i < 5; i++) at.terminal.emit({ type: "unmatched-report", report: reported });
    await at.clock.advance(20_000);
    expect(alarms(at)).toContain("unmatched-transaction held");
    expect(alarms(at).filter((alarm) => alarm === "unmatched-transaction")).toHaveLength(1);
    at.journal.terminalLog.keepUnmatched = keep;
    await at.clock.advance(20_000);
    expect(findings(at)).toEqual(["held"]);
  });
});

test("a sale and its reversal in one answer prove nothing against stored reversals", async () => {
  const at = house();
  at.start();
  await pay(at, request("A-1"));
  at.terminal.stores(report());
  await at.afterSale.reverse("A-1");
  const back = reversalReport({ ...at.terminal.paid[0], receiptNumber: "0001" } as ReversalOrder);
  const last = { kind: "transaction", report: back, also: [report()] } as const;
  Object.assign(at.terminal, { last, baseline: { ...baseline, last } });
  await pay(at, request("B-1"));
  const learned = at.journal.learned.of({ setup: SETUP, identity });
  expect([learned.has("stores-reversals"), learned.refuted("stores-reversals")]).toEqual([
    true,
    false,
  ]);
});
