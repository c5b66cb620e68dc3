import { describe, expect, test } from "vitest";
import { faultTable, type TryClass } from "../../../src/supervisor/gateway/fault-table.ts";
import { judgeStatus } from "../../../src/supervisor/gateway/faults.ts";
import type { OrderFinding } from "../../../src/supervisor/gateway/lookup.ts";
import {
  ABSENT_FOR_MS,
  DAILY_MS,
  type Doubt,
  decideLook,
  doubtAfterSend,
  lookHoldMs,
  noDoubt,
  RESEND_PAUSE_MS,
  resendPauseMs,
  SENDS_OF_FIRST_DAY,
  TROUBLE_PAUSE_MS,
} from "../../../src/supervisor/outbox/doubt-policy.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 15);
const now = { nowMs: NOW, retryAfterMs: null, chance: () => 0.5 };
const lost = doubtAfterSend("lost-answer", noDoubt, NOW);

const answered = (httpStatus: number) =>
  judgeStatus({ kind: "answered", httpStatus, retryAfter: null, body: "" });
const refused: OrderFinding = { kind: "untold", verdict: answered(404), refused: true };
const troubled: OrderFinding = { kind: "untold", verdict: answered(500), refused: false };
const unreachable: OrderFinding = {
  kind: "untold",
  verdict: judgeStatus({ kind: "failed", cause: "socket", written: false, detail: "" }),
  refused: false,
};

describe("after a send", () => {
  const classes = Object.keys(faultTable) as TryClass[];

  test("every class that may have made an order is looked up next, and no other", () => {
    const looked = classes.filter((name) => doubtAfterSend(name, noDoubt, NOW).look);
    expect(looked).toEqual(classes.filter((name) => faultTable[name].ambiguous));
    expect(looked).toContain("interrupted");
    expect(lost).toMatchObject({ look: true, sentAtMs: NOW, orders: 1, resends: 0 });
  });

  test("a doubt ends with nothing but success, and counts what may be a copy", () => {
    const open = { ...lost, look: false };
    for (const name of classes.filter((one) => faultTable[one].action !== "sent")) {
      const after = doubtAfterSend(name, open, NOW);
      expect([name, after.look]).toEqual([name, true]);
      expect(after.orders).toBe(faultTable[name].ambiguous ? 2 : 1);
      expect(after.resends).toBe(faultTable[name].unsent ? 0 : 1);
    }
    expect(doubtAfterSend("sent", open, NOW)).toMatchObject({ look: false, orders: 2 });
  });
});

describe("after a lookup", () => {
  test("a found order is sent, another one's is parked", () => {
    expect(decideLook({ kind: "ours" }, lost, now).next).toBe("sent");
    expect(decideLook({ kind: "other", why: "" }, lost, now).next).toBe("parked");
  });

  test("an order that is not found is asked for again after a minute, and then sent", () => {
    const first = decideLook({ kind: "absent" }, lost, now);
    expect(first).toMatchObject({ next: "look", delayMs: ABSENT_FOR_MS, blind: false });
    const early = { ...now, nowMs: NOW + ABSENT_FOR_MS - 1 };
    expect(decideLook({ kind: "absent" }, first.doubt, early)).toMatchObject({
      next: "look",
      delayMs: 1,
    });
    const later = { ...now, nowMs: NOW + ABSENT_FOR_MS };
    expect(decideLook({ kind: "absent" }, first.doubt, later)).toMatchObject({
      next: "send",
      blind: false,
      doubt: noDoubt,
    });
  });

  test("a clock that went back begins the minute again", () => {
    const { doubt } = decideLook({ kind: "absent" }, lost, now);
    const before = { ...now, nowMs: NOW - 10 * MINUTE };
    expect(decideLook({ kind: "absent" }, doubt, before)).toMatchObject({
      next: "look",
      delayMs: ABSENT_FOR_MS,
    });
  });

  test("a lookup that is not offered is asked again when the order may be sent without it", () => {
    const first = decideLook(refused, lost, now);
    expect(first).toMatchObject({ next: "look", delayMs: RESEND_PAUSE_MS, trouble: false });
    const then = { ...now, nowMs: NOW + RESEND_PAUSE_MS };
    expect(decideLook(refused, first.doubt, then)).toMatchObject({
      next: "send",
      blind: true,
      doubt: { look: false, sentAtMs: NOW },
    });
  });

  test("a lookup in trouble is asked soon again; for an hour nothing is sent without it", () => {
    const first = decideLook(troubled, lost, now);
    expect(first).toMatchObject({ next: "look", delayMs: 1_500, trouble: true });
    const before = { ...now, nowMs: NOW + TROUBLE_PAUSE_MS - 1 };
    expect(decideLook(troubled, first.doubt, before).next).toBe("look");
    const then = { ...now, nowMs: NOW + TROUBLE_PAUSE_MS };
    expect(decideLook(troubled, first.doubt, then)).toMatchObject({ next: "send", blind: true });
  });

  test("Retry-After of a lookup is honoured up to a quarter of an hour", () => {
    const asked = (ms: number) => decideLook(troubled, lost, { ...now, retryAfterMs: ms }).delayMs;
    expect(asked(2 * MINUTE)).toBe(2 * MINUTE);
    expect(asked(24 * 60 * MINUTE)).toBe(15 * MINUTE);
  });

  test("a gateway that is not reached at all is asked for ever and never sent to instead", () => {
    const old: Doubt = { ...lost, sentAtMs: 0, untold: 1_000 };
    const decision = decideLook(unreachable, old, now);
    expect(decision).toMatchObject({ next: "look", blind: false });
    expect(decision.delayMs).toBeLessThanOrEqual(15 * MINUTE);
  });

  test("a clock that went back for years makes no order wait for years", () => {
    const before = { ...now, nowMs: NOW - 5 * 365 * DAILY_MS };
    const decision = decideLook(refused, lost, before);
    expect(decision.delayMs).toBe(RESEND_PAUSE_MS);
    expect(decision.doubt.sentAtMs).toBe(before.nowMs);
  });
});

test.each([
  ["not offered", true],
  ["in trouble", false],
])("with a lookup %s there are at most 8 sends in a day, and then one a day", (_how, isRefused) => {
  const pauses = Array.from({ length: 10 }, (_, resends) => resendPauseMs(resends, isRefused));
  for (const [i, pause] of pauses.entries())
    expect(pause).toBeGreaterThanOrEqual(pauses[i - 1] ?? 0);
  const sum = (count: number): number => pauses.slice(0, count).reduce((all, one) => all + one, 0);
  expect(sum(SENDS_OF_FIRST_DAY - 1)).toBeLessThan(DAILY_MS);
  expect(sum(SENDS_OF_FIRST_DAY)).toBeGreaterThan(DAILY_MS);
  expect(pauses.slice(SENDS_OF_FIRST_DAY - 1)).toEqual([DAILY_MS, DAILY_MS, DAILY_MS]);
});

describe("while the gateway as a whole is silent", () => {
  /** The waits of a kiosk whose lookups fail at once, until the first one after the outage. */
  function lateBy(outageMs: number, place: number, chance: () => number): number {
    let nowMs = 0;
    while (nowMs < outageMs) nowMs += lookHoldMs(nowMs, place, chance);
    return nowMs - outageMs;
  }

  test.each([10_000, MINUTE, 5 * MINUTE])(
    "after an outage of %d ms the lookup comes within three times that, or a quarter of an hour",
    (outageMs) => {
      const latestMs = Math.min(3 * outageMs, 15 * MINUTE);
      for (const place of [0, 0.2, 0.5, 0.8, 0.999]) {
        for (let part = 0; part < 1; part += 1 / 128) {
          expect(lateBy(outageMs, place, () => part)).toBeLessThanOrEqual(latestMs);
        }
      }
    },
  );

  test("a kiosk keeps its place in each quarter of an hour, however long a lookup takes", () => {
    const firstMs = 5 * MINUTE + lookHoldMs(5 * MINUTE, 0.3, () => 0.5);
    for (const takesMs of [0, 10_000, MINUTE]) {
      const nextMs = lookHoldMs(firstMs + takesMs, 0.3, () => 0.5);
      expect(takesMs + nextMs).toBe(15 * MINUTE);
    }
  });
});
