import { describe, expect, test } from "vitest";
import {
  alarms,
  leaveInDoubt,
  nameless,
  oneWayKiosk,
  phaseOf,
  referenceAt,
} from "../../support/house/one-way-house.ts";
import { outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined } from "../../support/terminals/reports.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";

/** All payments share one line, and the next is declined by a result without a reference. */
function declinedOnLine(at: ReturnType<typeof oneWayKiosk>): void {
  Object.assign(at.terminal.capabilities, { sharesLine: true });
  at.terminal.script = (_order, observer) => {
    observer.report({ ...declined(), ...nameless });
    return Promise.resolve({ end: "completed", ticket: "" });
  };
}

describe("an approval without a reference (docs/rules/25-one-way.md)", () => {
  test.each([
    ["declined", {}, "in-doubt"],
    ["declined, by an approval of no amount", { amountMinor: null }, "in-doubt"],
    ["declined, by an approval of another amount", { amountMinor: 998 }, "not-charged"],
    ["declined, by another register's approval", { reference: "0123456789" }, "in-doubt"],
  ])("may change an order that was answered as %s", async (_, result, phase) => {
    const at = oneWayKiosk();
    Object.assign(at.terminal.capabilities, { sharesLine: true });
    const refused = { ...declined(), ...nameless };
    at.terminal.script = (_order, observer) => {
      observer.report(refused);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Declined");
    expect([at.reports(result), phaseOf(at), alarms(at)]).toEqual([true, phase, expect.any(Array)]);
    expect(alarms(at)).toContain("unmatched-transaction");
    at.reports(result);
    expect([phaseOf(at), at.supervisor.stored]).toEqual([phase, []]);
    if (phase === "not-charged") return;
    await at.settle({ orderId: "A-1", outcome: "charged", note: "it is in its journal" });
    expect(phaseOf(at)).toBe("charged");
  });

  test("awaits an operator, whose decision a repetition does not change", async () => {
    const at = oneWayKiosk();
    declinedOnLine(at);
    await pay(at, request("A-1"));
    at.reports({});
    at.reports({ maskedPan: "541333XXXXXX0000" });
    expect([phaseOf(at), at.supervisor.stored]).toEqual(["in-doubt", []]);
    await at.settle({ orderId: "A-1", outcome: "not_charged", note: "another register's" });
    at.reports({ maskedPan: "541333XXXXXX0000" });
    expect(phaseOf(at)).toBe("not-charged");
  });

  test("that comes again with the order's own reference charges the order", async () => {
    const at = oneWayKiosk();
    declinedOnLine(at);
    await pay(at, request("A-1"));
    at.reports({});
    at.reports({ reference: referenceAt(at) });
    expect(phaseOf(at)).toBe("charged");
  });

  test("changes no order before an order that is charged", async () => {
    const at = oneWayKiosk();
    declinedOnLine(at);
    await pay(at, request("A-1"));
    await leaveInDoubt(at, "B-1");
    await at.settle({ orderId: "B-1", outcome: "charged", note: "its receipt is here" });
    at.reports({});
    expect(phaseOf(at)).toBe("not-charged");
  });

  test("changes no order that is not sent yet", async () => {
    const at = oneWayKiosk();
    declinedOnLine(at);
    await pay(at, request("A-1"));
    const { prepare } = at.terminal;
    at.terminal.prepare = (...how) => {
      at.reports({});
      return prepare.apply(at.terminal, how);
    };
    expect(outcome(await pay(at, request("B-1")))).toBe("Declined");
    expect([phaseOf(at), phaseOf(at, "B-1")]).toEqual(["in-doubt", "not-charged"]);
  });

  test("changes no order after which another one had its own result", async () => {
    const at = oneWayKiosk();
    at.terminal.script = (_order, observer) => {
      observer.report({ ...declined(), ...nameless });
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Declined");
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("B-1", { amountMinor: 700 })))).toBe("Success");
    expect([at.reports({}), phaseOf(at)]).toEqual([true, "not-charged"]);
  });
});

test("a settled charge is handed off although the journal fails after it", async () => {
  const at = oneWayKiosk();
  await leaveInDoubt(at);
  at.journal.terminalLog.unmatchedSince = () => {
    throw new Error("disk is full");
  };
  const settled = async () => at.settle({ orderId: "A-1", outcome: "charged", note: "a receipt" });
  await expect(settled).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await at.clock.advance(0);
  expect(at.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-1"]);
  expect(at.lines.join()).toContain("an operator settled the attempt");
});
