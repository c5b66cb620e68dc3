import { describe, expect, test } from "vitest";
import type { GoodsDecision, PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { lost, saleReport } from "../../support/terminals/scripted-terminal.ts";

/** A terminal in vending mode whose approval and end come when the test says so. */
interface Slow extends House {
  approve(): void;
  /** The terminal reports that it has reversed the sale; the payment's end is not here yet. */
  giveUp(): void;
  /** The payment ends as the decision says. */
  end(): void;
  lose(): void;
}

const aborted: PaymentEnd = {
  end: "aborted",
  code: "6C",
  text: "aborted",
  reason: "cancelled",
  ticket: "",
};

function slow(path?: string): Slow {
  const at = house(path);
  let approve = (): void => {};
  let giveUp = (): void => {};
  let resolve: (end: PaymentEnd) => void = () => {};
  let decided: GoodsDecision = { goods: "not-issued" };
  at.terminal.onDecision = (decision) => {
    decided = decision;
  };
  at.terminal.script = (_order, observer) => {
    const sale = saleReport(at.terminal.paid.length - 1);
    approve = () => void observer.report(sale);
    giveUp = () => void observer.report(declined({ resultCode: "6C", reason: "cancelled" }));
    const { promise, resolve: ends } = Promise.withResolvers<PaymentEnd>();
    resolve = (end) => {
      if (end.end === "completed") {
        const amountMinor = decided.goods === "partly-issued" ? decided.amountMinor : 999;
        observer.report(report({ amountMinor }));
        observer.ackArrived();
      }
      ends(end);
    };
    return promise;
  };
  return {
    ...at,
    approve: () => approve(),
    giveUp: () => giveUp(),
    end: () => {
      if (decided.goods === "not-issued") giveUp();
      resolve(decided.goods === "not-issued" ? aborted : { end: "completed", ticket: "" });
    },
    lose: () => resolve(lost("line broken")),
  };
}

/** Repeats the order, and returns its answer or that there is none yet. */
function again(at: House) {
  const answer = pay(at, twoPhase);
  answer.catch(() => undefined);
  const waits = Symbol("waits");
  return {
    answer,
    soon: () => Promise.race([answer.then(outcome), at.clock.advance(0).then(() => waits)]),
    waits,
  };
}

async function approved(at: Slow): Promise<void> {
  const first = pay(at, twoPhase);
  await at.clock.advance(0);
  at.approve();
  expect(outcome(await first)).toBe("Approved");
}

const twoPhase = request("A-1", { delivery: { withinSeconds: 30 } });
const dearer = request("A-1", { amountMinor: 1000, delivery: { withinSeconds: 30 } });

/** Repeats of a two-phase order: every row about it in docs/rules/36-repeated-order.md. */
describe("a two-phase order that is asked for again", () => {
  test("before the approval attaches to the first payment and is answered with it", async () => {
    const at = slow();
    const first = pay(at, twoPhase);
    await at.clock.advance(0);
    const second = again(at);
    expect(await second.soon()).toBe(second.waits);
    at.approve();
    const answers = [await first, await second.answer];
    expect(answers.map(outcome)).toEqual(["Approved", "Approved"]);
    expect(new Set(answers.map(({ body }) => body.transactionId)).size).toBe(1);
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("while it waits for its goods is answered Approved", async () => {
    const at = slow();
    await approved(at);
    expect(outcome(await pay(at, twoPhase))).toBe("Approved");
    expect(at.terminal.paid).toHaveLength(1);
  });

  const decisions: readonly [string, string, (at: Slow) => unknown][] = [
    ["they did not come out", "Cancelled", (at) => at.afterSale.deliver("A-1", false, undefined)],
    ["they came out", "Success", (at) => at.afterSale.deliver("A-1", true, undefined)],
    ["a part came out", "Success", (at) => at.afterSale.deliver("A-1", true, 500)],
    ["nothing in time", "Cancelled", (at) => at.clock.advance(30_000)],
    ["cancelled", "Cancelled", (at) => at.arbiter.running.cancel()],
  ];
  test.each(decisions)(
    "after the decision (%s) waits for the end: %s",
    async (_outcome, end, say) => {
      const at = slow();
      await approved(at);
      void say(at);
      await at.clock.advance(0);
      const repeat = again(at);
      expect(await repeat.soon()).toBe(repeat.waits);
      await expect(pay(at, dearer)).rejects.toMatchObject({ code: "ORDER_MISMATCH" });
      at.end();
      expect(outcome(await repeat.answer)).toBe(end);
      expect(at.terminal.paid).toHaveLength(1);
    },
  );

  test("waits for the end while the terminal reverses the sale by itself", async () => {
    const at = slow();
    await approved(at);
    at.giveUp();
    const repeat = again(at);
    expect(await repeat.soon()).toBe(repeat.waits);
    at.end();
    expect(outcome(await repeat.answer)).toBe("Cancelled");
  });

  test("after the decision, without an end in time, is answered PAYMENT_RUNNING", async () => {
    const at = slow();
    await approved(at);
    void at.afterSale.deliver("A-1", false, undefined);
    const repeat = again(at);
    await at.clock.advance(225_000);
    const { http, body } = await repeat.answer;
    expect([http, body.status, body.error?.code]).toEqual([504, "Unknown", "PAYMENT_RUNNING"]);
  });

  test("is never answered Approved at any moment after its outcome was lost", async () => {
    for (let moments = 0; moments < 20; moments += 1) {
      const at = slow();
      await approved(at);
      at.terminal.lastTransaction = () => new Promise(() => {});
      at.lose();
      for (let moment = 0; moment < moments; moment += 1) await Promise.resolve();
      const repeat = again(at);
      await at.clock.advance(220_000);
      expect(outcome(await repeat.answer)).toBe("Unknown");
    }
  });

  /** No outcome is on disk, so the record still says that the sale waits for its goods. */
  async function losesEveryApproval(at: House): Promise<void> {
    expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({ goods: { decision: null } });
    const [repeat, found] = [again(at), await at.orders.lookUp("A-1")];
    await at.clock.advance(220_000);
    const { http, body } = await repeat.answer;
    expect([http, body.status, body.error?.charged]).toEqual([504, "Unknown", "unknown"]);
    const page = { sinceMs: 0, status: null, limit: 9, before: null };
    const confirmed = [
      found.attempt,
      ...found.attempts,
      ...at.listings.list(page).map((l) => l.attempt),
    ];
    expect(confirmed.map(({ state }) => state)).toMatchObject(
      confirmed.map(() => ({ goods: null })),
    );
  }

  test("is unknown when its outcome could not be written", async () => {
    const at = slow();
    await approved(at);
    at.journal.attempts.update = () => {
      throw new Error("the disk is full");
    };
    at.lose();
    await at.clock.advance(0);
    await losesEveryApproval(at);
  });

  test("is unknown after a restart, before recovery has begun", async () => {
    const before = slow();
    await approved(before);
    before.close();
    const at = house(before.path);
    await losesEveryApproval(at);
    expect(at.terminal.paid).toEqual([]);
  });

  test("is answered like any other order after its end", async () => {
    const charged = slow();
    await approved(charged);
    const delivered = charged.afterSale.deliver("A-1", true, undefined);
    charged.end();
    await delivered;
    const replay = await pay(charged, twoPhase);
    expect([replay.body.status, replay.replayed]).toEqual(["Success", true]);
    charged.terminal.stores(report());
    await charged.afterSale.reverse("A-1");
    await expect(pay(charged, twoPhase)).rejects.toMatchObject({ code: "ORDER_REVERSED" });

    const cancelled = slow();
    await approved(cancelled);
    const no = cancelled.afterSale.deliver("A-1", false, undefined);
    cancelled.end();
    await no;
    await approved(cancelled);
    expect(cancelled.journal.attempts.decisive("A-1")?.number).toBe(2);
  });
});
