import { describe, expect, test } from "vitest";
import {
  type Comparison,
  compareReports,
  compareStored,
  isNextReceipt,
  namesAnotherSale,
} from "../../../src/tp-manager/attempts/comparison.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { declined, report } from "../../support/terminals/reports.ts";

type Change = Partial<TransactionReport>;
const bare: Change = { receiptNumber: null, traceNumber: null, localDate: null, localTime: null };

describe("two reports (docs/rules/01-baseline.md)", () => {
  const table: Array<[string, Comparison, Change, Change?]> = [
    ["the very same", "same", {}],
    ["a receipt number without its zeros", "same", { receiptNumber: "2" }],
    ["a receipt number that one of them leaves out", "same", { receiptNumber: null }],
    ["a trace that one of them leaves out", "same", { traceNumber: null }],
    ["a trace of seven digits shown by its last six", "same", { traceNumber: "7000012" }],
    ["a reversal that one of them does not call one", "same", { originalTrace: "000001" }],
    ["no currency, another card name", "same", { currencyNumeric: null, cardName: null }],
    ["another receipt, trace and time", "different", other()],
    ["both numbers, at another time", "unsure", { localTime: "184205" }],
    ["both numbers, on another day", "unsure", { localDate: "0116" }],
    ["both, and another amount", "different", { localTime: "184205", amountMinor: 500 }],
    [
      "the same receipt alone, on another day",
      "different",
      { localDate: "0116", traceNumber: null },
    ],
    ["another terminal id", "different", { terminalId: "52500002" }],
    ["the sale and its reversal", "different", { traceNumber: "000013", originalTrace: "000012" }],
    ["one number, and another time", "different", { ...bare, ...at("140000", "0003") }, noTrace()],
    ["nothing but other amounts", "different", { ...bare, amountMinor: 500 }, bare],
    ["no receipt, trace or time", "unsure", bare, bare],
    ["nothing but the moment", "same", noNumbers(), noNumbers()],
    ["the moment alone, an hour apart", "unsure", hourApart(), noNumbers()],
    ["the same numbers without a time", "same", { localTime: null }],
    ["another receipt and trace in the same second", "unsure", twoNumbers()],
    ["the same, and another amount", "different", { ...twoNumbers(), amountMinor: 500 }],
    ["the same numbers, minutes apart", "unsure", { localTime: "132005" }],
    ["the same trace alone, minutes apart", "unsure", { receiptNumber: null, ...later() }],
    [
      "the same receipt, another trace, minutes apart",
      "different",
      { traceNumber: "13", ...later() },
    ],
    [
      "the same numbers and another amount, minutes apart",
      "different",
      { amountMinor: 1, ...later() },
    ],
    ["the same numbers, an hour apart", "unsure", { localTime: "140005" }],
    ["the same numbers, two hours apart", "unsure", { localTime: "110006" }],
    ["the same trace, another receipt, minutes apart", "unsure", anotherReceipt()],
    ["the same numbers, an hour and a second apart", "unsure", { localTime: "140006" }],
    ["another receipt, the same trace and second", "unsure", { receiptNumber: "0003" }],
    ["another trace, the same receipt and second", "unsure", { traceNumber: "000013" }],
    ["another receipt, the trace, and no time", "unsure", { receiptNumber: "3", ...noTime() }],
    ["all the same but the amount", "unsure", { amountMinor: 998 }],
    ["all the same but the result", "unsure", { good: false, resultCode: "05" }],
  ];
  test.each(table)("%s: %s", (_name, expected, a, b = {}) => {
    expect(compareReports(report(a), report(b))).toBe(expected);
    expect(compareReports(report(b), report(a))).toBe(expected);
  });

  function other(): Change {
    return { ...twoNumbers(), localTime: "130105" };
  }
  function twoNumbers(): Change {
    return { receiptNumber: "0003", traceNumber: "000013" };
  }
  function hourApart(): Change {
    return { ...noNumbers(), localTime: "140005" };
  }
  function later(): Change {
    return { localTime: "132005" };
  }
  function anotherReceipt(): Change {
    return { receiptNumber: "0003", ...later() };
  }
  function noTrace(): Change {
    return { traceNumber: null };
  }
  function noTime(): Change {
    return { localDate: null, localTime: null };
  }
  function noNumbers(): Change {
    return { receiptNumber: null, traceNumber: null };
  }
  function at(localTime: string, receiptNumber: string): Change {
    return { localDate: "0115", localTime, receiptNumber };
  }
});

test("two empty storages, or an unreadable one and any other, compare as unsure", () => {
  const none = { kind: "none" } as const;
  const notReported = { kind: "not-told", why: "" } as const;
  const stored = { kind: "transaction", report: report() } as const;
  expect(compareStored(none, none)).toBe("unsure");
  expect(compareStored(notReported, stored)).toBe("unsure");
  expect(compareStored(none, stored)).toBe("different");
  expect(compareStored(stored, stored)).toBe("same");
  expect(compareStored(stored, { kind: "transaction", report: declined() })).toBe("unsure");
});

test("a report names another sale only if it has a number and none is the same", () => {
  const another = (change: Change): boolean => namesAnotherSale(report(), report(change));
  expect(another({ receiptNumber: "0003", traceNumber: "000013" })).toBe(true);
  expect(another({ receiptNumber: "0003", traceNumber: null })).toBe(true);
  expect(another({ receiptNumber: "0003" })).toBe(false);
  expect(another({ receiptNumber: null, traceNumber: null })).toBe(false);
  expect(another({})).toBe(false);
});

test("the next receipt number is known, except after 9999, where numbers may begin again", () => {
  expect(isNextReceipt("0002", "0003")).toBe(true);
  expect(isNextReceipt("9999", "0001")).toBeNull();
  expect(isNextReceipt("9999", "0000")).toBe(true);
  expect(isNextReceipt("2", "0004")).toBe(false);
  expect(isNextReceipt("0002", "0001")).toBe(false);
  expect(isNextReceipt(null, "0003")).toBeNull();
});
