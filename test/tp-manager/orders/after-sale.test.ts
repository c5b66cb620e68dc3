import { describe, expect, test } from "vitest";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import type { PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import {
  house as anyHouse,
  type House,
  outcome,
  pay,
  request,
  storesReversals,
} from "../../support/house/payment-house.ts";
import { baseline, declined, identity, report } from "../../support/terminals/reports.ts";
import {
  disconnected,
  lost,
  reversalReport,
  reverses,
  saleReport,
} from "../../support/terminals/scripted-terminal.ts";

const aborted: PaymentEnd = {
  end: "aborted",
  code: "B5",
  text: "reversal impossible",
  reason: "terminal-fault",
  ticket: "",
};

/** A terminal can be asked to reverse only what it has stored (docs/rules/16-fresh.md). */
function house(path?: string): House {
  const at = anyHouse(path);
  at.terminal.remembers = true;
  return at;
}

async function reverse(at: House, orderId = "A-1") {
  const { attempt, delivery } = await at.afterSale.reverse(orderId);
  return answerOf(attempt, delivery).body;
}

const phaseOf = (at: House, orderId = "A-1"): string | undefined =>
  at.journal.attempts.decisive(orderId)?.state.phase;

describe("a reversal (docs/rules/07-returns.md)", () => {
  test("names the receipt and the amount, and makes the order Reversed for ever", async () => {
    const at = house();
    await pay(at, request("A-1"));
    expect((await reverse(at)).status).toBe("Reversed");
    expect(at.terminal.reversed).toMatchObject([{ receiptNumber: "0002", amountMinor: 999 }]);
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({
      code: "ORDER_REVERSED",
      charged: "no",
    });
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("that is asked for again is answered from the journal, and nothing is sent", async () => {
    const at = house();
    await pay(at, request("A-1"));
    await reverse(at);
    expect((await reverse(at)).status).toBe("Reversed");
    expect(at.terminal.reversed).toHaveLength(1);
  });

  test("that is asked for twice at once is sent once", async () => {
    const at = house();
    await pay(at, request("A-1"));
    const both = await Promise.allSettled([reverse(at), reverse(at)]);
    expect(both.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
    expect(at.terminal.reversed).toHaveLength(1);
    expect(phaseOf(at)).toBe("reversed");
  });

  test("has its reservation on disk before the command leaves", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.reversal = (order, observer) => {
      expect(phaseOf(at)).toBe("reversing");
      return reverses(order, observer);
    };
    expect((await reverse(at)).status).toBe("Reversed");
  });

  test("withdraws the order from the supervisor", async () => {
    const at = house();
    at.supervisor.state = "pending";
    const { body } = await pay(at, request("A-1"));
    await reverse(at);
    await at.clock.advance(0);
    expect(at.supervisor.withdrawn).toEqual([body.transactionId]);
    expect(at.journal.handOffs.handOff(body.transactionId)?.delivery).toBe("closed");
  });

  test("of an order the gateway has raises an alarm, and nothing is sent again", async () => {
    const at = house();
    await pay(at, request("A-1"));
    await reverse(at);
    at.start();
    await at.clock.advance(0);
    expect(at.lines.filter((line) => line.includes("reversed-after-sending"))).toHaveLength(1);
    expect(at.supervisor.stored).toHaveLength(1);
  });

  test("of an order the gateway has is a condition until its return is known, or old", async () => {
    const at = house();
    const { body } = await pay(at, request("A-1"));
    await reverse(at);
    at.start();
    await at.clock.advance(0);
    const { handOffs, returns } = at.journal;
    const since = at.clock.now();
    expect(handOffs.standingAtGateway(since, 9)).toEqual(["A-1"]);
    expect(handOffs.standingAtGateway(since + 1, 9)).toEqual([]);
    const noted = { transactionId: body.transactionId, returnedMinor: 999 };
    returns.noteReturns([noted], at.clock.now());
    expect(handOffs.standingAtGateway(since, 9)).toEqual([]);
  });

  test("that the terminal refuses leaves the order charged", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.reversal = () => Promise.resolve(aborted);
    await expect(reverse(at)).rejects.toMatchObject({ code: "REVERSAL_REFUSED", charged: "yes" });
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.supervisor.stored).toHaveLength(1);
  });

  test("that cannot begin leaves the order charged, and says so", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.unavailable = disconnected();
    await expect(reverse(at)).rejects.toMatchObject({ code: "TERMINAL_DISCONNECTED" });
    expect(phaseOf(at)).toBe("charged");
    expect(at.orders.chargedOfOrder("A-1")).toBe("yes");
  });

  test("whose outcome is lost makes the order unknown until the terminal is probed", async () => {
    const at = house();
    await pay(at, request("A-1"));
    storesReversals(at);
    at.terminal.reversal = () => Promise.resolve(lost("line broken"));
    at.terminal.baseline = { ...baseline, last: { kind: "transaction", report: report() } };
    at.terminal.last = { kind: "transaction", report: report() };
    expect((await reverse(at)).status).toBe("Unknown");
    await expect(pay(at, request("B-1"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    await at.clock.advance(180_000);
    expect(phaseOf(at)).toBe("charged");
    expect(at.terminal.reversed).toHaveLength(1);
    expect(at.supervisor.withdrawn).toEqual([]);
  });

  test("whose outcome is lost stays unknown if no reversal was ever shown", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.reversal = () => Promise.resolve(lost("line broken"));
    at.terminal.stores(report());
    expect((await reverse(at)).status).toBe("Unknown");
    await at.clock.advance(400_000);
    expect(phaseOf(at)).toBe("reversal-in-doubt");
    expect(at.lines.join()).toContain("payment-unknown");
  });

  test("in doubt is proved by two probes that show the reversal", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.baseline = { ...baseline, last: { kind: "transaction", report: report() } };
    at.terminal.reversal = (order) => {
      at.terminal.last = { kind: "transaction", report: reversalReport(order) };
      return Promise.resolve(lost("line broken"));
    };
    expect((await reverse(at)).status).toBe("Unknown");
    await at.clock.advance(10_000);
    expect(phaseOf(at)).toBe("reversed");
    expect(at.supervisor.withdrawn).toHaveLength(1);
  });

  test("that was running when the process ended is in doubt after the restart", async () => {
    const before = house();
    await pay(before, request("A-1"));
    before.terminal.reversal = () => new Promise(() => {});
    void before.afterSale.reverse("A-1");
    await before.clock.advance(0);
    before.close();
    const after = house(before.path);
    after.start();
    expect(phaseOf(after)).toBe("reversal-in-doubt");
    expect(after.terminal.reversed).toEqual([]);
  });

  test("with another amount in the terminal's report is in doubt", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.reversal = (order, observer) => {
      expect(observer.report({ ...reversalReport(order), amountMinor: 1 })).toBe("accept");
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect((await reverse(at)).status).toBe("Unknown");
  });

  const refused: Array<[string, (at: House) => void, string]> = [
    [
      "after an end of day",
      (at) => at.journal.terminalLog.beginTelecollection(at.clock.now(), "operator"),
      "end of day",
    ],
    [
      "on another terminal",
      (at) => {
        at.journal.terminalLog.acceptTerminal({ ...identity, serialNumber: "SN-2" }, 0);
        at.terminal.baseline = { ...baseline, identity: { ...identity, serialNumber: "SN-2" } };
      },
      "Another terminal",
    ],
  ];
  test.each(refused)("is refused %s", async (_name, change, message) => {
    const at = house();
    await pay(at, request("A-1"));
    change(at);
    await expect(reverse(at)).rejects.toMatchObject({
      code: "REVERSAL_REFUSED",
      charged: "yes",
      message: expect.stringContaining(message),
    });
    expect(at.terminal.reversed).toEqual([]);
  });

  test("is only for charged orders", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(declined());
      return Promise.resolve({ ...aborted, code: "05" });
    };
    await pay(at, request("A-1"));
    await expect(reverse(at)).rejects.toMatchObject({ code: "ORDER_NOT_CHARGED" });
    await expect(reverse(at, "B-1")).rejects.toMatchObject({ code: "ORDER_NOT_FOUND" });
  });
});

describe("restart and end of day", () => {
  test("an unmatched sale during the preparation stops reversal and end of day", async () => {
    const at = house();
    at.start();
    await pay(at, request("A-1"));
    const kept = report({ receiptNumber: "0042", traceNumber: "000077" });
    at.terminal.last = { kind: "transaction", report: kept };
    at.terminal.prepare = () => {
      at.terminal.emit({ type: "unmatched-report", report: kept });
      return Promise.resolve(baseline);
    };
    await expect(reverse(at)).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    await at.clock.advance(20_000);
    const reported = report({ receiptNumber: "0043", traceNumber: "000078" });
    at.terminal.last = { kind: "transaction", report: reported };
    at.terminal.prepare = () => {
      at.terminal.emit({ type: "unmatched-report", report: reported });
      return Promise.resolve(baseline);
    };
    await expect(at.upkeep.telecollect()).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    expect(at.terminal.reversed).toEqual([]);
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER)).toEqual([]);
    await at.clock.advance(20_000);
    expect(at.journal.terminalLog.unmatched(9).map(({ finding }) => finding)).toEqual([
      "held",
      "held",
    ]);
  });

  test("an end of day since the sale refuses its reversal, whatever the clock says", async () => {
    const at = house();
    at.clock.jumpWallClock(3_600_000);
    await pay(at, request("A-1"));
    at.clock.jumpWallClock(-3_600_000);
    await at.upkeep.telecollect();
    await expect(reverse(at)).rejects.toMatchObject({ code: "REVERSAL_REFUSED", charged: "yes" });
    expect(at.terminal.reversed).toEqual([]);
    at.clock.jumpWallClock(-3_600_000);
    at.terminal.script = (_order, observer) => {
      observer.report(
        report({ receiptNumber: "0003", traceNumber: "000013", localTime: "183000" }),
      );
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await pay(at, request("A-2"));
    expect((await reverse(at, "A-2")).status).toBe("Reversed");
  });

  test("an end of day since a sale of an older version is known by its time", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.journal.database.exec("UPDATE attempt SET after_telecollection = NULL");
    await at.clock.advance(1_000);
    await at.upkeep.telecollect();
    await expect(reverse(at)).rejects.toMatchObject({ code: "REVERSAL_REFUSED" });
  });

  test("do not run while a payment runs", async () => {
    const at = house();
    at.terminal.script = () => new Promise(() => {});
    void pay(at, request("A-1"));
    await at.clock.advance(0);
    await expect(at.upkeep.reset()).rejects.toMatchObject({ code: "TERMINAL_BUSY" });
    await expect(at.upkeep.telecollect()).rejects.toMatchObject({ code: "TERMINAL_BUSY" });
  });

  test("an end of day is recorded and answered with its totals", async () => {
    const at = house();
    const { applications } = await at.upkeep.telecollect();
    expect(applications).toMatchObject([{ name: "Mastercard", count: 2 }]);
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER).at(-1)?.end).toMatchObject({
      end: "completed",
    });
  });

  test("an end of day runs on a terminal that accepts no cards before it", async () => {
    const at = house();
    at.terminal.unavailable = new TerminalUnavailable("out-of-order", "F0 end of day required");
    expect((await at.upkeep.telecollect()).applications).toHaveLength(1);
    at.terminal.unavailable = disconnected();
    await expect(at.upkeep.telecollect()).rejects.toMatchObject({ code: "TERMINAL_DISCONNECTED" });
  });

  test("open pre-authorisations are named, and sales can still be reversed", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.telecollection = { end: "open-pre-authorisations", receiptNumbers: ["0007"] };
    await expect(at.upkeep.telecollect()).rejects.toMatchObject({
      code: "OPEN_PRE_AUTHORISATIONS",
      details: { receiptNumbers: ["0007"] },
    });
    expect((await reverse(at)).status).toBe("Reversed");
  });

  test("a reset of a disconnected terminal is answered RESET_FAILED", async () => {
    const at = house();
    at.terminal.unavailable = disconnected();
    await expect(at.upkeep.reset()).rejects.toMatchObject({ code: "RESET_FAILED" });
  });
});

test("an unread storage before a later payment is not called an emptied one", async () => {
  const at = house();
  await pay(at, request("A-1"));
  at.terminal.baseline = { ...at.terminal.baseline, last: { kind: "not-told", why: "a test" } };
  await pay(at, request("B-1"));
  at.terminal.stores(saleReport(1));
  await expect(at.afterSale.reverse("A-1")).rejects.toMatchObject({
    code: "REVERSAL_NOT_SAFE",
    message: "What the terminal had stored before a later payment is not known.",
    details: { because: "what the terminal had stored before a later payment is not known" },
  });
});
