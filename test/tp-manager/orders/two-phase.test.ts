import { describe, expect, test } from "vitest";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import type { Baseline, PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, declined, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

const aborted: PaymentEnd = {
  end: "aborted",
  code: "B5",
  text: "reversal impossible",
  reason: "terminal-fault",
  ticket: "",
};

describe("a two-phase sale (docs/design.md 5.12)", () => {
  const twoPhase = request("A-1", { delivery: { withinSeconds: 30 } });

  /** A terminal in vending mode, which waits at the approval and ends as the decision says. */
  function vending(): House {
    const at = house();
    at.terminal.script = (order, observer) =>
      new Promise((resolve) => {
        expect(observer.report(report())).toBe("hold");
        at.terminal.onDecision = (decision) => {
          if (decision.goods === "not-issued") {
            observer.report(declined({ resultCode: "6C", reason: "cancelled" }));
            resolve(aborted);
            return;
          }
          observer.ackArrived();
          if (decision.goods === "partly-issued") {
            observer.report(report({ amountMinor: decision.amountMinor }));
          }
          resolve({ end: "completed", ticket: `${order.amountMinor}` });
        };
      });
    return at;
  }

  async function deliver(at: House, delivered: boolean, amountMinor?: number) {
    const { attempt, delivery } = await at.afterSale.deliver("A-1", delivered, amountMinor);
    return answerOf(attempt, delivery).body;
  }

  test("is answered Approved, and is charged and handed off when the goods came out", async () => {
    const at = vending();
    const { http, body } = await pay(at, twoPhase);
    expect([http, body.status, body.notificationGatewaySent]).toEqual([200, "Approved", false]);
    expect(at.supervisor.stored).toEqual([]);
    const delivered = await deliver(at, true);
    expect([delivered.status, delivered.notificationGatewaySent]).toEqual(["Success", true]);
  });

  test("is refused, with nothing sent, when the terminal came back in another mode", async () => {
    const at = vending();
    at.terminal.prepare = () => {
      Object.assign(at.terminal.capabilities, { vending: false });
      return Promise.resolve(baseline);
    };
    await expect(pay(at, twoPhase)).rejects.toMatchObject({ code: "NOT_SUPPORTED", charged: "no" });
    expect(at.terminal.paid).toEqual([]);
    expect(at.journal.attempts.decisive("A-1")).toBeUndefined();
    expect(at.arbiter.lease.current).toBeUndefined();
  });

  test("gives the terminal a longer window than the kiosk", async () => {
    const at = vending();
    await pay(at, twoPhase);
    expect(at.terminal.paid[0]?.goodsWindowSeconds).toBeGreaterThan(30);
  });

  test("whose goods did not come out is reversed and cancelled", async () => {
    const at = vending();
    await pay(at, twoPhase);
    const answer = await deliver(at, false);
    expect([answer.status, answer.error?.code]).toEqual(["Cancelled", "GOODS_NOT_DELIVERED"]);
    expect(at.supervisor.stored).toEqual([]);
  });

  test("without a decision in time is reversed", async () => {
    const at = vending();
    await pay(at, twoPhase);
    await at.clock.advance(30_000);
    expect(at.terminal.decisions).toEqual([{ goods: "not-issued" }]);
    expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({
      outcome: { error: "GOODS_NOT_DELIVERED" },
    });
  });

  test("is reversed by /cancel and by a stop", async () => {
    for (const end of [
      (at: House) => at.arbiter.running.cancel(),
      (at: House) => at.arbiter.stop(),
    ]) {
      const at = vending();
      await pay(at, twoPhase);
      const ended = end(at);
      await at.clock.advance(10_000);
      await ended;
      expect(at.terminal.decisions).toEqual([{ goods: "not-issued" }]);
    }
  });

  test("answers the same decision again, and refuses another one with charged yes", async () => {
    const at = vending();
    await pay(at, twoPhase);
    await deliver(at, true);
    expect((await deliver(at, true)).status).toBe("Success");
    await expect(deliver(at, false)).rejects.toMatchObject({
      code: "DELIVERY_DECIDED",
      charged: "yes",
    });
    expect(at.terminal.decisions).toEqual([{ goods: "issued" }]);
  });

  test("charges a part when only a part of the goods came out", async () => {
    const at = vending();
    await pay(at, twoPhase);
    expect((await deliver(at, true, 500)).status).toBe("Success");
    expect(at.terminal.decisions).toEqual([{ goods: "partly-issued", amountMinor: 500 }]);
    expect(at.supervisor.stored).toMatchObject([{ amountMinor: 500, cart: [] }]);
  });

  /** The decision about a part was sent, and then the line broke. */
  async function partInDoubt(stored: Baseline["last"]): Promise<House> {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise((resolve) => {
        at.terminal.onDecision = () => resolve(lost("line broken"));
      });
    };
    await pay(at, twoPhase);
    at.terminal.last = stored;
    expect((await deliver(at, true, 500)).status).toBe("Unknown");
    await at.clock.advance(225_000);
    return at;
  }

  test("of which a part is in doubt is charged that part when the part is stored", async () => {
    const at = await partInDoubt({ kind: "transaction", report: report({ amountMinor: 500 }) });
    const { body } = await pay(at, twoPhase);
    expect([body.status, body.warnings]).toEqual(["Success", []]);
    expect(at.supervisor.stored).toMatchObject([{ amountMinor: 500 }]);
  });

  test("of which a part is in doubt is settled with the amount that was charged", async () => {
    const note = "seen on the terminal's own receipt";
    for (const amountMinor of [500, 999, 400]) {
      const at = await partInDoubt({ kind: "not-told", why: "bare completion" });
      const charged = { orderId: "A-1", outcome: "charged", note } as const;
      // The part or the whole: only the operator can say which.
      await expect(async () => at.settle(charged)).rejects.toMatchObject({
        code: "REQUEST_INVALID",
        charged: "unknown",
        message: expect.stringContaining("5.00 or 9.99"),
      });
      const { attempt, delivery } = await at.settle({ ...charged, amountMinor });
      await at.clock.advance(0);
      const { body } = answerOf(attempt, delivery);
      expect(body.chargedAmount).toBe(amountMinor / 100);
      expect(body.receipt.amount).toBe(String(amountMinor).padStart(8, "0"));
      expect(body.ticket).toBe(amountMinor === 999 ? "PAYMENT|9.99 EUR" : "");
      const beyond = amountMinor === 500 ? [] : [expect.stringContaining("are worth 5.00")];
      expect(body.warnings).toEqual(beyond);
      expect(at.supervisor.stored).toMatchObject([{ amountMinor, receiptNumber: "0002" }]);
    }
  });

  test("is in doubt when the terminal ends it without the part that came out", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise((resolve) => {
        at.terminal.onDecision = () => resolve({ end: "completed", ticket: "" });
      });
    };
    at.terminal.last = { kind: "not-told", why: "bare completion" };
    await pay(at, twoPhase);
    const { error, chargedAmount } = await deliver(at, true, 500);
    expect(chargedAmount).toBeNull();
    expect(error?.details["why"]).toBe(
      "the terminal ended the sale without telling the part that was decided",
    );
  });

  test("of which a part is in doubt is charged whole, with alarm, if that is stored", async () => {
    const at = await partInDoubt({ kind: "transaction", report: report() });
    const { body } = await pay(at, twoPhase);
    expect(body.status).toBe("Success");
    expect(body.warnings).toEqual(["charged 9.99 although the goods that came out are worth 5.00"]);
    expect(at.supervisor.stored).toMatchObject([{ amountMinor: 999 }]);
    expect(at.lines.filter((line) => line.includes("charged-beyond-goods"))).toHaveLength(1);
    expect((await deliver(at, true, 500)).status).toBe("Success");
  });

  test("that the terminal has charged without any decision raises an alarm", async () => {
    const before = vending();
    await pay(before, twoPhase);
    before.close();
    const at = house(before.path);
    at.terminal.last = { kind: "transaction", report: report() };
    at.start();
    await at.clock.advance(180_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    expect(at.hub.source.alarms(9)).toMatchObject([
      { data: { alarm: "charged-without-delivery", orderId: "A-1" } },
    ]);
    await expect(deliver(at, false)).rejects.toMatchObject({ charged: "yes" });
    expect((await deliver(at, true)).status).toBe("Success");
  });

  test("of which a part is in doubt is not charged when the terminal stored no sale", async () => {
    const at = await partInDoubt(baseline.last);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
    await expect(deliver(at, true, 500)).rejects.toMatchObject({
      code: "DELIVERY_DECIDED",
      charged: "no",
    });
  });

  test("that the terminal gave up is cancelled, and a late decision is refused", async () => {
    const at = house();
    let giveUp = (): void => {};
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise((resolve) => {
        giveUp = () => {
          observer.report(declined({ resultCode: "6C", reason: "cancelled" }));
          resolve({ ...aborted, code: "6C", reason: "cancelled" });
        };
      });
    };
    await pay(at, twoPhase);
    giveUp();
    await at.clock.advance(0);
    await expect(deliver(at, true)).rejects.toMatchObject({
      code: "DELIVERY_DECIDED",
      charged: "no",
    });
    expect((await deliver(at, false)).status).toBe("Cancelled");
    expect(at.terminal.decisions).toEqual([]);
  });

  test("that the terminal gave up before the decision refuses it with charged no", async () => {
    const at = house();
    let giveUp = (): void => {};
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise((resolve) => {
        giveUp = () => observer.report(declined({ resultCode: "6C", reason: "cancelled" }));
        at.terminal.onDecision = () => resolve({ ...aborted, code: "6C", reason: "cancelled" });
      });
    };
    await pay(at, twoPhase);
    giveUp();
    await expect(deliver(at, true)).rejects.toMatchObject({
      code: "DELIVERY_DECIDED",
      charged: "no",
    });
  });

  test("in doubt is probed before a late decision is answered", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return Promise.resolve(lost("line broken"));
    };
    at.terminal.last = { kind: "transaction", report: report() };
    await pay(at, twoPhase);
    const turnedAway = deliver(at, false);
    const refused = expect(turnedAway).rejects.toMatchObject({
      code: "DELIVERY_DECIDED",
      charged: "yes",
    });
    await at.clock.advance(20_000);
    await refused;
  });

  test("refuses a decision that comes before its approval at once", async () => {
    const at = house();
    at.terminal.script = () => new Promise(() => {});
    void pay(at, twoPhase);
    await at.clock.advance(0);
    await expect(deliver(at, true)).rejects.toMatchObject({
      code: "DELIVERY_DECIDED",
      charged: "unknown",
    });
  });

  test("refuses a decision about more than was approved", async () => {
    const at = vending();
    await pay(at, twoPhase);
    await expect(deliver(at, true, 1000)).rejects.toMatchObject({ code: "REQUEST_INVALID" });
    expect(at.terminal.decisions).toEqual([]);
  });

  test("repeated while it waits is answered Approved, and its window is not extended", async () => {
    const at = vending();
    await pay(at, twoPhase);
    await at.clock.advance(20_000);
    expect(outcome(await pay(at, twoPhase))).toBe("Approved");
    await at.clock.advance(10_000);
    expect(at.terminal.decisions).toEqual([{ goods: "not-issued" }]);
  });

  test("has its decision on disk before the decision is sent", async () => {
    const at = vending();
    await pay(at, twoPhase);
    const decide = at.terminal.onDecision;
    at.terminal.onDecision = (decision) => {
      expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({ goods: { decision } });
      decide(decision);
    };
    expect((await deliver(at, true)).status).toBe("Success");
  });

  test("on a terminal not in vending mode is refused before anything is charged", async () => {
    const at = house();
    Object.assign(at.terminal.capabilities, { vending: false });
    await expect(pay(at, twoPhase)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    expect(at.terminal.paid).toEqual([]);
  });

  test("interrupted before a decision is settled by recovery", async () => {
    const before = vending();
    await pay(before, twoPhase);
    before.close();
    const after = house(before.path);
    after.start();
    await after.clock.advance(225_000);
    expect(after.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
  });
});
