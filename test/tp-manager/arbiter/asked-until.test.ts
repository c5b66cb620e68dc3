import { describe, expect, test } from "vitest";
import { askingText } from "../../../src/shared/catalog/errors.ts";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";
import { disconnected, lost } from "../../support/terminals/scripted-terminal.ts";
import { api } from "../http/rig.ts";

/** The terminal's own time limit for a payment (docs/rules/32-probe-times.md). */
const LIMIT_MS = 180_000;
const CONFIRM_MS = 10_000;

/** Loses the line of a payment of order A-1, and lets the terminal be probed for the first time. */
async function losesLine(at: House): Promise<string> {
  at.terminal.script = () => Promise.resolve(lost("line broken"));
  await pay(at, request("A-1"));
  await at.clock.advance(0);
  return at.orders.decisive("A-1").transactionId;
}

describe("until when the terminal is asked about an order in doubt", () => {
  test("is the end of the lost payment's time limit, and then nothing is asked", async () => {
    const at = house();
    const endMs = at.clock.now() + LIMIT_MS;
    const id = await losesLine(at);
    for (const passMs of [0, 60_000, LIMIT_MS - 60_001]) {
      await at.clock.advance(passMs);
      expect(at.arbiter.inquiries.untilMs(id)).toBe(endMs);
      expect(at.arbiter.inquiries.untilMs()).toBe(endMs);
    }
    await at.clock.advance(1);
    expect(at.orders.decisive("A-1").state.phase).toBe("not-charged");
    expect(at.arbiter.inquiries.untilMs(id)).toBeUndefined();
    expect(at.arbiter.inquiries.untilMs()).toBeUndefined();
  });

  test("is that end as well while an empty storage is probed every few seconds", async () => {
    const at = house();
    at.terminal.last = { kind: "none" };
    at.terminal.baseline = { ...baseline, last: at.terminal.last };
    const endMs = at.clock.now() + LIMIT_MS;
    const id = await losesLine(at);
    await at.clock.advance(30_000);
    expect(at.terminal.probes).toBeGreaterThan(5);
    expect(at.arbiter.inquiries.untilMs(id)).toBe(endMs);
  });

  test("is the second probe of a new sale, which has to be shown twice", async () => {
    const at = house();
    at.terminal.last = { kind: "transaction", report: report() };
    const id = await losesLine(at);
    expect(at.arbiter.inquiries.untilMs(id)).toBe(at.clock.now() + CONFIRM_MS);
    await at.clock.advance(CONFIRM_MS);
    expect(at.orders.decisive("A-1").state.phase).toBe("charged");
  });

  test.each([
    [
      "is disconnected",
      (at: House) => {
        at.terminal.unavailable = disconnected();
        at.terminal.become({ link: "disconnected" });
      },
    ],
    [
      "was replaced",
      (at: House) => at.terminal.become({ identity: { ...identity, serialNumber: "SN-9" } }),
    ],
    [
      "does not answer the next probe",
      async (at: House) => {
        at.terminal.unavailable = new TerminalUnavailable("busy", "busy");
        await at.clock.advance(LIMIT_MS + 60_000);
      },
    ],
  ] as const)("is no time while the terminal %s", async (_what, happens) => {
    const at = house();
    const id = await losesLine(at);
    await happens(at);
    expect(at.arbiter.inquiries.untilMs(id)).toBeNull();
    await at.clock.advance(2 * LIMIT_MS);
    expect(at.arbiter.inquiries.untilMs(id)).toBeNull();
    at.terminal.unavailable = undefined;
    at.terminal.become({ link: "connected", identity });
    await at.clock.advance(LIMIT_MS);
    expect(at.arbiter.inquiries.untilMs(id)).toBeUndefined();
  });

  test("begins anew with the process, as the time limit does", async () => {
    const at = house();
    const id = await losesLine(at);
    await at.clock.advance(100_000);
    at.close();
    const after = house(at.path);
    after.start();
    await after.clock.advance(0);
    expect(after.arbiter.inquiries.untilMs(id)).toBe(after.clock.now() + LIMIT_MS);
  });

  test("is not said of a terminal that cannot be asked: one answer ends the question", async () => {
    const at = house();
    at.terminal.last = { kind: "not-told", why: "its protocol has no such question" };
    const id = await losesLine(at);
    expect(at.orders.decisive("A-1").state.phase).toBe("in-doubt");
    expect(at.arbiter.inquiries.untilMs(id)).toBeUndefined();
  });
});

test("every answer about the order says until when the terminal is asked", async () => {
  const { at, call, post } = await api();
  const endMs = at.clock.now() + LIMIT_MS;
  const until = new Date(endMs).toISOString();
  at.terminal.script = () => {
    at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
    return Promise.resolve(lost("line broken"));
  };
  expect(askingText(endMs)).toMatch(/ until about \d\d:\d\d:\d\d\.$/);
  const away = { until: null, says: askingText(null) };
  const first = (await post({ amount: 9.99, orderId: "A-1" })).one;
  expect(first.error.details.asking).toEqual(away);
  at.terminal.become({ link: "connected", linkProblem: null });
  await at.clock.advance(1_000);
  for (const path of ["/payment/A-1", "/story/A-1", "/payments?status=Unknown"]) {
    const { details } = (await call("GET", path)).one.error;
    expect([path, details]).toEqual([
      path,
      { inDoubt: "payment", why: "line broken", asking: { until, says: askingText(endMs) } },
    ]);
  }
  at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
  expect((await call("GET", "/payment/A-1")).one.error.details.asking).toEqual(away);
  at.terminal.become({ link: "connected", linkProblem: null });
  at.terminal.last = { kind: "not-told", why: "it forgot" };
  await at.clock.advance(LIMIT_MS);
  const { error } = (await call("GET", "/payment/A-1")).one;
  expect([error.code, "asking" in error.details]).toEqual(["PAYMENT_UNKNOWN", false]);
});
