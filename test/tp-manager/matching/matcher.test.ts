import { describe, expect, test } from "vitest";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, matcherFor } from "../../support/house/payment-house.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";
import { aborted, lost } from "../../support/terminals/scripted-terminal.ts";
import { ends, fresh, HOUR_MS, sells, stored, textOf, untimed } from "./reported-payments.ts";

const matcherOf = ({ journal, terminal, clock }: House, isShared = false) =>
  matcherFor(journal, terminal, clock, { isShared });

/** Whose a sale is that the terminal shows before the next command; "-": nothing is new. */
function newSale(at: House, record: TransactionReport = fresh, isShared = false): string {
  const answer = matcherOf(at, isShared).newSale({ ...baseline, last: stored(record) });
  return answer ? textOf(answer) : "-";
}

describe("what a terminal shows before a command is a new sale", () => {
  test("of the order that is a candidate, or of no order", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(newSale(at)).toBe("one A");
    expect(newSale(at, { ...fresh, amountMinor: 500 })).toBe("none A");
  });

  test("also when the order was charged by an operator's decision", async () => {
    const at = house();
    await ends(at, "A", lost("line"));
    await at.settle({ orderId: "A", outcome: "charged", note: "the customer has a receipt" });
    expect(newSale(at)).toBe("one A");
  });

  test("also when a charge without numbers and time is a candidate too", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await sells(at, "B", report({ receiptNumber: null, traceNumber: null, ...untimed }));
    expect(newSale(at)).toBe("many B A: several orders");
  });

  test("unless it is a reversal", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(newSale(at, { ...fresh, originalTrace: "000001" })).toBe("-");
  });

  test("unless an earlier baseline had shown it", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await sells(at, "A", report(), stored(fresh));
    expect(newSale(at, fresh, true)).toBe("-");
    expect(newSale(at, { ...fresh, traceNumber: "000014", localTime: "130050" }, true)).toBe(
      "none A",
    );
  });

  test("unless it is the last reported reversal, which names no original", async () => {
    const at = house();
    await sells(at, "A");
    at.terminal.stores(report());
    const back = report({ receiptNumber: "0009", traceNumber: "000014", ...untimed });
    at.terminal.reversal = (_order, observer) => {
      observer.report(back);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await at.afterSale.reverse("A");
    await at.clock.advance(13 * HOUR_MS);
    expect(newSale(at, back)).toBe("-");
  });
});

test("an order from before a loss of the journal explains no sale", async () => {
  const at = house();
  await ends(at, "A", aborted);
  expect(matcherOf(at).explains(fresh, identity)).toBe(true);
  at.journal.gaps.begin("it was put back", false, at.clock.now());
  expect(matcherOf(at).explains(fresh, identity)).toBe(false);
});

test("a terminal that shows a sale again after its reversal stores no reversals", async () => {
  const at = house();
  await sells(at, "A");
  at.terminal.stores(report());
  await at.afterSale.reverse("A");
  const matcher = matcherOf(at);
  const shows = (record: TransactionReport): void =>
    matcher.learn({ identity, last: stored(record) });
  shows(report({ traceNumber: "000099", originalTrace: "000011" }));
  shows(fresh);
  expect(matcher.learned(identity).has("stores-reversals")).toBe(true);
  shows(report());
  expect(matcher.learned(identity).has("stores-reversals")).toBe(false);
});
