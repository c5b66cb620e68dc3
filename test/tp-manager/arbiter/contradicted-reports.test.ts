import { describe, expect, test } from "vitest";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import {
  alarms,
  type House,
  house,
  outcome,
  pay,
  request,
} from "../../support/house/payment-house.ts";
import { baseline, declined, earlierReport, report } from "../../support/terminals/reports.ts";
import { aborted, approves, lost } from "../../support/terminals/scripted-terminal.ts";

/** A record of the terminal contradicts what was reported or answered about an order. */

const phasesOf = (at: House, orderId: string): string[] =>
  at.journal.attempts.ofOrder(orderId).map(({ state }) => state.phase);

const TRIES_MAX = 10;

/** Repeats the order until no probe holds it up. Returns its answer, or "Failed" in the end. */
async function asked(at: House, orderId: string, change = {}): Promise<string> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const answer = pay(at, request(orderId, change)).then(outcome, () => undefined);
    await at.clock.advance(60_000);
    const said = await answer;
    if (said !== undefined && said !== "Failed") return said;
  }
  return "Failed";
}

/** A house whose terminal has ended the order by itself, or as `end` says. */
async function ended(orderId: string, change = {}, end: object = aborted): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve({ ...aborted, ...end });
  await pay(at, request(orderId, change));
  at.terminal.script = approves;
  return at;
}

async function sold(): Promise<House> {
  const at = house();
  at.start();
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  at.terminal.stores(report());
  return at;
}

/** A reversal whose outcome is lost, and that the terminal stores as `stored`. */
async function reversalLost(at: House, stored: TransactionReport): Promise<void> {
  at.terminal.reversal = () => {
    at.terminal.stores(stored);
    return Promise.resolve(lost("line broken"));
  };
  await at.afterSale.reverse("A-1");
  await at.clock.advance(400_000);
}

const next = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130140" });

describe("a reversal (docs/rules/16-fresh.md)", () => {
  test("is in doubt when the terminal reports the sale's own record as its result", async () => {
    const at = await sold();
    at.terminal.reversal = (_order, observer) => {
      observer.report(report());
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await at.afterSale.reverse("A-1");
    expect(phasesOf(at, "A-1")).toEqual(["reversal-in-doubt"]);
    expect(alarms(at)).toContain("reversal-mismatch");
  });

  test("that names no sale leaves its own order and an order turned away unknown", async () => {
    const at = await sold();
    at.terminal.script = () => Promise.resolve(aborted);
    await pay(at, request("B-1"));
    await reversalLost(at, next);
    expect(await asked(at, "B-1")).toBe("Unknown");
    expect(phasesOf(at, "A-1")).toEqual(["reversal-in-doubt"]);
    expect(at.journal.terminalLog.unmatched(1)).toMatchObject([{ finding: "unclear" }]);
  });

  test("of a sale whose trace number was used before reverses no earlier sale", async () => {
    const at = await sold();
    await at.clock.advance(5 * 3_600_000);
    const again = report({ receiptNumber: "0040", localTime: "180205" });
    at.terminal.script = (_order, observer) => {
      observer.report(again);
      at.terminal.stores({ ...again, traceNumber: "000090", originalTrace: again.traceNumber });
      return Promise.resolve(lost("line broken"));
    };
    await pay(at, request("B-1"));
    await at.clock.advance(400_000);
    at.terminal.script = approves;
    expect(await asked(at, "C-1", { amountMinor: 300 })).toBe("Success");
    expect([phasesOf(at, "A-1"), phasesOf(at, "B-1")]).toEqual([["charged"], ["not-charged"]]);
  });
});

describe("the terminal's record (docs/rules/19-late.md)", () => {
  test("of a sale in one answer with the last transaction charges its order", async () => {
    const at = await ended("A-1");
    const last = { kind: "transaction", report: earlierReport, also: [report()] } as const;
    at.terminal.last = last;
    at.terminal.baseline = { ...baseline, last };
    expect(await asked(at, "A-1")).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
    expect(alarms(at)).toContain("charged-late");
  });

  test("that contradicts an operator makes the order unknown, and nothing is sent", async () => {
    const at = await ended("A-1", {}, lost("line broken"));
    at.terminal.become({ link: "disconnected" });
    await at.settle({ orderId: "A-1", outcome: "not_charged", note: "no receipt" });
    at.terminal.stores(report());
    at.terminal.become({ link: "connected" });
    expect(await asked(at, "A-1")).toBe("Unknown");
    expect(at.terminal.paid).toHaveLength(1);
    // Once the operator has settled the order again, the same record contradicts nothing.
    await at.settle({ orderId: "A-1", outcome: "not_charged", note: "seen in the journal" });
    expect(await asked(at, "A-1")).toBe("Success");
    expect(at.terminal.paid).toHaveLength(2);
  });

  test("of an older sale with a new time and old numbers leaves the order unknown", async () => {
    const at = house();
    const old = { ...earlierReport, amountMinor: 999 };
    at.terminal.stores(old);
    at.start();
    at.terminal.script = () => Promise.resolve(aborted);
    await pay(at, request("A-1"));
    at.terminal.stores({ ...old, localTime: "130010" });
    expect(await asked(at, "A-1")).toBe("Unknown");
  });

  test("whose candidate is the reversed sale leaves the order unknown", async () => {
    const at = house();
    at.start();
    at.terminal.script = (_order, observer) =>
      new Promise((resolve) => {
        observer.report(report());
        at.terminal.onDecision = () => {
          observer.report(declined({ resultCode: "6C", reason: "cancelled" }));
          at.terminal.stores(report({ localTime: "130008" }));
          resolve(aborted);
        };
      });
    await pay(at, request("A-1", { delivery: { withinSeconds: 30 } }));
    const delivered = at.afterSale.deliver("A-1", false, undefined);
    await at.clock.advance(1_000);
    await delivered;
    expect(await asked(at, "A-1", { delivery: { withinSeconds: 30 } })).toBe("Unknown");
  });

  test("reported within a payment of another amount leaves both orders unknown", async () => {
    const at = await ended("A-1", { amountMinor: 300 });
    const late = report({ amountMinor: 300 });
    at.terminal.script = (_order, observer) => {
      at.terminal.stores(late);
      expect(observer.report(late)).toBe("refuse");
      return Promise.resolve(aborted);
    };
    await pay(at, request("B-1"));
    await at.clock.advance(400_000);
    expect(await asked(at, "A-1", { amountMinor: 300 })).toBe("Unknown");
    expect([phasesOf(at, "B-1"), at.terminal.paid.length]).toEqual([["in-doubt"], 2]);
  });

  test("without date and time is probed once, although the clock was set back", async () => {
    const at = await sold();
    at.terminal.script = () => Promise.resolve(aborted);
    await pay(at, request("B-1"));
    at.clock.jumpWallClock(-7_200_000);
    await reversalLost(at, { ...next, localDate: null, localTime: null });
    at.terminal.script = approves;
    const answer = pay(at, request("C-1", { amountMinor: 300 }));
    await at.clock.advance(60_000);
    expect(outcome(await answer)).toBe("Success");
  });

  test("that the order's own command reported charges it on a shared terminal", async () => {
    const at = house(undefined, undefined, { isShared: true });
    at.start();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      observer.ackArrived();
      return Promise.resolve(aborted);
    };
    await pay(at, request("A-1"));
    await at.clock.advance(400_000);
    at.terminal.stores(report());
    at.terminal.script = approves;
    expect(await asked(at, "A-1")).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("of an acknowledged sale overrules the operator on a shared terminal", async () => {
    const at = house(undefined, undefined, { isShared: true });
    at.start();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      observer.ackArrived();
      return Promise.resolve(aborted);
    };
    await pay(at, request("A-1"));
    at.terminal.become({ link: "disconnected" });
    await at.settle({ orderId: "A-1", outcome: "not_charged", note: "no receipt" });
    at.terminal.stores(report());
    at.terminal.become({ link: "connected" });
    at.terminal.script = approves;
    expect(await asked(at, "A-1")).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
  });
});
