import { describe, expect, test } from "vitest";
import type { Source } from "../../../src/tp-manager/matching/answer.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, matcherFor } from "../../support/payment-house.ts";
import { baseline, declined, identity, report } from "../../support/reports.ts";
import { aborted, lost } from "../../support/scripted-terminal.ts";
import { ends, fresh, HOUR_MS, inWords, notTold, sells, stored, untimed } from "./told-payments.ts";

const inThatSecond = report({ receiptNumber: "0003", traceNumber: "000013" });

/** Whose a record is, in few words. */
function whose(
  { journal, terminal, clock }: House,
  record: TransactionReport = fresh,
  { source = "baseline" as Source, isShared = false, serialNumber = identity.serialNumber } = {},
): string {
  const matcher = matcherFor(journal, terminal, clock, { isShared });
  return inWords(matcher.whose(record, source, { ...identity, serialNumber }));
}

describe("a new record is that of an order", () => {
  test("behind a command that never left", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await ends(at, "B", { end: "not-sent", code: "", text: "no link" });
    expect(whose(at)).toBe("one A");
  });

  test("whose payment told a cancellation of its own before", async () => {
    const at = house();
    const cancelled = declined({ resultCode: "6C", reason: "cancelled", traceNumber: "000010" });
    await ends(at, "A", aborted, { told: [cancelled] });
    expect(whose(at)).toBe("one A");
  });

  test("whose payment told another amount, which was refused", async () => {
    const at = house();
    await ends(at, "A", aborted, { told: [report({ amountMinor: 500 })] });
    expect(whose(at)).toBe("one A");
  });
});

describe("a record in the second of an order's own report, with other numbers", () => {
  test("is its, where nobody else is paid", async () => {
    const at = house();
    await ends(at, "A", lost("line"), { told: [report()] });
    expect(whose(at, inThatSecond)).toBe("one A");
    expect(whose(at, inThatSecond, { isShared: true })).toBe("many A: outsider");
    expect(whose(at, report(), { isShared: true })).toBe("one A");
  });
});

describe("a new record is none of an order", () => {
  test("whose own record, told in another second, is another one", async () => {
    const at = house();
    await ends(at, "A", lost("line"), { told: [report()] });
    expect(whose(at)).toBe("none");
  });

  test("at another terminal", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, fresh, { serialNumber: "SN-2" })).toBe("none");
  });

  test("that is charged with a sale that has a trace alone", async () => {
    const at = house();
    await sells(at, "A", report({ receiptNumber: null, ...untimed }));
    expect(whose(at)).toBe("none A");
  });

  test("when an earlier command had found it stored", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await ends(at, "A", aborted, { before: stored(fresh) });
    await ends(at, "B", aborted, { before: notTold });
    expect(whose(at)).toBe("none");
  });

  test("that the bank had declined, where the look before it was refused", async () => {
    const at = house();
    const told = [declined()];
    await ends(at, "A", { ...aborted, code: "05", reason: "declined" }, { told, before: notTold });
    expect(whose(at)).toBe("none A");
  });

  test("that the bank had declined, where others are paid", async () => {
    const at = house();
    await ends(at, "A", { ...aborted, code: "05", reason: "declined" }, { told: [declined()] });
    expect(whose(at, fresh, { isShared: true })).toBe("none A");
    expect(whose(at)).toBe("one A");
  });
});

describe("a new record is nobody's for certain", () => {
  test("behind a command of another amount", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted, { change: { amountMinor: 500 } });
    expect(whose(at)).toBe("many A: later");
  });

  test.each([
    ["did not tell its storage", notTold, "many A: later"],
    ["showed something else", baseline.last, "none B"],
  ] as const)("when the terminal %s long after", async (_what, before, expected) => {
    const at = house();
    await ends(at, "A", aborted);
    await at.clock.advance(600_000);
    await ends(at, "B", aborted, { before, change: { amountMinor: 500 } });
    expect(whose(at)).toBe(expected);
  });

  test("where an order was lost with the journal", async () => {
    const at = house();
    await ends(at, "A", aborted);
    at.journal.gaps.begin("it was put back", false, at.clock.now());
    expect(whose(at)).toBe("many A: lost order");
  });

  test("where two orders fit", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted);
    expect(whose(at)).toBe("many B A: several orders");
  });

  test("where others are paid", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, fresh, { isShared: true })).toBe("many A: outsider");
  });

  test("where the look before the payment was refused", async () => {
    const at = house();
    await ends(at, "A", aborted, { before: notTold });
    expect(whose(at)).toBe("many A: never probed");
  });

  test("that tells no time", async () => {
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, { ...fresh, ...untimed })).toBe("many A: untimed");
  });

  test("by a clock that is wrong, seen in the time of the payment", async () => {
    const anew = { ...fresh, localDate: "1230" };
    const at = house();
    await ends(at, "A", aborted);
    expect(whose(at, anew)).toBe("many A: untimed");
    await at.clock.advance(600_000);
    expect(whose(at, anew)).toBe("none A");
    await ends(at, "B", aborted, { before: notTold });
    expect(whose(at, anew)).toBe("none B A");
  });

  test("behind an end of day", async () => {
    const at = house();
    await ends(at, "A", aborted);
    await at.upkeep.telecollect();
    expect(whose(at)).toBe("many A: closed");
  });

  test("of the second of another order's sale", async () => {
    const at = house();
    await sells(at, "A");
    await ends(at, "B", aborted, { before: stored(report()) });
    expect(whose(at, inThatSecond)).toBe("many B: retold");
  });

  test("that another order's result cannot be told from", async () => {
    const at = house();
    await ends(at, "A", lost("line"), { told: [report()] });
    await at.clock.advance(600_000);
    await ends(at, "B", aborted, { change: { amountMinor: 500 } });
    await ends(at, "C", aborted);
    const anew = report({ receiptNumber: "0003", localTime: "131010" });
    expect(whose(at, anew)).toBe("many C: retold");
  });

  test("of the second of what stood before one of two attempts", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await ends(at, "A", aborted, { before: stored(report()) });
    await ends(at, "A", aborted, { before: notTold });
    expect(whose(at, inThatSecond)).toBe("many A A: retold");
  });

  test("while it can be another sale of orders that are unknown together", async () => {
    const at = house();
    at.start();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted);
    at.terminal.stores(report());
    at.terminal.tell({ type: "unmatched-report", report: report() });
    await at.clock.advance(20_000);
    expect(whose(at)).toBe("many B A: several orders");
  });
});

describe("a record that the journal has already", () => {
  test("is its order's, also behind a night", async () => {
    const at = house();
    await sells(at, "A");
    await at.clock.advance(13 * HOUR_MS);
    expect(whose(at, report())).toBe("known A");
  });

  test("and that tells no moment is known for one numbering period", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    expect(whose(at, nameless)).toBe("known A");
    await at.clock.advance(13 * HOUR_MS);
    expect(whose(at, nameless)).toBe("none");
  });

  test("and that tells no moment is not certain behind something else", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    await ends(at, "B", aborted, { before: stored(nameless), change: { amountMinor: 500 } });
    expect(whose(at, nameless)).toBe("known A");
    await ends(at, "C", aborted, { before: notTold, change: { amountMinor: 500 } });
    expect(whose(at, nameless)).toBe("known A?");
    await ends(at, "D", aborted, { before: notTold });
    expect(whose(at, nameless)).toBe("many D: retold");
  });

  test("and that tells no moment is not certain behind a sale", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    await ends(at, "C", aborted, { before: stored(nameless) });
    expect(whose(at, nameless)).toBe("known A");
    await sells(at, "B", report(), stored(nameless));
    expect(whose(at, nameless)).toBe("many C: retold");
  });

  test("of an order in doubt is not its own behind something else", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await ends(at, "A", lost("line"), { told: [nameless] });
    expect(whose(at, nameless)).toBe("one A");
    await ends(at, "B", aborted, { before: notTold });
    expect(whose(at, nameless)).toBe("many B A: retold");
  });

  test("is not its own of a payment before which it was stored", async () => {
    const at = house();
    await ends(at, "A", aborted, { told: [report()], before: stored(report()) });
    expect(whose(at, report(), { source: "late" })).toBe("known A");
  });

  test("and that tells no moment is known until an end of day", async () => {
    const at = house();
    const nameless = { ...fresh, ...untimed };
    await sells(at, "A", nameless);
    await at.upkeep.telecollect();
    expect(whose(at, nameless)).toBe("none");
  });

  test("is refused in another payment each time that it is told", async () => {
    const at = house();
    await sells(at, "A");
    const told = [report(), report()];
    expect(await ends(at, "B", lost("line"), { told })).toEqual(["refuse", "refuse"]);
  });

  test("is no order's own that was found for several", async () => {
    const at = house();
    at.start();
    await ends(at, "A", aborted);
    await ends(at, "B", aborted);
    at.terminal.stores(report());
    at.terminal.tell({ type: "unmatched-report", report: report() });
    await at.clock.advance(20_000);
    expect(whose(at, report())).toBe("many B A: several orders");
  });

  test("is refused in a payment that found it stored, by its receipt number alone", async () => {
    const at = house();
    const told = [report({ traceNumber: null })];
    const before = stored(report(untimed));
    expect(await ends(at, "A", lost("line"), { told, before })).toEqual(["refuse"]);
  });

  // A terminal that tells minutes gives the trace of a decline to the sale behind it.
  test("is a refusal, and no approval with its trace and minute", async () => {
    const at = house();
    await ends(at, "A", { ...aborted, code: "05", reason: "declined" }, { told: [declined()] });
    expect(await ends(at, "B", lost("line"), { told: [report()] })).toEqual(["accept"]);
  });

  test("is taken again within its own payment", async () => {
    const at = house();
    const told = [report(), report()];
    expect(await ends(at, "A", lost("line"), { told })).toEqual(["accept", "accept"]);
  });

  test("of one second and another number is another sale within a payment", async () => {
    const at = house();
    await sells(at, "A");
    expect(await ends(at, "B", lost("line"), { told: [inThatSecond] })).toEqual(["accept"]);
  });

  test("of one second and another receipt is another sale, where no trace is told", async () => {
    const at = house();
    await sells(at, "A", report({ traceNumber: null }));
    const told = [report({ traceNumber: null, receiptNumber: "0003" })];
    expect(await ends(at, "B", lost("line"), { told })).toEqual(["accept"]);
  });

  test.each([[""], [null]])("is refused within a payment without a trace: %j", async (none) => {
    const at = house();
    await sells(at, "A");
    const told = [report({ traceNumber: none })];
    expect(await ends(at, "B", lost("line"), { told })).toEqual(["refuse"]);
  });

  test("is refused within a payment, told without a trace before", async () => {
    const at = house();
    await sells(at, "A", report({ traceNumber: "" }));
    expect(await ends(at, "B", lost("line"), { told: [report()] })).toEqual(["refuse"]);
  });

  test("of one second and one number is refused within a payment", async () => {
    const at = house();
    await sells(at, "A");
    const told = [report({ receiptNumber: "0003" })];
    expect(await ends(at, "B", lost("line"), { told })).toEqual(["refuse"]);
  });
});

describe("a reversal whose end nobody heard", () => {
  /** Order A was sold, and its reversal told so much. */
  async function reversing(sale = report(), told?: TransactionReport): Promise<House> {
    const at = house();
    await sells(at, "A", sale);
    at.terminal.stores(sale);
    at.terminal.reversal = (_order, observer) => {
      if (told) observer.report(told);
      return Promise.resolve(lost("line"));
    };
    await at.afterSale.reverse("A");
    return at;
  }

  test("can have made a record that names no original", async () => {
    expect(whose(await reversing())).toBe("one A reversed");
  });

  test("has not made one of another amount", async () => {
    expect(whose(await reversing(), { ...fresh, amountMinor: 500 })).toBe("none");
  });

  test("has not made another one than it had told", async () => {
    const own = report({ receiptNumber: "0009", traceNumber: "000014", localTime: "130020" });
    expect(whose(await reversing(report(), own))).toBe("none A");
  });

  test("has not made what was stored before it", async () => {
    const nameless = report(untimed);
    const at = await reversing(nameless);
    await at.clock.advance(13 * HOUR_MS);
    expect(whose(at, nameless)).toBe("none");
  });

  test("has not made what was stored before its sale", async () => {
    const at = house(undefined, undefined, { isShared: true });
    await sells(at, "A", report(), stored(fresh));
    at.terminal.stores(report());
    at.terminal.reversal = () => Promise.resolve(lost("line"));
    await at.afterSale.reverse("A");
    expect(whose(at)).toBe("none");
  });
});
