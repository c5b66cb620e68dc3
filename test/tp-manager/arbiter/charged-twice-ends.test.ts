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
const note = "the terminal's journal";

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

/** An order that the terminal turns away first, and sells at the second attempt. */
async function soldAgain(): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve(aborted);
  expect(outcome(await pay(at, request("A-1")))).toBe("Cancelled");
  at.terminal.script = approves;
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  return at;
}

async function reportsLate(at: House, reported: typeof third): Promise<void> {
  at.terminal.stores(reported);
  at.terminal.emit({ type: "unmatched-report", report: reported });
  await at.clock.advance(30_000);
}

/** The first attempt's command reported its sale, which is found after the second sale. */
async function soldTwice(): Promise<House> {
  const at = house();
  at.start();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("the line broke"));
  };
  await pay(at, request("A-1"));
  await at.clock.advance(400_000);
  at.terminal.script = (_order, observer) => {
    observer.report(second);
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  await pay(at, request("A-1"));
  await reportsLate(at, report());
  expect(phases(at)).toEqual(["charged", "charged"]);
  return at;
}

describe("an approval without a reference whose candidate is an order's first attempt", () => {
  test("leaves the order unknown when the running second attempt is then declined", async () => {
    const at = oneWayKiosk();
    at.terminal.script = () => Promise.resolve(aborted);
    await pay(at, request("A-1"));
    at.terminal.script = (_order, observer) => {
      at.reports({});
      observer.report({ ...declined(), ...nameless });
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    const end = outcome(await pay(at, request("A-1")));
    expect([end, at.orders.chargedOfOrder("A-1")]).toEqual(["Unknown", "unknown"]);
  });

  test("leaves the order unknown when the second, in doubt, is refused by name later", async () => {
    const at = oneWayKiosk();
    at.terminal.script = () => Promise.resolve(aborted);
    await pay(at, request("A-1"));
    const { identity } = at.terminal.state;
    at.journal.learned.of({ setup: "test", identity }).saw("echoes-approvals");
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({});
    at.reports({ ...declined(), ...nameless, reference });
    expect(at.orders.chargedOfOrder("A-1")).toBe("unknown");
  });
});

test("an order refunded in full is unknown while probes check a late sale of it", async () => {
  const at = await soldAgain();
  refund(at, 2);
  at.terminal.stores(third);
  at.terminal.emit({ type: "unmatched-report", report: third });
  await at.clock.advance(0);
  expect(at.arbiter.unmatched.lateReport("A-1")).toBeDefined();
  expect(at.orders.chargedOfOrder("A-1")).toBe("unknown");
});

test("an order refunded in full is unknown while its journal may lack a sale", async () => {
  const at = await soldAgain();
  at.supervisor.reachable = false;
  at.guard.begin("it is an older one");
  await at.clock.advance(0);
  refund(at, 2);
  const charged = at.orders.chargedOfOrder("A-1");
  const found = await at.orders.lookUp("A-1").catch((error: unknown) => error);
  await at.guard.close();
  expect(charged).toBe("unknown");
  expect(found).toMatchObject({ code: "STORES_DISAGREE" });
});

test("a late sale is handed off although the journal cannot be read meanwhile", async () => {
  const at = oneWayKiosk();
  await leaveInDoubt(at);
  const reference = referenceAt(at);
  at.reports({ ...declined(), ...nameless, reference });
  at.terminal.script = approves;
  await pay(at, request("A-1"));
  const { attempts } = at.journal;
  const ofOrder = attempts.ofOrder.bind(attempts);
  attempts.ofOrder = () => {
    throw new Error("the disk failed");
  };
  at.reports({ reference });
  attempts.ofOrder = ofOrder;
  at.reports({ reference });
  await at.clock.advance(600_000);
  expect([phases(at), at.supervisor.stored.length]).toEqual([["charged", "charged"], 2]);
});

describe("an operator's later decision", () => {
  test("corrects the attempt that it names, although another attempt is in doubt", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    await leaveInDoubt(at);
    await at.settle({ orderId: "A-1", note, outcome: "charged", amountMinor: 999 });
    at.reports({ reference, amountMinor: 500 });
    expect(phases(at)).toEqual(["in-doubt", "charged"]);
    await at.settle({ orderId: "A-1", note, outcome: "not_charged", attempt: 2 });
    expect(phases(at)).toEqual(["in-doubt", "not-charged"]);
    const decision = { orderId: "A-1", note, outcome: "charged" } as const;
    expect(() => at.settle({ ...decision, attempt: 3 })).toThrow("The order has no attempt 3.");
  });

  test("corrects the first attempt although the second one was charged and refunded", async () => {
    const at = await soldAgain();
    await reportsLate(at, third);
    await at.settle({ orderId: "A-1", note, outcome: "not_charged" });
    refund(at, 2);
    const decision = { orderId: "A-1", note, outcome: "charged", amountMinor: 999 } as const;
    await at.settle({ ...decision, attempt: 1 });
    expect([phases(at), at.orders.chargedOfOrder("A-1")]).toEqual([["charged", "charged"], "yes"]);
  });
});

/** Makes each reversal name the trace of its sale, under a number of its own. */
function reversesByNumber(at: House): void {
  at.terminal.remembers = true;
  at.terminal.reversal = (order, observer) => {
    const sale = order.receiptNumber === "0003" ? second : report();
    const sent = at.terminal.reversed.length;
    const own = { receiptNumber: `000${6 + sent}`, traceNumber: `00002${sent}` };
    observer.report(report({ ...own, originalTrace: sale.traceNumber, localTime: `13200${sent}` }));
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "reversal" });
  };
}

const reversedAt = (at: House): unknown[] =>
  at.terminal.reversed.map(({ receiptNumber }) => receiptNumber);

describe("an order charged twice: a reversal of one sale is never sent for the other sale", () => {
  test("when the gateway refunds the chosen sale while the terminal is prepared", async () => {
    const at = await soldTwice();
    at.terminal.stores(second);
    reversesByNumber(at);
    const prepare = at.terminal.prepare.bind(at.terminal);
    at.terminal.prepare = (signal) => {
      refund(at, 2);
      return prepare(signal);
    };
    const end = await at.afterSale.reverse("A-1").catch((error: unknown) => error);
    expect([reversedAt(at), String(end)]).toEqual([[], expect.any(String)]);
  });

  test("when the kiosk repeats the call because the answer was lost", async () => {
    const at = await soldTwice();
    at.terminal.stores(second);
    reversesByNumber(at);
    await at.afterSale.reverse("A-1");
    await at.afterSale.reverse("A-1").catch(() => undefined);
    expect(reversedAt(at)).toEqual(["0003"]);
  });
});

describe("an order with two attempts", () => {
  test("keeps its first attempt in doubt through a payment and a restart", async () => {
    const at = await soldAgain();
    await reportsLate(at, third);
    at.terminal.remembers = true;
    expect(outcome(await pay(at, request("B-1", { amountMinor: 500 })))).toBe("Success");
    refund(at, 2);
    at.close();
    const again = house(at.path, at.terminal, { clock: at.clock });
    again.start();
    await again.clock.advance(400_000);
    expect([phases(again), again.orders.chargedOfOrder("A-1")]).toEqual([
      ["in-doubt", "charged"],
      "unknown",
    ]);
  });

  test("sends one of two simultaneous reversals, by the receipt number of its sale", async () => {
    const at = await soldTwice();
    at.terminal.stores(second);
    const ends = [at.afterSale.reverse("A-1"), at.afterSale.reverse("A-1")];
    const settled = Promise.allSettled(ends);
    await at.clock.advance(60_000);
    expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(at.terminal.reversed.map(({ receiptNumber }) => receiptNumber)).toEqual(["0003"]);
  });

  test("sends nothing when the first is approved while the second is prepared", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    const prepare = at.terminal.prepare.bind(at.terminal);
    at.terminal.prepare = (signal) => {
      at.reports({ reference });
      return prepare(signal);
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect([phases(at), at.terminal.paid.length]).toEqual([["charged"], 1]);
  });

  test("keeps one sale charged when an operator settles the reversal of the other", async () => {
    const at = await soldTwice();
    at.terminal.stores(second);
    at.terminal.reversal = () => Promise.resolve(lost("the line broke"));
    at.terminal.last = { kind: "not-told", why: "it names none" };
    const end = at.afterSale.reverse("A-1");
    await at.clock.advance(60_000);
    await end;
    expect([phases(at), at.orders.chargedOfOrder("A-1")]).toEqual([
      ["charged", "reversal-in-doubt"],
      "unknown",
    ]);
    await at.settle({ orderId: "A-1", note, outcome: "reversed" });
    expect([phases(at), at.orders.chargedOfOrder("A-1")]).toEqual([["charged", "reversed"], "yes"]);
  });

  test("is unknown when a former version kept an approval of its first attempt", async () => {
    const at = oneWayKiosk();
    await leaveInDoubt(at);
    const reference = referenceAt(at);
    at.reports({ ...declined(), ...nameless, reference });
    at.terminal.script = approves;
    await pay(at, request("A-1"));
    const { terminalLog } = at.journal;
    const { identity } = at.terminal.state;
    const reported = report({ ...nameless, reference });
    const kept = { atMs: at.clock.now(), report: reported, identity, isOfNoOrder: false };
    const id = terminalLog.keepUnmatched(kept) ?? 0;
    terminalLog.endUnmatched(id, at.clock.now(), "held", "a former version");
    at.close();
    const next = oneWayKiosk(at.path);
    refund(next, 2);
    expect([next.orders.chargedOfOrder("A-1"), alarms(next)[0]]).toEqual([
      "unknown",
      "order-charged-twice",
    ]);
    await next.settle({ orderId: "A-1", note, outcome: "charged", amountMinor: 999 });
    next.close();
    expect(oneWayKiosk(at.path).orders.chargedOfOrder("A-1")).toBe("yes");
  });

  test("can be refunded sale by sale after both attempts are in the archive", async () => {
    const at = await soldTwice();
    await at.clock.advance(10_000);
    for (const { transactionId } of at.journal.attempts.ofOrder("A-1")) {
      await at.handOff.delivered(transactionId, 0);
    }
    at.orders.chargeAnswered("A-1", true);
    expect(at.journal.archive.putAway(at.clock.now() + 1_000, 20).archived).toBe(1);
    refund(at, 2);
    expect(at.orders.chargedOfOrder("A-1")).toBe("yes");
    refund(at, 1);
    expect(at.orders.chargedOfOrder("A-1")).toBe("no");
  });
});
