import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { referenceOf } from "../../../src/tp-manager/attempts/reference-policy.ts";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import {
  alarms,
  leaveInDoubt,
  nameless,
  oneWayKiosk,
  phaseOf,
  referenceAt,
} from "../../support/house/one-way-house.ts";
import { outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { aborted, approves, lost } from "../../support/terminals/scripted-terminal.ts";

/** An order refused, then in doubt at its second attempt; then its first attempt is approved. */
async function refuseThenLeaveInDoubt(at: ReturnType<typeof oneWayKiosk>): Promise<void> {
  await leaveInDoubt(at);
  const reference = referenceAt(at);
  at.reports({ ...declined(), ...nameless, reference });
  await leaveInDoubt(at);
  at.reports({ reference });
  expect(phaseOf(at)).toBe("in-doubt");
}

describe("a late result of a one-way terminal (docs/rules/25-one-way.md)", () => {
  test("charges the order whose reference it carries", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at, "A-1");
    await leaveInDoubt(at, "B-1");
    expect(at.reports({ reference: referenceAt(at, "B-1") })).toBe(true);
    expect([phaseOf(at, "A-1"), phaseOf(at, "B-1")]).toEqual(["in-doubt", "charged"]);
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["B-1"]);
  });

  test.each([40, -40])("charges its order after the clock jumped %s days", async (days) => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    at.clock.jumpWallClock(days * 86_400_000);
    expect([at.reports({ reference }), phaseOf(at)]).toEqual([true, "charged"]);
    expect(alarms(at)).toContain("charged-late");
  });

  test("ends the order as not charged when the terminal refused it", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.reports({ ...declined(), ...nameless, reference: referenceAt(at) });
    expect(outcome(await pay(at, request("C-1")))).toBeDefined();
    expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({
      phase: "not-charged",
      outcome: { status: "declined" },
    });
  });

  test("charges the order whose reference it carries, even without an amount", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.reports({ reference: referenceAt(at), amountMinor: null, currencyNumeric: null });
    expect(phaseOf(at)).toBe("charged");
  });

  test.each([
    ["the same order", "A-1", "charged"],
    ["another order", "B-1", "in-doubt"],
  ])("without a reference may be of an order refused before: %s", async (_, refused, phase) => {
    const at = oneWayKiosk();
    at.terminal.script = (_order, observer) => {
      observer.report({ ...declined(), ...nameless, localDate: null });
      const end = { end: "aborted", code: "05", text: "", reason: "declined", ticket: "" } as const;
      return Promise.resolve(end);
    };
    expect(outcome(await pay(at, request(refused)))).toBe("Declined");
    await leaveInDoubt(at, "A-1");
    expect([at.reports({}), phaseOf(at, "A-1")]).toEqual([true, phase]);
    expect(alarms(at)).not.toContain("order-charged-twice");
    expect(phaseOf(at, refused)).toBe(phase);
  });

  test("without a reference belongs to the only order in doubt of its amount", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.reports({ amountMinor: 998 });
    expect([phaseOf(at), alarms(at)[0]]).toEqual(["in-doubt", "unmatched-transaction"]);
    at.reports({ reference: "0123456789" });
    expect(phaseOf(at)).toBe("charged");
  });

  test("is unmatched when two orders in doubt have its amount", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at, "A-1");
    await leaveInDoubt(at, "B-1");
    expect(at.reports({})).toBe(true);
    expect([phaseOf(at, "A-1"), phaseOf(at, "B-1")]).toEqual(["in-doubt", "in-doubt"]);
    expect(alarms(at)[0]).toBe("unmatched-transaction");
    expect(at.journal.terminalLog.unmatched(1)).toMatchObject([{ finding: "held" }]);
  });

  test("charges no order in doubt after an operator has settled a later order", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at, "A-1");
    await leaveInDoubt(at, "B-1");
    await at.settle({ orderId: "B-1", outcome: "not_charged", note: "the customer left" });
    expect([at.reports({}), phaseOf(at), phaseOf(at, "B-1")]).toEqual([
      true,
      "in-doubt",
      "in-doubt",
    ]);
  });

  test("that refuses ends no order in doubt once a later one was settled as charged", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at, "A-1");
    await leaveInDoubt(at, "B-1");
    await at.settle({ orderId: "B-1", outcome: "charged", note: "the customer had a receipt" });
    expect([at.reports({ ...declined(), ...nameless }), phaseOf(at)]).toEqual([true, "in-doubt"]);
    expect(phaseOf(at, "B-1")).toBe("charged");
  });

  test("charges the order in doubt although a later payment was begun but never sent", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.terminal.script = () => Promise.resolve({ end: "not-sent", code: "line", text: "gone" });
    expect(outcome(await pay(at, request("B-1")))).toBe("Failed");
    expect([at.reports({}), phaseOf(at), phaseOf(at, "B-1")]).toEqual([
      true,
      "charged",
      "not-charged",
    ]);
    expect(alarms(at)).not.toContain("unmatched-transaction");
  });

  test.each([
    ["a refusal", declined(), "Declined"],
    ["an approval", report(), "Success"],
  ])("%s without a reference may repeat a later payment's result", async (_, said, status) => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const unnamed = { ...said, ...nameless };
    at.terminal.script = (_order, observer) => {
      observer.report(unnamed);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("B-1")))).toBe(status);
    expect([at.reports(unnamed), phaseOf(at)]).toEqual([true, "in-doubt"]);
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).not.toContain("A-1");
  });

  test("without a reference may be of a later payment that reported no result", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.terminal.script = () => Promise.resolve(aborted);
    expect(outcome(await pay(at, request("B-1")))).toBe("Cancelled");
    expect([at.reports({ ...declined(), ...nameless }), phaseOf(at)]).toEqual([true, "in-doubt"]);
  });

  test("with an unknown reference is unmatched, whatever its amount", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.reports({ reference: referenceOf("another kiosk's") });
    expect([phaseOf(at), alarms(at)[0]]).toEqual(["in-doubt", "unmatched-transaction"]);
  });

  test("with another amount raises an alarm and leaves the order in doubt", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    at.reports({ reference: referenceAt(at), amountMinor: 1 });
    expect([phaseOf(at), alarms(at)[0]]).toEqual(["in-doubt", "report-mismatch"]);
    at.reports({ ...declined(), ...nameless, reference: referenceAt(at) });
    expect(phaseOf(at)).toBe("in-doubt");
  });

  test("that comes again, because our ACK was lost, changes nothing", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    expect([at.reports({ reference }), at.reports({ reference })]).toEqual([true, true]);
    expect([phaseOf(at), at.supervisor.stored.length]).toEqual(["charged", 1]);
  });

  test("gets no ACK when it cannot be written to the journal", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    const { update } = at.journal.attempts;
    at.journal.attempts.update = () => {
      throw new Error("disk full");
    };
    expect(at.reports({ reference })).toBe(false);
    at.journal.attempts.update = update;
    expect([at.reports({ reference }), phaseOf(at)]).toEqual([true, "charged"]);
  });

  test("with another amount makes an order unknown that was answered as not charged", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    expect(phaseOf(at)).toBe("not-charged");
    at.reports({ reference, amountMinor: 500 });
    expect([phaseOf(at), alarms(at)[0]]).toEqual(["in-doubt", "report-mismatch"]);
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    at.reports({ reference, amountMinor: 500 });
    expect(phaseOf(at)).toBe("in-doubt");
    at.reports({ ...declined(), ...nameless, reference });
    expect(phaseOf(at)).toBe("in-doubt");
  });

  test.each([
    ["the amount that was asked", {}, "charged", "Success", "charged-late"],
    ["another amount", { amountMinor: 500 }, "in-doubt", "Unknown", "report-mismatch"],
  ])(
    "of %s for an earlier attempt counts although a later one charged nothing",
    async (_, change, phase, status, alarm) => {
      const at = oneWayKiosk();
      await leaveInDoubt(at);
      const reference = referenceAt(at);
      at.reports({ ...declined(), ...nameless, reference });
      at.terminal.script = (_order, observer) => {
        observer.report(declined());
        return Promise.resolve({ end: "completed", ticket: "" });
      };
      expect(outcome(await pay(at, request("A-1")))).toBe("Declined");
      at.reports({ reference, ...change });
      expect([phaseOf(at), alarms(at)[0]]).toEqual([phase, alarm]);
      at.terminal.script = approves;
      expect(outcome(await pay(at, request("A-1")))).toBe(status);
      expect(at.terminal.paid).toHaveLength(2);
    },
  );

  test("for an earlier attempt counts although the later charge was refunded", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    const { transactionId, request: asked } = at.orders.decisive("A-1");
    const given = { transactionId, returnedMinor: asked.amountMinor };
    at.journal.returns.noteReturns([given], at.clock.now());
    at.reports({ reference });
    expect(at.orders.chargedOfOrder("A-1")).toBe("yes");
  });

  test("of another amount raises an alarm while a later attempt runs or is in doubt", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    const alarmed: unknown[] = [];
    at.terminal.script = () => {
      at.reports({ reference, amountMinor: 500 });
      alarmed.push(alarms(at).includes("order-charged-twice"));
      return Promise.resolve(lost("nothing came"));
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(1_000);
    at.reports({ reference, amountMinor: 501 });
    const twice = alarms(at).filter((alarm) => alarm === "order-charged-twice");
    expect([alarmed, twice.length, phaseOf(at)]).toEqual([[true], 1, "in-doubt"]);
  });

  test.each([
    ["the amount that was asked", {}, "charged", "Success"],
    ["another amount", { amountMinor: 500 }, "in-doubt", "Unknown"],
  ])(
    "of %s for an earlier attempt counts when the later one that runs is then declined",
    async (_, change, phase, status) => {
      const at = oneWayKiosk();
      await leaveInDoubt(at);
      const reference = referenceAt(at);
      at.reports({ ...declined(), ...nameless, reference });
      at.terminal.script = (_order, observer) => {
        at.reports({ reference, ...change });
        observer.report(declined());
        return Promise.resolve({ end: "completed", ticket: "" });
      };
      expect(outcome(await pay(at, request("A-1")))).toBe(status);
      expect([phaseOf(at), at.journal.terminalLog.unmatched(1)]).toEqual([phase, []]);
      at.terminal.script = approves;
      expect(outcome(await pay(at, request("A-1")))).toBe(status);
      expect(at.terminal.paid).toHaveLength(2);
    },
  );

  test.each(["a late refusal", "an operator"])(
    "for an earlier attempt counts once %s settles the later one in doubt",
    async (who) => {
      const at = oneWayKiosk();
      await refuseThenLeaveInDoubt(at);
      if (who === "an operator") {
        const decision = {
          orderId: "A-1",
          outcome: "not_charged",
          note: "nothing was booked",
        } as const;
        expect((await at.settle(decision)).attempt.number).toBe(1);
      } else at.reports({ ...declined(), ...nameless, reference: referenceAt(at) });
      expect([phaseOf(at), at.supervisor.stored.length]).toEqual(["charged", 1]);
    },
  );

  test("that a former version kept with its order awaits an operator's decision", async () => {
    const path = join(temporaryFolder(), "journal.db");
    const at = oneWayKiosk(path);
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    const { terminalLog } = at.journal;
    const unnamed = report({ ...nameless, reference });
    const kept = { atMs: at.clock.now(), report: unnamed, identity: at.terminal.state.identity };
    const id = terminalLog.keepUnmatched({ ...kept, isOfNoOrder: false });
    if (id === undefined) throw new Error("it was not kept");
    terminalLog.endUnmatched(id, at.clock.now(), "held", "no order fits");
    at.close();
    const again = oneWayKiosk(path);
    expect([phaseOf(again), again.supervisor.stored]).toEqual(["in-doubt", []]);
    await again.settle({ orderId: "A-1", outcome: "not_charged", note: "given back by hand" });
    again.close();
    expect(phaseOf(oneWayKiosk(path))).toBe("not-charged");
  });

  test("that comes while a second attempt cannot begin is the order's answer", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    at.terminal.prepare = () => {
      at.reports({ reference });
      return Promise.reject(new TerminalUnavailable("busy", "the terminal prints"));
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.journal.attempts.ofOrder("A-1")).toMatchObject([{ state: { phase: "charged" } }]);
  });

  test("that comes while another amount is begun makes its refusal charged yes", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    at.terminal.prepare = () => {
      at.reports({ reference });
      return Promise.reject(new TerminalUnavailable("busy", "the terminal prints"));
    };
    await expect(pay(at, request("A-1", { amountMinor: 500 }))).rejects.toMatchObject({
      code: "ORDER_MISMATCH",
      charged: "yes",
    });
  });

  test("that refused a payment of no order ends no later order when it is repeated", async () => {
    const at = oneWayKiosk();
    Object.assign(at.terminal.capabilities, { sharesLine: true });
    const refused = { ...declined(), ...nameless };
    expect(at.reports(refused)).toBe(true);
    await leaveInDoubt(at);
    expect([at.reports(refused), phaseOf(at)]).toEqual([true, "in-doubt"]);
  });

  test.each([
    ["a refusal", declined(), declined({ maskedPan: null }), "Declined"],
    ["an approval", report(), report({ maskedPan: "541333XXXXXX0000" }), "Success"],
  ])(
    "%s that repeats the result before the order in doubt says nothing of that order",
    async (_, said, other, status) => {
      const at = oneWayKiosk();
      Object.assign(at.terminal.capabilities, { sharesLine: true });
      at.terminal.script = (_order, observer) => {
        observer.report({ ...said, ...nameless });
        return Promise.resolve({ end: "completed", ticket: "" });
      };
      expect(outcome(await pay(at, request("G-1")))).toBe(status);
      await leaveInDoubt(at);
      expect([at.reports({ ...said, ...nameless }), phaseOf(at)]).toEqual([true, "in-doubt"]);
      at.reports({ ...other, ...nameless });
      expect(phaseOf(at)).not.toBe("in-doubt");
    },
  );

  test("that was unmatched says nothing of a later order when it comes again", async () => {
    const at = oneWayKiosk();
    Object.assign(at.terminal.capabilities, { sharesLine: true });
    at.reports({});
    await at.clock.advance(60_000);
    await leaveInDoubt(at);
    expect([at.reports({}), phaseOf(at)]).toEqual([true, "in-doubt"]);
    at.reports({ maskedPan: "541333XXXXXX0000" });
    expect(phaseOf(at)).toBe("charged");
  });

  test("charges an order that an operator had settled as not charged", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    const attempt = at.journal.attempts.decisive("A-1");
    if (!attempt) throw new Error("no attempt");
    const note = "customer said so";
    at.arbiter.settle(attempt, { outcome: "not-charged", report: report(), note });
    at.reports({ reference });
    expect([phaseOf(at), alarms(at)[0]]).toEqual(["charged", "charged-late"]);
  });
});
