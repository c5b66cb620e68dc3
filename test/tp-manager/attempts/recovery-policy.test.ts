import { describe, expect, test } from "vitest";
import {
  type Doubt,
  judge,
  nearestLocalTime,
  type Observation,
} from "../../../src/tp-manager/attempts/recovery-policy.ts";
import type { LastTransaction } from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline, declined, identity, report } from "../../support/reports.ts";

const sentAtMs = new Date(2026, 0, 15, 13, 0, 0).getTime();
const doubt: Doubt = {
  baseline,
  amountMinor: 999,
  partMinor: null,
  currencyNumeric: "978",
  sentAtMs,
  lostSinceMs: 0,
  paymentLimitMs: 180_000,
  last: null,
};
const stored = (change = {}): LastTransaction => ({
  kind: "transaction",
  report: report(change),
});
const seen = (last: LastTransaction, change: Partial<Observation> = {}): Observation => ({
  identity,
  last,
  atMs: 200_000,
  knownAs: null,
  foundByNext: null,
  ...change,
});
const verdict = (
  observation: Observation,
  earlier: Observation | null = null,
  about: Doubt = doubt,
): string => judge(about, observation, earlier, 10_000).verdict;

describe("proof of not charged (docs/design.md 3.2)", () => {
  test("the last transaction is the baseline's and the payment's time limit is over", () => {
    expect(verdict(seen(baseline.last))).toBe("not-charged");
  });

  test("not before the lost payment's own time limit is over", () => {
    expect(judge(doubt, seen(baseline.last, { atMs: 60_000 }), null, 10_000)).toMatchObject({
      verdict: "look-again",
      waitMs: 120_000,
    });
  });

  test("an empty storage before and after", () => {
    const empty = { ...doubt, baseline: { ...baseline, last: { kind: "none" } as const } };
    expect(verdict(seen({ kind: "none" }), null, empty)).toBe("not-charged");
  });

  test("the terminal has reversed exactly what it had reported to us", () => {
    const last = { report: report(), judgement: "agrees", acknowledged: false } as const;
    const reversal = seen(stored({ originalTrace: "000012", traceNumber: "000013" }));
    expect(verdict(reversal, null, { ...doubt, last })).toBe("not-charged");
  });
});

describe("proof of charged (docs/design.md 3.2)", () => {
  test("two matching looks", () => {
    const first = seen(stored());
    expect(verdict(first)).toBe("look-again");
    expect(verdict(seen(stored(), { atMs: 210_000 }), first)).toBe("charged");
  });

  test("one look when the arrival of our acknowledgement is proven", () => {
    const last = { report: report(), judgement: "agrees", acknowledged: true } as const;
    expect(verdict(seen(stored()), null, { ...doubt, last })).toBe("charged");
  });

  test("the part of the goods that came out, or the whole, when the part was in doubt", () => {
    const part = { ...doubt, partMinor: 500 };
    for (const amountMinor of [500, 999]) {
      const look = seen(stored({ amountMinor }));
      expect(verdict(look, look, part)).toBe("charged");
      const another = seen(stored({ amountMinor: amountMinor + 1 }));
      expect(verdict(another, another, part)).toBe("unsettled");
    }
    const half = seen(stored({ amountMinor: 500 }));
    expect(verdict(half, half)).toBe("unsettled");
  });

  test("two looks that differ prove nothing", () => {
    const first = seen(stored({ receiptNumber: "0003" }));
    expect(verdict(seen(stored()), first)).toBe("look-again");
  });

  test("numbers that wrapped around are new all the same", () => {
    const wrapped = seen(stored({ receiptNumber: "0000", traceNumber: "000000" }));
    expect(verdict(wrapped, wrapped)).toBe("charged");
  });
});

describe("everything else stays unknown", () => {
  const table: Array<[string, Observation]> = [
    ["another amount", seen(stored({ amountMinor: 998 }))],
    ["another currency", seen(stored({ currencyNumeric: "756" }))],
    ["another terminal id in the record", seen(stored({ terminalId: "52500002" }))],
    ["a time before the payment", seen(stored({ localTime: "123000" }))],
    ["a time long after the payment", seen(stored({ localTime: "134500" }))],
    ["no time at all", seen(stored({ localTime: null }))],
    ["a reversal of something else", seen(stored({ originalTrace: "000011" }))],
    ["not a good one", seen({ kind: "transaction", report: declined() })],
    ["a transaction of another order", seen(stored(), { knownAs: "A-1" })],
    [
      "a transaction that a later payment did not yet find",
      seen(stored(), { foundByNext: baseline.last }),
    ],
    [
      "a transaction when a later payment could not see what was stored",
      seen(stored(), { foundByNext: { kind: "not-told", why: "" } }),
    ],
    ["storage emptied", seen({ kind: "none" })],
    ["a terminal that does not tell", seen({ kind: "not-told", why: "bare completion" })],
    ["another terminal", seen(baseline.last, { identity: { ...identity, serialNumber: "SN-2" } })],
  ];
  test.each(table)("%s", (_name, observation) => {
    expect(verdict(observation, observation)).toBe("unsettled");
  });

  test("a baseline that was not told", () => {
    const about: Doubt = {
      ...doubt,
      baseline: { ...baseline, last: { kind: "not-told", why: "refused" } },
    };
    expect(verdict(seen(stored()), seen(stored()), about)).toBe("unsettled");
  });
});

test("without a baseline the very transaction that was reported to us is proof enough", () => {
  const about: Doubt = {
    ...doubt,
    baseline: { ...baseline, last: { kind: "not-told", why: "nothing stored" } },
    last: { report: report(), judgement: "agrees", acknowledged: false },
  };
  const first = seen(stored());
  expect(verdict(first, null, about)).toBe("look-again");
  expect(verdict(first, first, about)).toBe("charged");
  const other = seen(stored({ receiptNumber: "0009" }));
  expect(verdict(other, other, about)).toBe("unsettled");
});

test("a terminal whose clock is two hours ahead is read with its offset", () => {
  const about: Doubt = { ...doubt, baseline: { ...baseline, clockOffsetMs: 2 * 3_600_000 } };
  const ahead = seen(stored({ localTime: "150005" }));
  expect(verdict(ahead, ahead, about)).toBe("charged");
  expect(verdict(ahead, ahead)).toBe("unsettled");
});

test("a date without a year is read in the year that is nearest", () => {
  const newYear = new Date(2026, 0, 1, 0, 5).getTime();
  expect(nearestLocalTime("1231", "235900", newYear)).toBe(
    new Date(2025, 11, 31, 23, 59).getTime(),
  );
});
