import { describe, expect, test } from "vitest";
import { isReference, referenceOf } from "../../../src/tp-manager/attempts/reference-policy.ts";
import {
  alarms,
  leaveInDoubt,
  nameless,
  oneWayKiosk,
  referenceAt,
  reportedNow,
} from "../../support/house/one-way-house.ts";
import { outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

describe("a payment at a one-way terminal", () => {
  test("is probed once, and sales go on while it stays unknown", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const { probes } = at.terminal;
    await at.clock.advance(600_000);
    expect([at.terminal.probes, probes]).toEqual([1, 1]);
  });

  test("is not ended by the result of another attempt", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at, "A-1");
    const asked: unknown[] = [];
    at.terminal.script = (order, observer) => {
      const other = report({ ...nameless, reference: referenceAt(at, "A-1") });
      const own = report({ ...nameless, reference: order.reference ?? null });
      asked.push(...[other, own].map((one) => observer.concerns?.(reportedNow(one))));
      observer.report(own);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    expect(asked).toEqual([false, true]);
  });

  test("is not ended by a refusal of another amount that names no order", async () => {
    const at = oneWayKiosk();
    const asked: unknown[] = [];
    at.terminal.script = (order, observer) => {
      const refused = { ...declined(), ...nameless };
      for (const amountMinor of [500, 999, 0, null]) {
        asked.push(observer.concerns?.(reportedNow({ ...refused, amountMinor })));
      }
      const reference = order.reference ?? null;
      asked.push(observer.concerns?.(reportedNow({ ...refused, amountMinor: 500, reference })));
      asked.push(observer.concerns?.(reportedNow(report({ ...nameless, amountMinor: 500 }))));
      return Promise.resolve(lost("nothing came"));
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    expect(asked).toEqual([false, true, true, true, true, true]);
  });

  test("is a success with a warning when the terminal changed more than the amount", async () => {
    const at = oneWayKiosk();
    at.terminal.script = (_order, observer) => {
      observer.report(report({ differs: ["register number"] }));
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    const answer = await pay(at, request("A-1"));
    expect(answer.body).toMatchObject({
      status: "Success",
      warnings: ["the terminal answered with another register number than was sent"],
    });
    expect(alarms(at)).toContain("report-differs");
  });

  test("is not cancelled at its time limit, and /cancel is not supported", async () => {
    const at = oneWayKiosk();
    const end = Promise.withResolvers<ReturnType<typeof lost>>();
    at.terminal.script = () => end.promise;
    const answer = pay(at, request("A-1"));
    await at.clock.advance(400_000);
    const error: unknown = await at.arbiter.running.cancel().catch((why: unknown) => why);
    expect(error).toMatchObject({ code: "NOT_SUPPORTED", charged: "unknown" });
    expect(outcome(await answer)).toBe("Unknown");
    const answered = Promise.withResolvers<typeof at.terminal.last>();
    at.terminal.lastTransaction = () => answered.promise;
    end.resolve(lost("nothing came"));
    await at.clock.advance(1_000);
    const refusal: unknown = await at.arbiter.running.cancel().catch((why: unknown) => why);
    expect(refusal).toMatchObject({ code: "NOT_SUPPORTED", charged: "unknown" });
    answered.resolve(at.terminal.last);
    await at.clock.advance(1_000);
  });
});

test("a reference of ours is recognised by its form among other registers' references", () => {
  const own = referenceOf("0b6ff5d2-65c5-4a4b-9a01-2a52ad6a4f55");
  expect(own).toHaveLength(10);
  expect([own, "0123456789", "          ", own.toLowerCase(), `${own} `].map(isReference)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});
