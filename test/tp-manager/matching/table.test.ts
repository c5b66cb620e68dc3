import { describe, expect, test } from "vitest";
import { nearestLocalTime } from "../../../src/tp-manager/attempts/comparison.ts";
import {
  type Inquiry,
  isProbedInTime,
  type Probe,
} from "../../../src/tp-manager/matching/facts.ts";
import { judge } from "../../../src/tp-manager/matching/table.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import {
  baseline,
  declined,
  earlierReport,
  identity,
  report,
} from "../../support/terminals/reports.ts";
import {
  approved,
  bad,
  CONFIRM_MS,
  heard,
  none,
  nothing,
  notReported,
  probeOf,
  type Row,
  refusedPart,
  reversal,
  sale,
  stored,
  takenBack,
  unmatched,
  verdictOf,
  withAck,
} from "./inquiries.ts";

describe("a payment in doubt (docs/rules/02-proof.md, docs/rules/22-heard-end.md)", () => {
  const before = baseline.last;
  const noBaseline: Inquiry = { ...sale, before: notReported };
  const ahead: Inquiry = { ...sale, asked: { ...asked(), clockOffsetMs: 2 * 3_600_000 } };
  const cancelled = heard(sale, { end: "only-bad" });
  const badEnd: Inquiry = { ...sale, heard: { ...approved, ...bad } };
  const spelled = { ...earlierReport, receiptNumber: "1" };
  const emptied: Inquiry = { ...sale, before: none };
  const unclear: Inquiry = { ...sale, heard: { ...sale.heard, unclear: true } };
  const perhaps: Inquiry = { ...sale, heard: { ...approved, ackMayHaveArrived: true } };
  const printed: Inquiry = { ...sale, heard: withAck, printsCount: true };
  const noTime = { localDate: null, localTime: null } as const;
  const numbers = { receiptNumber: "0413", traceNumber: "070514" } as const;
  const retold: Inquiry = { ...sale, before: stored(numbers) };
  const atNoTime: Inquiry = { ...sale, before: stored(noTime) };
  const two: Inquiry["heard"] = {
    ...withAck,
    second: report({ traceNumber: "000050" }),
    ...bad,
  };

  const table: Row[] = [
    ["nothing new, the silence over", sale, [before], "not-charged"],
    [
      "nothing new, another spelling",
      sale,
      [{ kind: "transaction", report: spelled }],
      "not-charged",
    ],
    ["nothing new, shown without date and time", atNoTime, [stored(noTime)], "unsettled"],
    ["the previous sale with other numbers, twice", retold, [stored(), stored()], "unsettled"],
    ["a matching sale", sale, [stored()], "probe-again"],
    ["a matching sale, twice", sale, [stored(), stored()], "charged"],
    ["a matching sale, then nothing new", sale, [stored(), before], "not-charged"],
    [
      "two matching sales, one after the other",
      sale,
      [stored({ receiptNumber: "0003", localTime: "130015" }), stored()],
      "probe-again",
    ],
    ["the sale with its ACK", { ...sale, heard: withAck }, [stored()], "charged"],
    [
      "the sale with its ACK, whose end was bad",
      { ...sale, heard: { ...withAck, ...bad } },
      [stored()],
      "probe-again",
    ],
    ["numbers that began again", sale, [stored(begunAgain()), stored(begunAgain())], "charged"],
    ["another amount", sale, [stored({ amountMinor: 998 })], "unsettled"],
    ["another currency", sale, [stored({ currencyNumeric: "756" })], "unsettled"],
    ["another terminal id in the record", sale, [stored({ terminalId: "52500002" })], "unsettled"],
    ["a time before the payment", sale, [stored({ localTime: "123000" })], "unsettled"],
    ["a time an hour before the payment", sale, [stored({ localTime: "120005" })], "unsettled"],
    ["a time long after the payment", sale, [stored({ localTime: "134500" })], "unsettled"],
    ["no time", sale, [stored({ localTime: null })], "unsettled"],
    [
      "its own report, by a clock that is wrong",
      { ...sale, heard: { ...withAck, good: report({ localTime: "183000" }) } },
      [stored({ localTime: "183000" })],
      "charged",
    ],
    [
      "a clock two hours ahead",
      ahead,
      [stored({ localTime: "150005" }), stored({ localTime: "150005" })],
      "charged",
    ],
    [
      "a record that is not good",
      sale,
      [{ kind: "transaction", report: declined({ localTime: "130005" }) }],
      "unsettled",
    ],
    ["the transaction of another order", sale, [stored()], "unsettled", { foundIs: "B-1" }],
    [
      "a record like the one before, without its members",
      sale,
      [stored({ amountMinor: 500, receiptNumber: null, traceNumber: null, localDate: null })],
      "unsettled",
    ],
    ["a terminal that shows no last transaction", sale, [notReported], "unsettled"],
    ["a storage that was emptied", sale, [none], "unsettled"],
    ["no baseline", noBaseline, [stored(), stored()], "unsettled"],
    [
      "no baseline, but what was reported",
      { ...noBaseline, heard: approved },
      [stored(), stored()],
      "charged",
    ],
    [
      "no baseline, a report without numbers",
      { ...noBaseline, heard: { ...approved, good: bareReport() } },
      [
        { kind: "transaction", report: bareReport() },
        { kind: "transaction", report: bareReport() },
      ],
      "unsettled",
    ],
    ["empty before and after", emptied, [none], "not-charged"],
    [
      "empty before a good report, and once after",
      { ...emptied, heard: approved },
      [none],
      "probe-again",
    ],
    [
      "empty before and after a good report",
      { ...emptied, heard: approved },
      [none, none],
      "unsettled",
    ],
    [
      "empty before a good report, and stored a little after it",
      { ...emptied, heard: approved },
      [none, stored(), stored()],
      "charged",
    ],
    [
      "empty before and after a good report that was contradicted",
      { ...emptied, heard: { ...approved, ...bad } },
      [none, none],
      "not-charged",
    ],
    ["empty before and after an end of day", emptied, [none], "unsettled", { closedSince: true }],
    ["as before, after an unclear report", unclear, [before, before], "unsettled"],
    [
      "as before, after an unclear report and a bad end",
      heard(unclear, bad),
      [before, before],
      "not-charged",
    ],
    ["empty again after an unclear report", { ...unclear, before: none }, [none], "unsettled"],
    ["empty again after a record", { ...emptied, wasStored: true }, [none], "unsettled"],
    ["empty before, and not watched", { ...emptied, isWatched: false }, [none], "unsettled"],
    ["empty, a bad end", { ...heard(emptied, bad), isWatched: false }, [none], "unsettled"],
    ["empty before, then a matching sale", emptied, [stored(), stored()], "charged"],
    [
      "the reversal of what was reported",
      { ...sale, heard: approved },
      [takenBack()],
      "not-charged",
    ],
    [
      "the reversal of a part of what was reported",
      { ...sale, heard: approved },
      [takenBack({ amountMinor: 100 })],
      "unsettled",
    ],
    [
      "the reversal of a part that was refused",
      { ...sale, heard: refusedPart },
      [takenBack({ amountMinor: 500 })],
      "not-charged",
    ],
    [
      "the reversal of what was reported, by a trace without zeros",
      { ...sale, heard: approved },
      [takenBack({ originalTrace: "12" })],
      "not-charged",
    ],
    ["the reversal of something else", sale, [takenBack({ originalTrace: "000011" })], "unsettled"],
    [
      "a sale with its ACK that is not there",
      { ...sale, heard: withAck },
      [before, before],
      "unsettled",
    ],
    [
      "a sale with its ACK that is not there, where prints count",
      { ...sale, heard: withAck, printsCount: true },
      [before],
      "not-charged",
    ],
    ["a sale with its ACK, reversed", { ...sale, heard: withAck }, [takenBack()], "not-charged"],
    ["a bad end and nothing new", badEnd, [before], "probe-again"],
    ["a bad end and nothing new, twice", badEnd, [before, before], "not-charged"],
    ["a bad end after an ACK", heard(badEnd, { ackArrived: true }), [before, before], "unsettled"],
    ["a bad end and the sale", badEnd, [before, stored(), stored()], "charged"],
    ["an ACK that may have arrived, and nothing new", perhaps, [before], "unsettled"],
    ["an ACK that may have arrived, and the sale", perhaps, [stored()], "probe-again"],
    ["the sale with its ACK where prints count", printed, [stored()], "probe-again"],
    [
      "a reversal that was not good",
      { ...sale, heard: approved },
      [takenBack({ good: false, resultCode: "05" })],
      "unsettled",
    ],
    [
      "no baseline, and a record that may be another than the reported one",
      { ...noBaseline, heard: approved },
      [stored({ receiptNumber: "0003" }), stored({ receiptNumber: "0003" })],
      "unsettled",
    ],
    ["cancelled, and nothing new", cancelled, [before], "not-charged"],
    ["cancelled, and no last transaction shown", cancelled, [notReported], "not-charged"],
    ["cancelled, and an emptied storage", cancelled, [none], "not-charged"],
    ["cancelled, and another amount", cancelled, [stored({ amountMinor: 5 })], "not-charged"],
    ["cancelled, and a matching sale", cancelled, [stored()], "probe-again"],
    ["cancelled, and a matching sale, twice", cancelled, [stored(), stored()], "charged"],
    [
      "cancelled, and a sale of no known time",
      cancelled,
      [stored({ localTime: null })],
      "unsettled",
    ],
    [
      "the second sale reversed, the first with its ACK",
      { ...sale, heard: two },
      [takenBack({ originalTrace: "50" })],
      "charged",
    ],
    [
      "the second sale reversed, the first without ACK",
      { ...sale, heard: { ...two, ackArrived: false } },
      [takenBack({ originalTrace: "50" })],
      "unsettled",
    ],
    [
      "another sale than the one that was reported",
      { ...sale, heard: approved },
      [stored(another()), stored(another())],
      "unsettled",
    ],
    [
      "another sale than the one that was refused",
      { ...sale, heard: refusedPart },
      [stored(another()), stored(another())],
      "charged",
    ],
    ["the first reversed, the second not", { ...sale, heard: two }, [takenBack()], "unsettled"],
  ];
  test.each(table)("%s", (_name, inquiry, probes, expected, known = {}) => {
    expect(verdictOf(inquiry, known, ...probes)).toBe(expected);
  });

  test("only the stored reversal of the reported sale says that it was taken back", () => {
    const says = (last: Probe["last"]) =>
      judge({ ...sale, heard: approved }, probeOf(last, 200_000), nothing, null, CONFIRM_MS);
    expect(says(takenBack())).toMatchObject({ verdict: "not-charged", takenBack: true });
    expect(says(before)).toMatchObject({ verdict: "not-charged" });
    expect(says(before)).not.toHaveProperty("takenBack");
  });

  test("before the silence is over, nothing new is no proof unless the end was heard", () => {
    const early = probeOf(baseline.last, 60_000);
    expect(judge(sale, early, nothing, null, CONFIRM_MS)).toMatchObject({
      verdict: "probe-again",
      waitMs: 120_000,
    });
    expect(judge(badEnd, early, nothing, null, CONFIRM_MS)).toMatchObject({ waitMs: CONFIRM_MS });
    expect(verdictOf(badEnd, {}, early, early)).toBe("not-charged");
    expect(verdictOf(cancelled, {}, early)).toBe("not-charged");
  });

  test("the whole amount proves nothing after a part was reported and got its ACK", () => {
    const part: Inquiry = { ...sale, asked: { ...asked(), amountsMinor: [999, 50] } };
    const reported = { good: report({ amountMinor: 50 }) };
    const whole = [stored(), stored()];
    expect(verdictOf(heard(part, { ...withAck, ...reported }), {}, ...whole)).toBe("unsettled");
    expect(verdictOf(heard(part, { ...approved, ...reported }), {}, ...whole)).toBe("charged");
    const record = stored({ amountMinor: 50 });
    expect(verdictOf(heard(part, { ...withAck, ...reported }), {}, record)).toBe("charged");
    expect(verdictOf(heard(part, withAck), {}, record, record)).toBe("charged");
  });

  test("the part or the whole charges the order when a part of the goods was in doubt", () => {
    const part: Inquiry = { ...sale, asked: { ...asked(), amountsMinor: [999, 500] } };
    for (const amountMinor of [500, 999]) {
      expect(verdictOf(part, {}, stored({ amountMinor }), stored({ amountMinor }))).toBe("charged");
    }
    expect(verdictOf(part, {}, stored({ amountMinor: 501 }))).toBe("unsettled");
    expect(verdictOf(sale, {}, stored({ amountMinor: 500 }))).toBe("unsettled");
  });

  test("a probe that another terminal answers counts as no answer", () => {
    const there: Probe = {
      ...probeOf(baseline.last),
      identity: { ...identity, serialNumber: "SN-2" },
    };
    for (const inquiry of [sale, reversal, unmatched, cancelled]) {
      expect(verdictOf(inquiry, {}, there)).toBe("no-answer");
    }
  });

  function asked(): NonNullable<Inquiry["asked"]> {
    if (!sale.asked) throw new Error("a sale is asked for");
    return sale.asked;
  }
  function another(): Partial<TransactionReport> {
    return { receiptNumber: "0003", traceNumber: "000013", localTime: "130015" };
  }
  function begunAgain(): Partial<TransactionReport> {
    return { receiptNumber: "0001", traceNumber: "000001" };
  }
  function bareReport(): TransactionReport {
    return report({ receiptNumber: null, traceNumber: null, localTime: null });
  }
});

test("a date without a year is read in the year that is nearest", () => {
  const newYear = new Date(2026, 0, 1, 0, 5).getTime();
  expect(nearestLocalTime("1231", "235900", newYear)).toBe(
    new Date(2025, 11, 31, 23, 59).getTime(),
  );
});

test("an empty storage is watched if probes are at most ten seconds apart", () => {
  expect([0, 10_000, 10_001, -1].map(isProbedInTime)).toEqual([true, true, false, false]);
});
