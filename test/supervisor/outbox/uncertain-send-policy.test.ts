import { describe, expect, test } from "vitest";
import { faultTable, type TryClass } from "../../../src/supervisor/gateway/fault-table.ts";
import { judgeStatus } from "../../../src/supervisor/gateway/faults.ts";
import type { OrderFinding } from "../../../src/supervisor/gateway/lookup.ts";
import {
  decideLookup,
  lookupHoldMs,
  noUncertainSend,
  SENDS_OF_FIRST_DAY,
  type UncertainSend,
  uncertainAfterSend,
} from "../../../src/supervisor/outbox/uncertain-send-policy.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 15);
const ABSENT_FOR_MS = MINUTE;
const RESEND_PAUSE_MS = 10 * MINUTE;
const FAILING_PAUSE_MS = 60 * MINUTE;
const DAILY_MS = 24 * 60 * MINUTE;
const now = { nowMs: NOW, retryAfterMs: null, random: () => 0.5 };
const lost = uncertainAfterSend("lost-answer", noUncertainSend, NOW);

const answered = (httpStatus: number) =>
  judgeStatus({ kind: "answered", httpStatus, retryAfter: null, body: "" });
const refused: OrderFinding = { kind: "unanswered", verdict: answered(404), refused: true };
const troubled: OrderFinding = { kind: "unanswered", verdict: answered(500), refused: false };
const unreachable: OrderFinding = {
  kind: "unanswered",
  verdict: judgeStatus({ kind: "failed", cause: "socket", written: false, detail: "" }),
  refused: false,
};

describe("after a send", () => {
  const classes = Object.keys(faultTable) as TryClass[];

  test("every class that may have made an order is looked up next, and no other", () => {
    const lookedUp = classes.filter(
      (name) => uncertainAfterSend(name, noUncertainSend, NOW).lookUpNext,
    );
    expect(lookedUp).toEqual(classes.filter((name) => faultTable[name].ambiguous));
    expect(lookedUp).toContain("interrupted");
    expect(lost).toMatchObject({ lookUpNext: true, sentAtMs: NOW, orders: 1, resends: 0 });
  });

  test("an uncertain send ends with success alone, and counts what may be a copy", () => {
    const open = { ...lost, lookUpNext: false };
    for (const name of classes.filter((one) => faultTable[one].action !== "sent")) {
      const after = uncertainAfterSend(name, open, NOW);
      expect([name, after.lookUpNext]).toEqual([name, true]);
      expect(after.orders).toBe(faultTable[name].ambiguous ? 2 : 1);
      expect(after.resends).toBe(faultTable[name].unsent ? 0 : 1);
    }
    expect(uncertainAfterSend("sent", open, NOW)).toMatchObject({ lookUpNext: false, orders: 2 });
  });
});

describe("after a lookup", () => {
  test("an order of ours is sent, and another kiosk's order is parked", () => {
    expect(decideLookup({ kind: "ours" }, lost, now).next).toBe("sent");
    expect(decideLookup({ kind: "other", why: "" }, lost, now).next).toBe("parked");
  });

  test("an order that is not found is looked up again after a minute, and then sent", () => {
    const first = decideLookup({ kind: "absent" }, lost, now);
    expect(first).toMatchObject({ next: "look-up", delayMs: ABSENT_FOR_MS, blind: false });
    const early = { ...now, nowMs: NOW + ABSENT_FOR_MS - 1 };
    expect(decideLookup({ kind: "absent" }, first.uncertain, early)).toMatchObject({
      next: "look-up",
      delayMs: 1,
    });
    const later = { ...now, nowMs: NOW + ABSENT_FOR_MS };
    expect(decideLookup({ kind: "absent" }, first.uncertain, later)).toMatchObject({
      next: "send",
      blind: false,
      uncertain: noUncertainSend,
    });
  });

  test("a clock that went back begins the minute again", () => {
    const { uncertain } = decideLookup({ kind: "absent" }, lost, now);
    const before = { ...now, nowMs: NOW - 10 * MINUTE };
    expect(decideLookup({ kind: "absent" }, uncertain, before)).toMatchObject({
      next: "look-up",
      delayMs: ABSENT_FOR_MS,
    });
  });

  test("a lookup that is not offered is tried again when the order may be sent without it", () => {
    const first = decideLookup(refused, lost, now);
    expect(first).toMatchObject({ next: "look-up", delayMs: RESEND_PAUSE_MS, silent: false });
    const then = { ...now, nowMs: NOW + RESEND_PAUSE_MS };
    expect(decideLookup(refused, first.uncertain, then)).toMatchObject({
      next: "send",
      blind: true,
      uncertain: { lookUpNext: false, sentAtMs: NOW },
    });
  });

  test("a failing lookup is soon asked again; for an hour nothing is sent without it", () => {
    const first = decideLookup(troubled, lost, now);
    expect(first).toMatchObject({ next: "look-up", delayMs: 1_500, silent: true });
    const before = { ...now, nowMs: NOW + FAILING_PAUSE_MS - 1 };
    expect(decideLookup(troubled, first.uncertain, before).next).toBe("look-up");
    const then = { ...now, nowMs: NOW + FAILING_PAUSE_MS };
    expect(decideLookup(troubled, first.uncertain, then)).toMatchObject({
      next: "send",
      blind: true,
    });
  });

  test("Retry-After of a lookup is honoured up to a quarter of an hour", () => {
    const asked = (ms: number) =>
      decideLookup(troubled, lost, { ...now, retryAfterMs: ms }).delayMs;
    expect(asked(2 * MINUTE)).toBe(2 * MINUTE);
    expect(asked(24 * 60 * MINUTE)).toBe(15 * MINUTE);
  });

  test("a gateway that is not reached is asked for ever, and nothing is sent to it instead", () => {
    const old: UncertainSend = { ...lost, sentAtMs: 0, unanswered: 1_000 };
    const decision = decideLookup(unreachable, old, now);
    expect(decision).toMatchObject({ next: "look-up", blind: false });
    expect(decision.delayMs).toBeLessThanOrEqual(15 * MINUTE);
  });

  test("a clock that went back for years makes no order wait for years", () => {
    const before = { ...now, nowMs: NOW - 5 * 365 * DAILY_MS };
    const decision = decideLookup(refused, lost, before);
    expect(decision.delayMs).toBe(RESEND_PAUSE_MS);
    expect(decision.uncertain.sentAtMs).toBe(before.nowMs);
  });
});

test.each([
  ["not offered", true],
  ["failing", false],
])("with a lookup %s there are at most 8 sends in a day, and then one a day", (_how, isRefused) => {
  /** The time after a send until the order is sent again without an answered lookup. */
  const pauseAfter = (resends: number): number => {
    for (let nowMs = NOW; ; nowMs += MINUTE) {
      const before = { ...lost, resends };
      const { next } = decideLookup(isRefused ? refused : troubled, before, { ...now, nowMs });
      if (next === "send") return nowMs - NOW;
    }
  };
  const pauses = Array.from({ length: 10 }, (_, resends) => pauseAfter(resends));
  for (const [i, pause] of pauses.entries())
    expect(pause).toBeGreaterThanOrEqual(pauses[i - 1] ?? 0);
  const sum = (count: number): number => pauses.slice(0, count).reduce((all, one) => all + one, 0);
  expect(sum(SENDS_OF_FIRST_DAY - 1)).toBeLessThan(DAILY_MS);
  expect(sum(SENDS_OF_FIRST_DAY)).toBeGreaterThan(DAILY_MS);
  expect(pauses.slice(SENDS_OF_FIRST_DAY - 1)).toEqual([DAILY_MS, DAILY_MS, DAILY_MS]);
});

describe("while the gateway as a whole is silent", () => {
  /** The waits of a kiosk whose lookups fail at once, until the first one after the outage. */
  function lateBy(outageMs: number, position: number, random: () => number): number {
    let nowMs = 0;
    while (nowMs < outageMs) nowMs += lookupHoldMs(nowMs, position, random);
    return nowMs - outageMs;
  }

  test.each([10_000, MINUTE, 5 * MINUTE])(
    "after an outage of %d ms the lookup comes within three times that, or a quarter of an hour",
    (outageMs) => {
      const latestMs = Math.min(3 * outageMs, 15 * MINUTE);
      for (const position of [0, 0.2, 0.5, 0.8, 0.999]) {
        for (let part = 0; part < 1; part += 1 / 128) {
          expect(lateBy(outageMs, position, () => part)).toBeLessThanOrEqual(latestMs);
        }
      }
    },
  );

  test("a kiosk keeps its place in each quarter of an hour, however long a lookup takes", () => {
    const firstMs = 5 * MINUTE + lookupHoldMs(5 * MINUTE, 0.3, () => 0.5);
    for (const takesMs of [0, 10_000, MINUTE]) {
      const nextMs = lookupHoldMs(firstMs + takesMs, 0.3, () => 0.5);
      expect(takesMs + nextMs).toBe(15 * MINUTE);
    }
  });
});
