import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FaultRow, faultTable } from "../../../src/supervisor/gateway/fault-table.ts";
import {
  type Circumstances,
  DELAY_CAP_MS,
  decide,
  delayCeilingMs,
  delayMs,
  type ItemHistory,
  parseRetryAfter,
  SHARED_HOLD_CAP_MS,
} from "../../../src/supervisor/outbox/retry-policy.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 15);
const RETRY_AFTER_CAP_MS = 24 * 60 * MINUTE;
const PARK_AFTER_MS = 24 * 60 * MINUTE;
const PARK_TRIES_MIN = 20;
const fresh: ItemHistory = { failures: 0, noResultSinceMs: null, noResultTries: 0 };
const calm: Circumstances = {
  slot: 0,
  nowMs: NOW,
  queueFailures: 0,
  retryAfterMs: null,
  resends: 0,
  random: () => 0.999_999,
};

test("the ceiling doubles from two seconds to a quarter of an hour and stays there", () => {
  const ceilings = Array.from({ length: 12 }, (_, failures) => delayCeilingMs(failures) / 1_000);
  expect(ceilings).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  expect(delayCeilingMs(1_000_000)).toBe(DELAY_CAP_MS);
});

test("a delay is any time from nothing to below the ceiling: full jitter", () => {
  expect(delayMs(3, () => 0)).toBe(0);
  expect(delayMs(3, () => 0.5)).toBe(8_000);
  fc.assert(
    fc.property(fc.nat(5_000), fc.double({ min: 0, max: 1, maxExcluded: true }), (n, random) => {
      const delay = delayMs(n, () => random);
      return Number.isInteger(delay) && delay >= 0 && delay < delayCeilingMs(n);
    }),
    { seed: 11 },
  );
});

test("after growing delays the queue tries once in a quarter of an hour, at its slot", () => {
  const holdMsAt = (queueFailures: number, nowMs: number, slot: number): number => {
    const now = { ...calm, queueFailures, nowMs, slot, random: () => 0 };
    return decide(faultTable.unreachable, fresh, now).queueHoldMs;
  };
  expect(holdMsAt(8, NOW, 0.5)).toBe(0);
  fc.assert(
    fc.property(fc.nat(10 ** 9), fc.double({ min: 0, max: 1, noNaN: true }), (ms, slot) => {
      const holdMs = holdMsAt(9, NOW + ms, slot);
      const next = holdMsAt(20, NOW + ms + holdMs, slot);
      return holdMs > 0 && holdMs <= DELAY_CAP_MS && next === DELAY_CAP_MS;
    }),
    { seed: 11 },
  );
});

describe("a failed try delays", () => {
  test("only the queue, when nothing of the item was sent: the item keeps its slot", () => {
    const decision = decide(faultTable.unreachable, fresh, { ...calm, queueFailures: 3 });
    expect(decision).toMatchObject({ state: "pending", itemDelayMs: 0, queueHoldMs: 15_999 });
    expect(decision.history.failures).toBe(0);
  });

  test("only the item, when the failure may be its own: the others go on at once", () => {
    const decision = decide(faultTable["server-error"], { ...fresh, failures: 3 }, calm);
    expect(decision).toMatchObject({ state: "pending", itemDelayMs: 15_999, queueHoldMs: 0 });
    expect(decision.history.failures).toBe(4);
  });

  test("both, when the gateway most likely failed: the others wait a minute at most", () => {
    const busy = { ...calm, queueFailures: 12 };
    const decision = decide(faultTable.unavailable, { ...fresh, failures: 12 }, busy);
    expect(decision.itemDelayMs).toBe(899_999);
    expect(decision.queueHoldMs).toBe(SHARED_HOLD_CAP_MS);
  });

  test("nothing, when the item is sent, parked or the program stopped", () => {
    for (const name of ["sent", "order-refused", "unsendable", "interrupted"] as const) {
      expect(decide(faultTable[name], fresh, calm)).toMatchObject({
        itemDelayMs: 0,
        queueHoldMs: 0,
        pause: false,
      });
    }
  });
});

test("success, refusal and refused credentials decide about the item as the table says", () => {
  expect(decide(faultTable.sent, fresh, calm).state).toBe("sent");
  expect(decide(faultTable["order-refused"], fresh, calm).state).toBe("parked");
  expect(decide(faultTable["credentials-refused"], fresh, calm)).toMatchObject({
    state: "pending",
    pause: true,
    itemDelayMs: 0,
  });
});

describe("Retry-After", () => {
  test("is the least an item waits, and the queue too where the gateway speaks for itself", () => {
    const asked = { ...calm, retryAfterMs: 10 * MINUTE };
    expect(decide(faultTable.unavailable, fresh, asked)).toMatchObject({
      itemDelayMs: 10 * MINUTE,
      queueHoldMs: 10 * MINUTE,
    });
    expect(decide(faultTable["server-error"], fresh, asked)).toMatchObject({
      itemDelayMs: 10 * MINUTE,
      queueHoldMs: 0,
    });
  });

  test("never shortens a delay", () => {
    const asked = { ...calm, retryAfterMs: 1 };
    expect(decide(faultTable.unavailable, { ...fresh, failures: 3 }, asked).itemDelayMs).toBe(
      15_999,
    );
  });

  test("of more than a day is not believed, and never holds the others beyond the cap", () => {
    const asked = { ...calm, retryAfterMs: 400 * 24 * 60 * MINUTE };
    expect(decide(faultTable.unavailable, fresh, asked)).toMatchObject({
      itemDelayMs: RETRY_AFTER_CAP_MS,
      queueHoldMs: DELAY_CAP_MS,
    });
  });

  test.each([
    ["120", 120_000],
    [" 0 ", 0],
    ["Thu, 15 Jan 2026 00:02:00 GMT", 2 * MINUTE],
    ["Wed, 14 Jan 2026 00:00:00 GMT", 0],
    ["-5", null],
    ["1.5", null],
    ["soon", null],
    ["2026-01-16", null],
    ["99999999999999999999", null],
    ["", null],
    [null, null],
  ])("%j means %j ms", (text, expected) => {
    expect(parseRetryAfter(text, NOW)).toBe(expected);
  });
});

describe("answers without a result", () => {
  const row = faultTable["server-error"];
  const before: ItemHistory = {
    failures: 40,
    noResultSinceMs: NOW - PARK_AFTER_MS,
    noResultTries: PARK_TRIES_MIN - 1,
  };

  test("are parked after a day", () => {
    expect(decide(row, before, calm).state).toBe("parked");
  });

  test("go on after a day while the gateway may have the order and no lookup shows it", () => {
    expect(decide(row, before, { ...calm, resends: 1 }).state).toBe("pending");
  });

  test("are retried one millisecond before the day is over", () => {
    const younger = { ...before, noResultSinceMs: NOW - PARK_AFTER_MS + 1 };
    expect(decide(row, younger, calm).state).toBe("pending");
  });

  test("are retried after a jump of the clock: a day takes a day of tries", () => {
    expect(decide(row, { ...before, noResultTries: 1 }, calm).state).toBe("pending");
  });

  test("count from the first in a row, and anything else begins a new row", () => {
    const first = decide(row, fresh, calm).history;
    expect(first).toEqual({ failures: 1, noResultSinceMs: NOW, noResultTries: 1 });
    const second = decide(row, first, { ...calm, nowMs: NOW + MINUTE }).history;
    expect(second).toEqual({ failures: 2, noResultSinceMs: NOW, noResultTries: 2 });
    const other = decide(faultTable.unreachable, second, calm).history;
    expect(other).toEqual({ failures: 2, noResultSinceMs: null, noResultTries: 0 });
  });
});

test("any other failure is retried for ever", () => {
  const forEver = Object.values<FaultRow>(faultTable).filter(
    ({ action, parkAfterADay }) => action === "retry" && !parkAfterADay,
  );
  expect(forEver.length).toBeGreaterThan(8);
  const old = { failures: 1e6, noResultSinceMs: 0, noResultTries: 1e6 };
  for (const row of forEver) expect(decide(row, old, calm).state).toBe("pending");
});
