import { expect, test } from "vitest";
import { brokerHerd, countOf, gatewayHerd, seeded, updateHerd } from "../../scripts/herd/herds.ts";
import { lookupHoldMs } from "../../src/supervisor/outbox/uncertain-send-policy.ts";

// A few kiosks; `node scripts/fleet-herd.ts` has a thousand (docs/performance.md).

const MINUTE = 60_000;

test("the peak is that of any 60 s over the mean of 15 minutes", () => {
  const even = Array.from({ length: 15 }, (_, i) => i * MINUTE);
  expect(countOf(even, 0)).toEqual({ requests: 15, peak: 1 });
  expect(countOf([...even, 30_000, 89_999], 0).peak).toBeCloseTo((3 * 15) / 17);
  expect(countOf([0, 1, 2], 1)).toEqual({ requests: 2, peak: 15 });
});

test.each(["cannot be reached", "loses its answers"] as const)(
  "kiosks deliver each order once after an hour in which the gateway %s",
  async (name) => {
    const { sent, once } = await gatewayHerd({ kiosks: 20, seed: 1 }, name);
    expect({ sent, once }).toEqual({ sent: 40, once: true });
  },
);

test("lookups of 1 000 kiosks that wait for one order each come evenly after an hour", () => {
  const hourMs = 60 * MINUTE;
  for (const seed of [1, 2, 3]) {
    const random = seeded(seed);
    const times = Array.from({ length: 1_000 }, () => {
      const fromMs = random() * hourMs;
      const position = random();
      let nowMs = fromMs;
      // Each fails after 10 s.
      while (nowMs < hourMs)
        nowMs += 10_000 + lookupHoldMs(nowMs + 10_000 - fromMs, position, random);
      return nowMs;
    });
    expect(countOf(times, hourMs).peak).toBeLessThanOrEqual(2);
  }
});

test("kiosks are back at their broker within 15 minutes, and not all at once", async () => {
  const { requests, online, peak } = await brokerHerd({ kiosks: 300, seed: 1 });
  expect({ requests, online }).toEqual({ requests: 300, online: 300 });
  expect(peak).toBeLessThan(2);
});

test("kiosks look for updates evenly over an hour", () => {
  expect(updateHerd({ kiosks: 1_000, seed: 1 })).toBeLessThan(2);
});
