import { describe, expect, test } from "vitest";
import type { Inquiry, Known } from "../../../src/tp-manager/matching/facts.ts";
import { judgeByNext } from "../../../src/tp-manager/matching/table.ts";
import type { LastTransaction } from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline, earlierReport, identity, report } from "../../support/terminals/reports.ts";
import {
  bad,
  heard,
  none,
  nothing,
  notReported,
  type Row,
  reversal,
  sale,
  silent,
  sold,
  stored,
  strange,
  takenBack,
  unmatched,
  verdictOf,
  withAck,
} from "./inquiries.ts";

describe("what the next command shows (docs/rules/02-proof.md)", () => {
  const next = (found: LastTransaction, change: object = {}): Partial<Known> => ({
    next: {
      identity,
      found,
      foundIs: null,
      otherCandidate: null,
      isCandidate: true,
      served: true,
      receiptNumber: null,
      formerReceipt: null,
      ...change,
    },
  });
  const unseen: Inquiry = { ...sale, before: none, isWatched: false };
  const noNumber = heard(sale, { ...withAck, good: report({ receiptNumber: null }) });
  const later = stored({ receiptNumber: "0004", traceNumber: "000014", localTime: "130405" });
  const table: ReadonlyArray<readonly [string, Inquiry, Partial<Known>, string]> = [
    ["it found the matching sale", sale, next(stored()), "charged"],
    ["it found the sale of another order", sale, next(stored(), { foundIs: "B-1" }), "unsettled"],
    ["it was not carried out", sale, next(stored(), { served: false }), "unsettled"],
    ["it found nothing new", sale, next(baseline.last), "not-charged"],
    [
      "it got the receipt number of the lost one",
      sale,
      next(baseline.last, { receiptNumber: "2" }),
      "not-charged",
    ],
    [
      "it got a later receipt number",
      sale,
      next(baseline.last, { receiptNumber: "0003" }),
      "unsettled",
    ],
    ["the lost one got its ACK", { ...sale, heard: withAck }, next(baseline.last), "unsettled"],
    [
      "the lost one got its ACK, and its number was given again",
      { ...sale, heard: withAck },
      next(baseline.last, { receiptNumber: "0002" }),
      "unsettled",
    ],
    [
      "the lost one got its ACK without a number, and the next number was given",
      noNumber,
      next(baseline.last, { receiptNumber: "0002" }),
      "not-charged",
    ],
    [
      "the lost one got its ACK without a number, and an end of day ran since",
      noNumber,
      { ...next(baseline.last, { receiptNumber: "0002" }), closedSince: true },
      "unsettled",
    ],
    [
      "empty before and after, and numbers of which a new numbering reaches one",
      unseen,
      next(none, { formerReceipt: "0020", receiptNumber: "0021" }),
      "unsettled",
    ],
    [
      "empty before and after, and the number after the last known one",
      unseen,
      next(none, { formerReceipt: "0137", receiptNumber: "0138" }),
      "not-charged",
    ],
    [
      "empty before and after, and a later number",
      unseen,
      next(none, { formerReceipt: "0137", receiptNumber: "0139" }),
      "unsettled",
    ],
    [
      "empty before and after, and a first number, which may be that of a new numbering",
      unseen,
      next(none, { receiptNumber: "0001" }),
      "unsettled",
    ],
    [
      "empty before and after, and a first number after the greatest one",
      unseen,
      next(none, { formerReceipt: "9999", receiptNumber: "0001" }),
      "unsettled",
    ],
    [
      "empty before and after, and numbers that a new numbering reaches as well",
      unseen,
      next(none, { formerReceipt: "0001", receiptNumber: "0002" }),
      "unsettled",
    ],
    [
      "empty before and after an end of day",
      unseen,
      { ...next(none, { formerReceipt: "0137", receiptNumber: "0138" }), closedSince: true },
      "unsettled",
    ],
    ["it found the reversal", reversal, next(takenBack()), "reversed"],
    ["it found the sale that was to be reversed", reversal, next(sold), "not-reversed"],
  ];
  test.each(table)("%s", (_name, inquiry, known, expected) => {
    const all = { ...nothing, ...known };
    expect(verdictOf(inquiry, known, later)).toBe(expected);
    expect(judgeByNext(inquiry, all)?.verdict ?? "unsettled").toBe(expected);
  });

  test("a sale that shows up after the next command read no storage can be its own", () => {
    expect(verdictOf(sale, next(notReported), stored(), stored())).toBe("unsettled");
  });

  test("a reversal of another order that names no original does not charge this order", () => {
    const unnamed = stored({ traceNumber: "000013", localTime: "130205" });
    expect(verdictOf(sale, next(earlier(), { served: false }), unnamed, unnamed)).toBe("unsettled");
    function earlier(): LastTransaction {
      return { kind: "transaction", report: earlierReport };
    }
  });
});

describe("a reversal in doubt (docs/rules/07-returns.md)", () => {
  const own = report({ traceNumber: "000013", localTime: "130205" });
  const reported: Inquiry = { ...reversal, heard: { ...silent, good: own } };
  const table: Row[] = [
    ["the sale is still the last", reversal, [sold], "not-reversed"],
    ["the reversal is stored", reversal, [takenBack()], "probe-again"],
    ["the reversal is stored, twice", reversal, [takenBack(), takenBack()], "reversed"],
    ["a reversal of another amount", reversal, [takenBack({ amountMinor: 500 })], "unsettled"],
    ["a reversal of another sale", reversal, [takenBack({ originalTrace: "000011" })], "unsettled"],
    ["the reversal of another order", reversal, [takenBack()], "unsettled", { foundIs: "B-1" }],
    [
      "its own report, which names no sale",
      reported,
      [
        { kind: "transaction", report: own },
        { kind: "transaction", report: own },
      ],
      "reversed",
    ],
    [
      "a reversal with its ACK that is not there",
      heard(reported, { ackArrived: true }),
      [sold],
      "unsettled",
    ],
    ["a bad end, and the sale is still the last", heard(reported, bad), [sold], "probe-again"],
    ["a bad end, and twice the sale", heard(reported, bad), [sold, sold], "not-reversed"],
    [
      "an ACK that may have arrived, and the sale",
      heard(reported, { ackMayHaveArrived: true }),
      [sold],
      "unsettled",
    ],
    ["a terminal that shows no last transaction", reversal, [notReported], "unsettled"],
    ["an emptied storage", reversal, [none], "unsettled"],
  ];
  test.each(table)("%s", (_name, inquiry, probes, expected, known = {}) => {
    expect(verdictOf(inquiry, known, ...probes)).toBe(expected);
  });
});

describe("an unmatched result (docs/rules/04-approval.md)", () => {
  const held: LastTransaction = { kind: "transaction", report: strange };
  const back = takenBack({ originalTrace: "000077", amountMinor: 1 });
  const blank: Inquiry = {
    ...unmatched,
    heard: {
      ...unmatched.heard,
      good: { ...strange, receiptNumber: null, traceNumber: null, localTime: null },
    },
  };
  const nameless: Inquiry = {
    ...unmatched,
    heard: { ...unmatched.heard, good: { ...strange, receiptNumber: null, traceNumber: null } },
  };
  const table: Row[] = [
    ["stored", unmatched, [held], "probe-again"],
    ["stored, twice", unmatched, [held, held], "held"],
    ["the sale of an order", unmatched, [held], "known", { unmatchedIs: "A-1" }],
    ["its reversal", unmatched, [back], "taken-back"],
    ["something else", unmatched, [baseline.last], "probe-again"],
    ["something else, twice", unmatched, [baseline.last, baseline.last], "gone"],
    ["nothing", unmatched, [none], "probe-again"],
    ["stored, and then nothing", unmatched, [held, none], "unclear"],
    ["nothing, twice", unmatched, [none, none], "unclear"],
    ["the same date and time without numbers", nameless, [held, held], "held"],
    ["a record that may be the same or another one", blank, [held, held], "unclear"],
    ["something else after a sale", unmatched, [sold, sold], "unclear", { soldSince: true }],
    [
      "something else after an end of day",
      unmatched,
      [none, none],
      "unclear",
      { closedSince: true },
    ],
    ["another reversal", unmatched, [takenBack(), takenBack()], "unclear"],
    [
      "the reversal that stood before the payment",
      unmatched,
      [takenBack(), takenBack()],
      "gone",
      { stoodBefore: true },
    ],
    ["a terminal that shows no last transaction", unmatched, [notReported], "unclear"],
  ];
  test.each(table)("%s", (_name, inquiry, probes, expected, known = {}) => {
    expect(verdictOf(inquiry, known, ...probes)).toBe(expected);
  });
});
