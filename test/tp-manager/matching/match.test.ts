import { describe, expect, test } from "vitest";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, matcherFor } from "../../support/house/payment-house.ts";
import { baseline, declined, identity, report } from "../../support/terminals/reports.ts";
import { aborted, lost } from "../../support/terminals/scripted-terminal.ts";
import {
  ends,
  fresh,
  HOUR_MS,
  notReported,
  sells,
  stored,
  textOf,
  untimed,
} from "./reported-payments.ts";

const inThatSecond = report({ receiptNumber: "0003", traceNumber: "000013" });

/** Which orders a record can belong to, as a short text. */
function whose(
  { journal, terminal, clock }: House,
  record: TransactionReport = fresh,
  { isLate = false, isShared = false, serialNumber = identity.serialNumber } = {},
): string {
  const matcher = matcherFor(journal, terminal, clock, { isShared });
  const reportedAtMs = isLate ? clock.now() : undefined;
  return textOf(matcher.whose(record, { ...identity, serialNumber }, reportedAtMs));
}

describe("a new record belongs to an order", () => {
  test("although a later command was begun and never sent", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await ends(at, "B", { end: "not-sent", code: "", text: "no link" });
    expect(whose(at)).toBe("one A");
  });

  test("whose payment had reported a cancellation before", async () => {
    const at = house();
    const cancelled = declined({ resultCode: "6C", reason: "cancelled", traceNumber: "000010" });
    await ends(at, "A", aborted, { reports: [cancelled] });
    expect(whose(at)).toBe("one A");
  });

  test("whose payment reported another amount, which was refused", async () => {
    const at = house();
    await ends(at, "A", aborted, { reports: [report({ amountMinor: 500 })] });
    expect(whose(at)).toBe("one A");
  });
});

describe("a record in the second of an order's own report, with other numbers", () => {
  test("belongs to that order, but not for certain on a shared terminal", async () => {
    const at = house();
    await ends(at, "A", lost("line"), { reports: [report()] });
    expect(whose(at, inThatSecond)).toBe("one A");
    expect(whose(at, inThatSecond, { isShared: true })).toBe("many A: outsider");
    expect(whose(at, report(), { isShared: true })).toBe("one A");
  });
});

describe("a new record does not belong to an order", () => {
  test("that reported its own sale at another time", async () => {
    const at = house();
    await ends(at, "A", lost("line"), { reports: [report()] });
    expect(whose(at)).toBe("none");
  });

  test("at another terminal", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, fresh, { serialNumber: "SN-2" })).toBe("none");
  });

  test("that is charged with a sale of which only another trace is known", async () => {
    const at = house();
    await sells(at, "A", report({ receiptNumber: null, ...untimed }));
    expect(whose(at)).toBe("none A");
  });

  test("when an earlier command had found the record stored", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await ends(at, "A", aborted, { before: stored(fresh) });
    await ends(at, "B", aborted, { before: notReported });
    expect(whose(at)).toBe("none");
  });

  test("that the bank declined after a baseline that could not be read", async () => {
    const at = house();
    const reports = [declined()];
    await ends(
      at,
      "A",
      { ...aborted, code: "05", reason: "declined" },
      { reports, before: notReported },
    );
    expect(whose(at)).toBe("none A");
  });

  test("that the bank declined on a shared terminal", async () => {
    const at = house();
    await ends(at, "A", { ...aborted, code: "05", reason: "declined" }, { reports: [declined()] });
    expect(whose(at, fresh, { isShared: true })).toBe("none A");
    expect(whose(at)).toBe("one A");
  });
});

describe("a new record belongs to no order for certain", () => {
  test("after a later command of another amount", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted, { change: { amountMinor: 500 } });
    expect(whose(at)).toBe("many A: later");
  });

  test.each([
    ["refused to show its storage", notReported, "many A: later"],
    ["showed something else", baseline.last, "none B"],
  ] as const)("when the terminal %s long afterwards", async (_what, before, expected) => {
    const at = house();
    await ends(at, "A", aborted);
    await at.clock.advance(600_000);
    await ends(at, "B", aborted, { before, change: { amountMinor: 500 } });
    expect(whose(at)).toBe(expected);
  });

  test("when an order may be lost with the journal", async () => {
    const at = house();
    await ends(at, "A", aborted);
    at.journal.gaps.begin("it was put back", false, at.clock.now());
    expect(whose(at)).toBe("many A: lost order");
  });

  test("when two orders are candidates", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted);
    expect(whose(at)).toBe("many B A: several orders");
  });

  test("on a shared terminal", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, fresh, { isShared: true })).toBe("many A: outsider");
  });

  test("when the baseline of the payment could not be read", async () => {
    const at = house();
    await ends(at, "A", aborted, { before: notReported });
    expect(whose(at)).toBe("many A: never probed");
  });

  test("when the record has no time", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, { ...fresh, ...untimed })).toBe("many A: untimed");
  });

  test("when its date is wrong and it shows up within the time of the payment", async () => {
    const anew = { ...fresh, localDate: "1230" };
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, anew)).toBe("many A: untimed");
    await at.clock.advance(600_000);
    expect(whose(at, anew)).toBe("none A");
    await ends(at, "B", aborted, { before: notReported });
    expect(whose(at, anew)).toBe("none B A");
  });

  test("after an end of day", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await at.upkeep.telecollect();
    expect(whose(at)).toBe("many A: closed");
  });

  test("in the second of another order's sale", async () => {
    const at = house();
    await sells(at, "A");
    await ends(at, "B", aborted, { before: stored(report()) });
    expect(whose(at, inThatSecond)).toBe("many B: retold");
  });

  test("when it may repeat another order's result", async () => {
    const at = house();
    await ends(at, "A", lost("line"), { reports: [report()] });
    await at.clock.advance(600_000);
    await ends(at, "B", aborted, { change: { amountMinor: 500 } });
    await ends(at, "C", aborted);
    const anew = report({ receiptNumber: "0003", localTime: "131010" });
    expect(whose(at, anew)).toBe("many C: retold");
  });

  test("in the second of what the baseline of one of two attempts showed", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await ends(at, "A", aborted, { before: stored(report()) });
    await ends(at, "A", aborted, { before: notReported });
    expect(whose(at, inThatSecond)).toBe("many A A: retold");
  });

  test("when two orders that became unknown together are candidates", async () => {
    const at = house();
    at.start();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted);
    at.terminal.stores(report());
    at.terminal.emit({ type: "unmatched-report", report: report() });
    await at.clock.advance(20_000);
    expect(whose(at)).toBe("many B A: several orders");
  });
});

describe("a record that the journal has already", () => {
  test("belongs to its order, also 13 hours later", async () => {
    const at = house();
    await sells(at, "A");
    await at.clock.advance(13 * HOUR_MS);
    expect(whose(at, report())).toBe("known A");
  });

  test("without date and time is known for one numbering period", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    expect(whose(at, nameless)).toBe("known A");
    await at.clock.advance(13 * HOUR_MS);
    expect(whose(at, nameless)).toBe("none");
  });

  test("without date and time is uncertain once the storage could not be read", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    await ends(at, "B", aborted, { before: stored(nameless), change: { amountMinor: 500 } });
    expect(whose(at, nameless)).toBe("known A");
    await ends(at, "C", aborted, { before: notReported, change: { amountMinor: 500 } });
    expect(whose(at, nameless)).toBe("known A?");
    await ends(at, "D", aborted, { before: notReported });
    expect(whose(at, nameless)).toBe("many D: retold");
  });

  test("without date and time is uncertain after another sale", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    await ends(at, "C", aborted, { before: stored(nameless) });
    expect(whose(at, nameless)).toBe("known A");
    await sells(at, "B", report(), stored(nameless));
    expect(whose(at, nameless)).toBe("many C: retold");
  });

  test("of an order in doubt is uncertain once the storage could not be read", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await ends(at, "A", lost("line"), { reports: [nameless] });
    expect(whose(at, nameless)).toBe("one A");
    await ends(at, "B", aborted, { before: notReported });
    expect(whose(at, nameless)).toBe("many B A: retold");
  });

  test("is no new sale of a payment whose baseline showed it", async () => {
    const at = house();
    await ends(at, "A", aborted, { reports: [report()], before: stored(report()) });
    expect(whose(at, report(), { isLate: true })).toBe("known A");
  });

  test("without date and time is known until an end of day", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    await at.upkeep.telecollect();
    expect(whose(at, nameless)).toBe("none");
  });

  test("is refused in another payment each time that it is reported", async () => {
    const at = house();
    await sells(at, "A");
    const reports = [report(), report()];
    expect(await ends(at, "B", lost("line"), { reports })).toEqual(["refuse", "refuse"]);
  });

  test("belongs to no order for certain when it was found for several", async () => {
    const at = house();
    at.start();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted);
    at.terminal.stores(report());
    at.terminal.emit({ type: "unmatched-report", report: report() });
    await at.clock.advance(20_000);
    expect(whose(at, report())).toBe("many B A: several orders");
  });

  test("is refused in a payment that found it stored, by its receipt number alone", async () => {
    const at = house();
    const reports = [report({ traceNumber: null })];
    const before = stored(report(untimed));
    expect(await ends(at, "A", lost("line"), { reports, before })).toEqual(["refuse"]);
  });

  // A terminal that reports no seconds gives the trace of a decline to the sale after it.
  test("does not stop an approval when it is a decline of that trace and minute", async () => {
    const at = house();
    await ends(at, "A", { ...aborted, code: "05", reason: "declined" }, { reports: [declined()] });
    expect(await ends(at, "B", lost("line"), { reports: [report()] })).toEqual(["accept"]);
  });

  test("is accepted again within its own payment", async () => {
    const at = house();
    const reports = [report(), report()];
    expect(await ends(at, "A", lost("line"), { reports })).toEqual(["accept", "accept"]);
  });

  test("does not stop a sale of the same second with other numbers", async () => {
    const at = house();
    await sells(at, "A");
    expect(await ends(at, "B", lost("line"), { reports: [inThatSecond] })).toEqual(["accept"]);
  });

  test("does not stop a sale of the same second with another receipt and no trace", async () => {
    const at = house();
    await sells(at, "A", report({ traceNumber: null }));
    const reports = [report({ traceNumber: null, receiptNumber: "0003" })];
    expect(await ends(at, "B", lost("line"), { reports })).toEqual(["accept"]);
  });

  test.each([[""], [null]])("is refused in another payment without its trace: %j", async (none) => {
    const at = house();
    await sells(at, "A");
    const reports = [report({ traceNumber: none })];
    expect(await ends(at, "B", lost("line"), { reports })).toEqual(["refuse"]);
  });

  test("is refused in another payment although it first came without a trace", async () => {
    const at = house();
    await sells(at, "A", report({ traceNumber: "" }));
    expect(await ends(at, "B", lost("line"), { reports: [report()] })).toEqual(["refuse"]);
  });

  test("is refused in another payment by its second and one of its numbers", async () => {
    const at = house();
    await sells(at, "A");
    const reports = [report({ receiptNumber: "0003" })];
    expect(await ends(at, "B", lost("line"), { reports })).toEqual(["refuse"]);
  });
});

describe("a reversal whose outcome is lost", () => {
  /** Order A was sold, and its reversal reported `second` before its outcome was lost. */
  async function reversing(sale = report(), second?: TransactionReport): Promise<House> {
    const at = house();
    await sells(at, "A", sale);
    at.terminal.stores(sale);
    at.terminal.reversal = (_order, observer) => {
      if (second) observer.report(second);
      return Promise.resolve(lost("line"));
    };
    await at.afterSale.reverse("A");
    return at;
  }

  test("can have made a record that names no original", async () => {
    expect(whose(await reversing())).toBe("one A reversed");
  });

  test("has not made a record of another amount", async () => {
    expect(whose(await reversing(), { ...fresh, amountMinor: 500 })).toBe("none");
  });

  test("has not made another record than the one that it reported", async () => {
    const own = report({ receiptNumber: "0009", traceNumber: "000014", localTime: "130020" });
    expect(whose(await reversing(report(), own))).toBe("none A");
  });

  test("has not made a record that was stored before it", async () => {
    const nameless = report(untimed);
    const at = await reversing(nameless);
    await at.clock.advance(13 * HOUR_MS);
    expect(whose(at, nameless)).toBe("none");
  });

  test("has not made a record that was stored before its sale", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await sells(at, "A", report(), stored(fresh));
    at.terminal.stores(report());
    at.terminal.reversal = () => Promise.resolve(lost("line"));
    await at.afterSale.reverse("A");
    expect(whose(at)).toBe("none");
  });
});
