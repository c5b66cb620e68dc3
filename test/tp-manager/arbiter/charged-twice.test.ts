import { describe, expect, test } from "vitest";
import {
  leaveInDoubt,
  nameless,
  oneWayKiosk,
  referenceAt,
} from "../../support/house/one-way-house.ts";
import {
  alarms,
  type House,
  house,
  outcome,
  pay,
  request,
} from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { aborted, approves, lost } from "../../support/terminals/scripted-terminal.ts";

const second = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130900" });
const third = report({ receiptNumber: "0004", traceNumber: "000014" });

/** The terminal turns the order away, then sells it, then reports a sale of the first attempt. */
async function turnedAway(): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve(aborted);
  expect(outcome(await pay(at, request("A-1")))).toBe("Cancelled");
  at.terminal.script = approves;
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  await reportsLate(at, third);
  return at;
}

/** As {@link turnedAway}, but the first attempt's command had reported this very sale. */
async function toldBefore(): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("the line broke"));
  };
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  await at.clock.advance(400_000);
  at.terminal.script = (_order, observer) => {
    observer.report(second);
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  await reportsLate(at, report());
  return at;
}

async function reportsLate(at: House, reported: typeof third): Promise<void> {
  at.terminal.stores(reported);
  at.terminal.emit({ type: "unmatched-report", report: reported });
  await at.clock.advance(30_000);
}

/** A one-way terminal that reports the first attempt's result after the second attempt's. */
async function reportedByName(change = {}): Promise<House> {
  const at = oneWayKiosk();
  await leaveInDoubt(at);
  const reference = referenceAt(at);
  at.reports({ ...declined(), ...nameless, reference });
  at.terminal.script = approves;
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  at.reports({ reference, ...change });
  return at;
}

const phases = (at: House): unknown[] =>
  at.journal.attempts.ofOrder("A-1").map(({ state }) => state.phase);

/** All of the money of an attempt goes back at the gateway. */
function refund(at: House, number: number): void {
  const attempt = at.journal.attempts.ofOrder("A-1").find((one) => one.number === number);
  if (!attempt) throw new Error("no such attempt");
  const { transactionId, request: asked } = attempt;
  const given = { transactionId, returnedMinor: asked.amountMinor };
  at.journal.returns.noteReturns([given], at.clock.now());
}

async function answersOf(at: House): Promise<unknown[]> {
  const { attempt } = await at.orders.lookUp("A-1");
  return [at.orders.chargedOfOrder("A-1"), attempt.number];
}

const handed = (at: House): number => at.supervisor.stored.length;

const courses = [
  ["that its own command had reported", toldBefore, "charged", "yes"],
  ["that carries its attempt's reference", reportedByName, "charged", "yes"],
  ["whose candidate is its first attempt", turnedAway, "in-doubt", "unknown"],
  ["of another amount", () => reportedByName({ amountMinor: 500 }), "in-doubt", "unknown"],
] as const;

describe("a late sale of an order that was sold again (docs/rules/19-late.md)", () => {
  test.each(courses)(
    "%s still counts after the other sale is refunded",
    async (_, course, phase, charged) => {
      const at = await course();
      expect([alarms(at).includes("order-charged-twice"), handed(at)]).toEqual([
        true,
        phase === "charged" ? 2 : 1,
      ]);
      expect(await answersOf(at)).toEqual(["yes", 2]);
      refund(at, 2);
      expect(await answersOf(at)).toEqual([charged, 1]);
      expect(phases(at)).toEqual([phase, "charged"]);
      const again = pay(at, request("A-1"));
      await at.clock.advance(400_000);
      expect(outcome(await again)).toBe(charged === "yes" ? "Success" : "Unknown");
      expect(at.terminal.paid).toHaveLength(2);
    },
  );

  test.each(courses.slice(0, 2))("%s can be refunded before the other sale", async (_, course) => {
    const at = await course();
    refund(at, 1);
    expect(await answersOf(at)).toEqual(["yes", 2]);
    refund(at, 2);
    expect(await answersOf(at)).toEqual(["no", 2]);
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
  });

  test.each(
    courses.slice(2).flatMap(([what, course]) => [
      { what, course, outcome: "charged" as const, amountMinor: 999, sales: 2, left: "yes" },
      { what, course, outcome: "not_charged" as const, sales: 1, left: "no" },
    ]),
  )("$what is settled by an operator, as $outcome", async ({ course, sales, left, ...rest }) => {
    const at = await course();
    const { what: note, ...decision } = rest;
    const { attempt } = await at.settle({ orderId: "A-1", note, ...decision });
    await at.clock.advance(0);
    expect([attempt.number, handed(at)]).toEqual([2, sales]);
    refund(at, 2);
    expect(at.orders.chargedOfOrder("A-1")).toBe(left);
  });

  test("reported while the second attempt runs counts when both attempts are charged", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    at.terminal.script = (order, observer) => {
      at.reports({ reference });
      return approves(order, observer);
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect([phases(at), handed(at)]).toEqual([["charged", "charged"], 2]);
    refund(at, 2);
    expect(await answersOf(at)).toEqual(["yes", 1]);
  });

  test("is the sale that the answer names after the other sale is reversed", async () => {
    const at = await toldBefore();
    at.terminal.stores(second);
    expect((await at.afterSale.reverse("A-1")).attempt).toMatchObject({ number: 1 });
    expect([phases(at), at.orders.chargedOfOrder("A-1")]).toEqual([["charged", "reversed"], "yes"]);
  });
});
