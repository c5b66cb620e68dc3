import { describe, expect, test } from "vitest";
import type {
  LastTransaction,
  PaymentEnd,
  PaymentObserver,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined, identity, report } from "../../support/terminals/reports.ts";
import {
  aborted,
  approves,
  disconnected,
  lost,
} from "../../support/terminals/scripted-terminal.ts";

const completed: PaymentEnd = { end: "completed", ticket: "" };
const bad = declined({ resultCode: "6C", resultText: "aborted", reason: "cancelled" });
const second = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130015" });
const alarms = (at: House): string[] =>
  at.hub.source.alarms(20).map(({ data }) => ("alarm" in data ? data.alarm : ""));
const stored = (reported: TransactionReport = report()): LastTransaction => ({
  kind: "transaction",
  report: reported,
});

/** A terminal that reports `words` within a payment, gets each answered, and then ends it. */
function hears(end: PaymentEnd, ...steps: (TransactionReport | "printed")[]) {
  const answers: string[] = [];
  const at = house();
  at.start();
  at.terminal.script = (_order, observer: PaymentObserver) => {
    for (const step of steps) {
      if (step === "printed") observer.ackArrived();
      else answers.push(observer.report(step));
    }
    return Promise.resolve(end);
  };
  return { at, answers };
}

/** How long the terminal stays blocked for other orders. */
async function blockedMs(at: House): Promise<number> {
  const begun = at.clock.monotonicMs();
  for (let waited = 0; waited < 300; waited++) {
    if (at.arbiter.inquiries.blockedBy === undefined) break;
    await at.clock.advance(1_000);
  }
  return at.clock.monotonicMs() - begun;
}

describe("a terminal's own end of a payment (docs/rules/22-heard-end.md)", () => {
  const heard: ReadonlyArray<readonly [string, PaymentEnd, readonly TransactionReport[]]> = [
    ["good, then not good, then aborted", aborted, [report(), bad]],
    ["good, then not good, then completed", completed, [report(), bad]],
    ["good, then aborted", aborted, [report()]],
    ["another amount, refused, then aborted", aborted, [report({ amountMinor: 1 })]],
    ["another currency, refused, then aborted", aborted, [report({ currencyNumeric: "756" })]],
  ];
  test.each(heard)("%s: the order is not charged after two probes", async (_name, end, steps) => {
    const { at } = hears(end, ...steps);
    const answer = pay(at, request("A-1"));
    await at.clock.advance(0);
    expect(await blockedMs(at)).toBeLessThanOrEqual(11_000);
    expect((await answer).body).toMatchObject({ status: "Cancelled", error: { charged: "no" } });
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
  });

  test("after a print proves nothing, because the print shows that our ACK arrived", async () => {
    const { at } = hears(aborted, report(), "printed", bad);
    const answer = pay(at, request("A-1"));
    await at.clock.advance(300_000);
    expect(outcome(await answer)).toBe("Unknown");
    expect(alarms(at)).toContain("payment-unknown");
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
  });

  test("of a payment without any report is not believed before the time limit", async () => {
    const { at } = hears(completed);
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    expect(await blockedMs(at)).toBeGreaterThan(170_000);
  });

  test("leaves the order unknown while the terminal is away, and not charged later", async () => {
    const { at } = hears(aborted, report());
    at.terminal.unavailable = undefined;
    const { script } = at.terminal;
    at.terminal.script = async (order, observer) => {
      const end = await script(order, observer);
      at.terminal.unavailable = disconnected();
      return end;
    };
    const answer = pay(at, request("A-1"));
    await at.clock.advance(30_000);
    expect(outcome(await answer)).toBe("Unknown");
    at.terminal.unavailable = undefined;
    await at.clock.advance(30_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
  });
});

describe("the end of a cancelled payment (docs/rules/22-heard-end.md)", () => {
  function cancelled(): { at: House; answer: ReturnType<typeof pay>; end: () => void } {
    const at = house();
    at.start();
    const { promise, resolve } = Promise.withResolvers<PaymentEnd>();
    at.terminal.script = () => promise;
    const answer = pay(at, request("A-1"));
    return { at, answer, end: () => resolve(aborted) };
  }

  test("is believed after one probe that shows no new sale", async () => {
    const { at, answer, end } = cancelled();
    await at.clock.advance(1_000);
    await at.arbiter.running.cancel();
    end();
    await at.clock.advance(0);
    expect(at.terminal.probes).toBe(1);
    expect((await answer).body).toMatchObject({ status: "Cancelled", error: { charged: "no" } });
  });

  test("is not believed when a probe shows that an approval crossed our cancel", async () => {
    const { at, answer, end } = cancelled();
    await at.clock.advance(1_000);
    await at.arbiter.running.cancel();
    at.terminal.last = stored();
    end();
    await at.clock.advance(11_000);
    expect(outcome(await answer)).toBe("Success");
  });

  test("is believed without a probe when the cancel was not ours", async () => {
    const { at, answer, end } = cancelled();
    await at.clock.advance(1_000);
    end();
    expect(outcome(await answer)).toBe("Cancelled");
    expect(at.terminal.probes).toBe(0);
  });
});

describe("a second good report in one payment (docs/rules/20-second-sale.md)", () => {
  test("is refused with an alarm, and the first sale, with its ACK, is charged", async () => {
    const { at, answers } = hears(completed, report(), "printed", second);
    const { body } = await pay(at, request("A-1"));
    expect([body.status, body.receipt.transactionFileNumber]).toEqual(["Success", ""]);
    expect(answers).toEqual(["accept", "refuse"]);
    expect(alarms(at)).toEqual(["second-sale-in-payment"]);
    expect(at.supervisor.stored).toMatchObject([{ receiptNumber: "0002" }]);
  });

  test("leaves the order in doubt when no sign shows that the first got its ACK", async () => {
    const { at, answers } = hears(completed, report(), second);
    at.terminal.last = stored();
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    expect(answers).toEqual(["accept", "refuse"]);
    await at.clock.advance(20_000);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("that the terminal stored leaves the order unknown: the first may count too", async () => {
    const { at } = hears(lost("line broken"), report(), second);
    at.terminal.last = stored(second);
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(300_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
  });

  test("of the same sale is accepted, and is no second sale", async () => {
    const { at, answers } = hears(completed, report(), report({ receiptNumber: "2" }));
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(answers).toEqual(["accept", "accept"]);
    expect(alarms(at)).toEqual([]);
  });

  test("that names no number counts as a repetition of the first", async () => {
    const { at, answers } = hears(
      completed,
      report(),
      report({ receiptNumber: null, traceNumber: null }),
    );
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(answers).toEqual(["accept", "accept"]);
  });

  test("that names no number but another time is accepted with an alarm", async () => {
    const nameless = { receiptNumber: null, traceNumber: null };
    const later = report({ ...nameless, localTime: "130015" });
    const { at, answers } = hears(completed, report(nameless), later);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(answers).toEqual(["accept", "accept"]);
    expect(alarms(at)).toEqual(["second-sale-in-payment"]);
  });

  test("after a decision about the goods is accepted with an alarm", async () => {
    const at = house();
    at.start();
    const answers: string[] = [];
    at.terminal.script = (_order, observer) => {
      answers.push(observer.report(report()));
      const { promise, resolve } = Promise.withResolvers<PaymentEnd>();
      at.terminal.onDecision = () => {
        answers.push(observer.report(second));
        observer.ackArrived();
        resolve(completed);
      };
      return promise;
    };
    const delivery = { withinSeconds: 30 };
    expect(outcome(await pay(at, request("A-1", { delivery })))).toBe("Approved");
    const step = at.afterSale.deliver("A-1", true, undefined);
    await at.clock.advance(0);
    expect((await step).attempt.state.phase).toBe("charged");
    expect(answers).toEqual(["hold", "accept"]);
    expect(alarms(at)).toEqual(["second-sale-in-payment"]);
  });

  test('is none when the first report says "see phone" (7A): the order is charged', async () => {
    const { at } = hears(completed, declined({ resultCode: "7A" }), report());
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(alarms(at)).toEqual([]);
  });
});

describe("recovery at a terminal that cannot answer yet (docs/rules/15-not-yet.md)", () => {
  const locked = new TerminalUnavailable("out-of-order", "end of day required");

  function chargedUnheard(): House {
    const at = house();
    at.start();
    at.closing.start();
    at.terminal.last = stored();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return Promise.resolve(lost("line broken"));
    };
    return at;
  }

  test("a terminal locked until its end of day runs it, and is probed afterwards", async () => {
    const at = chargedUnheard();
    at.terminal.unavailable = locked;
    const answer = locksOut(at);
    await answer;
    at.terminal.telecollect = () => {
      at.terminal.unavailable = undefined;
      at.terminal.become({ demands: [], status: null });
      return Promise.resolve({ end: "completed", applications: [], ticket: "TOTALS" });
    };
    at.terminal.prepare = () => Promise.reject(locked);
    await at.clock.advance(90_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    const id = at.journal.attempts.decisive("A-1")?.transactionId ?? "";
    const kinds = at.journal.attempts.events(id).map(({ kind }) => kind);
    expect(kinds).toContain("closed-while-in-doubt");
    at.closing.close();
  });

  async function locksOut(at: House): Promise<void> {
    const status = { cr: "2", card: "0", call: "1", periph: "0", detail: "locked" } as const;
    at.terminal.unavailable = undefined;
    const { script } = at.terminal;
    at.terminal.script = async (order, observer) => {
      const end = await script(order, observer);
      at.terminal.unavailable = locked;
      at.terminal.check = () => Promise.resolve(status);
      at.terminal.become({ status, demands: ["end-of-day"] });
      return end;
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  }

  test("a lock that no end of day opens keeps the order in doubt while it lasts", async () => {
    const at = chargedUnheard();
    at.closing.close();
    await locksOut(at);
    await at.clock.advance(3_600_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    await expect(pay(at, request("B-1"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    at.terminal.unavailable = undefined;
    at.terminal.become({ status: null, demands: [] });
    await at.clock.advance(10_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });

  test("while another terminal is connected, no probe is sent and no sale is held up", async () => {
    const at = chargedUnheard();
    const { script } = at.terminal;
    at.terminal.script = async (order, observer) => {
      const end = await script(order, observer);
      at.terminal.become({ identity: { ...identity, serialNumber: "SN-2" } });
      return end;
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(60_000);
    expect([at.terminal.probes, at.arbiter.inquiries.blockedBy]).toEqual([0, undefined]);
    at.terminal.become({ identity });
    await at.clock.advance(10_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    at.closing.close();
  });

  test("an operator's decision ends the recovery run", async () => {
    const at = chargedUnheard();
    await locksOut(at);
    await at.settle({ orderId: "A-1", outcome: "not_charged", note: "seen" });
    await at.clock.advance(0);
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
    at.closing.close();
  });

  test("one probe serves two orders in doubt at one terminal", async () => {
    const before = house();
    before.terminal.last = { kind: "not-told", why: "nothing" };
    before.terminal.script = () => Promise.resolve(lost("line"));
    await pay(before, request("A-1"));
    await before.clock.advance(0);
    before.terminal.script = () => new Promise(() => {});
    void pay(before, request("B-1"));
    await before.clock.advance(0);
    before.close();
    const at = house(before.path);
    at.start();
    await at.clock.advance(0);
    expect(at.terminal.probes).toBe(1);
    await at.clock.advance(181_000);
    const phases = ["A-1", "B-1"].map((id) => at.journal.attempts.decisive(id)?.state.phase);
    expect(phases).toEqual(["not-charged", "not-charged"]);
  });
});
