import { expect, test } from "vitest";
import type { JumpBody } from "../../../src/tp-manager/attempts/reconciliation/ledger-policy.ts";
import {
  currency,
  type House,
  house,
  outcome,
  pay,
  request,
} from "../../support/house/payment-house.ts";
import { CountingTerminal } from "../../support/terminals/counting-terminal.ts";
import { baseline, identity } from "../../support/terminals/reports.ts";

interface Open {
  readonly at: House;
  readonly terminal: CountingTerminal;
  buys(orderId: string, amountMinor?: number): Promise<string>;
}

/** An installation whose terminal has had one end of day, so that receipt ranges join. */
async function open(last = 40): Promise<Open> {
  const at = house();
  at.start();
  const terminal = new CountingTerminal(at, last);
  const buys = async (orderId: string, amountMinor = 999): Promise<string> => {
    const answer = await pay(at, request(orderId, { amountMinor }));
    await at.clock.advance(0);
    return outcome(answer);
  };
  await buys("first", 100);
  await at.upkeep.telecollect();
  return { at, terminal, buys };
}

async function close(at: House) {
  const { reconciliation } = await at.upkeep.telecollect();
  if (reconciliation?.body.kind !== "end-of-day") throw new Error("nothing was compared");
  const { terminal, gateway } = reconciliation.body;
  return { result: reconciliation.result, terminal, gateway };
}

const alarmsOf = (at: House, alarm: string) =>
  at.hub.source
    .alarms(100)
    .flatMap(({ data }) => ("alarm" in data && data.alarm === alarm ? [data] : []));

async function warningsOf(at: House, orderId: string): Promise<number> {
  const { attempts } = await at.orders.lookUp(orderId);
  return attempts.filter(({ suspicion }) => suspicion).length;
}

test("the first end of day agrees when its receipt range begins with a sale of ours", async () => {
  const { at } = await open();
  expect(at.journal.reconciliations.list(9, null)).toMatchObject([
    { result: "agrees", body: { receiptFrom: "0041", receiptTo: "0041" } },
  ]);
});

test("sales, declines and reversals that both sides know make no difference", async () => {
  const { at, terminal, buys } = await open();
  at.supervisor.state = "pending";
  await buys("a");
  terminal.declines();
  expect(await buys("b")).toBe("Cancelled");
  terminal.sells();
  await buys("c", 500);
  expect((await at.afterSale.reverse("c")).attempt.state.phase).toBe("reversed");
  await buys("d", 700);
  const { result, terminal: verdict } = await close(at);
  expect(result).toBe("agrees");
  expect(verdict).toMatchObject({ terminal: { sumMinor: 1_699 }, journal: { count: 2 } });
  expect(alarmsOf(at, "terminal-difference")).toEqual([]);
  expect(alarmsOf(at, "receipt-number-missing")).toEqual([]);
});

test("a sale that the terminal booked but never reported is an alarm with its order", async () => {
  const { at, terminal, buys } = await open();
  await buys("a");
  terminal.hides();
  expect(await buys("hidden", 500)).toBe("Cancelled");
  terminal.sells();
  expect(await buys("hidden", 500)).toBe("Success");
  terminal.declines();
  await buys("b", 500);
  terminal.sells();
  await buys("c");
  const { result, terminal: verdict } = await close(at);
  expect(result).toBe("differs");
  expect(verdict).toMatchObject({
    differenceMinor: 500,
    isSole: true,
    suspects: [{ orderId: "hidden", told: "cancelled", chargedElsewhere: true }],
  });
  expect(alarmsOf(at, "terminal-difference")).toMatchObject([
    { orderId: "hidden", message: expect.stringMatching(/5\.00 EUR.*hidden.*paid again/) },
  ]);
  const announced = at.hub.source.after(0, 1_000).filter(({ name }) => name === "reconciliation");
  expect(announced.slice(-1)).toMatchObject([
    { data: { result: "differs", differenceMinor: 500, orderIds: ["hidden"] } },
  ]);
  expect(await warningsOf(at, "hidden")).toBe(1);
  expect(outcome(await pay(at, request("hidden", { amountMinor: 500 })))).toBe("Success");
});

test("an unreported sale is found as first and as last of its receipt range too", async () => {
  for (const position of ["first", "last"]) {
    const { at, terminal, buys } = await open();
    if (position === "last") await buys("a");
    terminal.hides();
    await buys("hidden", 500);
    terminal.sells();
    if (position === "first") await buys("a");
    expect((await close(at)).terminal).toMatchObject({
      differenceMinor: 500,
      suspects: [{ orderId: "hidden" }],
    });
  }
});

test("orders with a missing receipt number are named before an order without one", async () => {
  const { at, terminal, buys } = await open();
  terminal.hides();
  await buys("x", 500);
  await buys("y", 700);
  terminal.declines();
  await buys("z", 1_200);
  const { terminal: verdict } = await close(at);
  expect(verdict).toMatchObject({ differenceMinor: 1_200, isSole: true });
  expect(verdict).toMatchObject({ suspects: [{ orderId: "x" }, { orderId: "y" }] });
});

test("an unknown order is named as a difference only if the terminal has booked it", async () => {
  for (const isStored of [true, false]) {
    const { at, terminal, buys } = await open();
    terminal.loses(isStored);
    expect(await buys("lost", 500)).toBe("Unknown");
    terminal.sells();
    await buys("a");
    const { result, terminal: verdict } = await close(at);
    expect(result).toBe(isStored ? "differs" : "agrees");
    if (isStored) {
      expect(verdict).toMatchObject({ suspects: [{ orderId: "lost", told: "unknown" }] });
    }
  }
});

test("a reported sale that the terminal did not book is a difference with its order", async () => {
  const { at, terminal, buys } = await open();
  await buys("a");
  terminal.forgets();
  expect(await buys("gone", 500)).toBe("Success");
  const { terminal: verdict } = await close(at);
  expect(verdict).toMatchObject({ differenceMinor: -500, suspects: [{ orderId: "gone" }] });
  expect(await warningsOf(at, "gone")).toBe(1);
});

test("receipt numbers may begin again at 1 within a range, and after an end of day", async () => {
  const { at, terminal, buys } = await open(9_997);
  for (const order of ["a", "b", "c"]) await buys(order);
  expect(terminal.last).toBe(2);
  expect((await close(at)).result).toBe("agrees");
  terminal.restart();
  await buys("d");
  expect((await close(at)).result).toBe("agrees");
  terminal.restart();
  terminal.hides();
  await buys("hidden", 500);
  terminal.sells();
  await buys("e");
  expect((await close(at)).terminal).toMatchObject({ suspects: [{ orderId: "hidden" }] });
});

test("an end of day at the terminal's menu leaves only its own sales uncompared", async () => {
  const { at, terminal, buys } = await open();
  await buys("a");
  await buys("b");
  terminal.close();
  await buys("c");
  terminal.hides();
  await buys("hidden", 500);
  expect((await close(at)).terminal).toMatchObject({
    result: "differs",
    journal: { count: 1, sumMinor: 999 },
    suspects: [{ orderId: "hidden" }],
  });
});

test("an end of day whose outcome was lost is recognised by the next receipt range", async () => {
  for (const wasCarriedOut of [true, false]) {
    const { at, terminal, buys } = await open();
    await buys("a");
    const usual = at.terminal.telecollect;
    at.terminal.telecollect = () => {
      if (wasCarriedOut) terminal.close();
      return Promise.resolve({ end: "lost", code: "", text: "line broken" });
    };
    await expect(at.upkeep.telecollect()).rejects.toThrow();
    at.terminal.telecollect = usual;
    await buys("b", 300);
    const { result, terminal: verdict } = await close(at);
    expect(result).toBe("agrees");
    expect(verdict).toMatchObject({ terminal: { sumMinor: wasCarriedOut ? 300 : 1_299 } });
  }
});

const incomparable: readonly (readonly [because: RegExp, how: (now: Open) => unknown])[] = [
  [
    /more than one currency/,
    async ({ at, terminal }) => {
      terminal.currencyNumeric = "840";
      await pay(at, request("usd", { currency: currency("USD") }));
    },
  ],
  [
    /another terminal/,
    ({ at }) => {
      const other = { ...identity, serialNumber: "SN-2" };
      at.terminal.become({ identity: other });
      at.terminal.baseline = { ...baseline, identity: other };
      at.arbiter.identityCheck.accept();
    },
  ],
  [
    /reported no totals/,
    ({ at }) => {
      at.terminal.telecollect = () =>
        Promise.resolve({ end: "completed", applications: [], ticket: "" });
    },
  ],
  [
    /do not follow/,
    ({ terminal }) => {
      terminal.last += 5;
      terminal.close();
      terminal.last += 1;
    },
  ],
];

test.each(incomparable)("an end of day cannot be compared, no alarm: %s", async (because, how) => {
  const now = await open();
  const { at, terminal, buys } = now;
  await buys("a");
  terminal.hides();
  await buys("hidden", 500);
  terminal.sells();
  await how(now);
  const { result, terminal: verdict } = await close(at);
  expect(result).toBe("not-comparable");
  expect(verdict).toMatchObject({ because: expect.stringMatching(because) });
  expect(alarmsOf(at, "terminal-difference")).toEqual([]);
});

test("a sale whose goods came out in part counts with the part that was charged", async () => {
  const { at, terminal } = await open();
  terminal.sells();
  const delivery = { withinSeconds: 60 };
  at.terminal.script = async (order, observer) => {
    const receipt = terminal.last + 1;
    const number = String(receipt).padStart(4, "0");
    const { report } = await import("../../support/terminals/reports.ts");
    observer.report(report({ amountMinor: order.amountMinor, receiptNumber: number }));
    await new Promise<void>((resolve) => {
      at.terminal.onDecision = () => resolve();
    });
    terminal.last = receipt;
    terminal.stored.push({ receipt, amountMinor: 400 });
    observer.report(report({ amountMinor: 400, receiptNumber: number }));
    observer.ackArrived();
    return { end: "completed", ticket: "" };
  };
  await pay(at, request("parts", { delivery }));
  at.arbiter.running.decide("parts", { goods: "partly-issued", amountMinor: 400 });
  await at.clock.advance(0);
  const { result, terminal: verdict } = await close(at);
  expect(verdict).toMatchObject({ result: "agrees", journal: { sumMinor: 400 } });
  expect(result).toBe("agrees");
});

test("archived orders are compared like any other", async () => {
  const { at, terminal, buys } = await open();
  await buys("a");
  terminal.hides();
  await buys("hidden", 500);
  terminal.sells();
  await buys("b");
  for (const _ of ["delivered", "asked"]) await at.clock.advance(10_000);
  for (const order of ["a", "b"]) await at.handOff.delivered(order, 0).catch(() => undefined);
  expect(at.journal.archive.putAway(at.clock.now() + 1, 100).archived).toBeGreaterThan(1);
  const { terminal: verdict } = await close(at);
  expect(verdict).toMatchObject({ differenceMinor: 500, suspects: [{ orderId: "hidden" }] });
});

test("a sale still on its way to the gateway is no difference, a lost one is", async () => {
  const { at, buys } = await open();
  at.supervisor.state = "pending";
  await buys("a");
  const first = await close(at);
  expect(first.result).toBe("agrees");
  expect(first.gateway).toMatchObject({
    sums: [{ charged: { count: 1 }, sent: { count: 0 }, waiting: { count: 1, sumMinor: 999 } }],
    faults: [],
  });
  await buys("b");
  at.journal.database.exec("DELETE FROM hand_off WHERE body LIKE '%\"b\"%'");
  const second = await close(at);
  expect(second.result).toBe("differs");
  expect(second.gateway.faults).toMatchObject([{ orderId: "b" }]);
  expect(alarmsOf(at, "gateway-difference")).toMatchObject([{ orderId: "b" }]);
});

test("a comparison that a crash prevented is made at the next start, once", async () => {
  const { at, buys } = await open();
  await buys("a");
  const { terminalLog } = at.journal;
  const id = terminalLog.beginTelecollection(at.clock.now(), "operator", identity);
  const totals = { receiptFrom: "0042", receiptTo: "0042", count: 1, sumMinor: 999 };
  const end = { end: "completed", applications: [], totals, ticket: "" } as const;
  terminalLog.endTelecollection(id, at.clock.now(), end);
  at.close();
  const again = house(at.path);
  again.start();
  expect(again.journal.reconciliations.list(9, null)[0]).toMatchObject({ result: "agrees" });
  again.start();
  expect(again.journal.reconciliations.list(9, null)).toHaveLength(2);
});

const numbers: readonly (readonly [what: string, numbersDeclines: boolean, jumps: number])[] = [
  ["numbers only sales: the order before a receipt jump is named", false, 1],
  ["numbers declines too: no order is named after a receipt jump", true, 0],
];

test.each(numbers)("a terminal that %s", async (_what, numbersDeclines, jumps) => {
  const { at, terminal, buys } = await open();
  terminal.numbersDeclines = numbersDeclines;
  for (const order of ["1", "2", "3", "4"]) {
    terminal.declines();
    await buys(`declined-${order}`);
    terminal.sells();
    await buys(`sold-${order}`);
  }
  terminal.hides();
  await buys("hidden", 500);
  terminal.sells();
  expect(alarmsOf(at, "receipt-number-missing")).toEqual([]);
  await buys("next");
  expect(alarmsOf(at, "receipt-number-missing")).toHaveLength(jumps);
  if (jumps === 0) return;
  const [found] = at.journal.reconciliations.list(1, null);
  const body = found?.body as JumpBody;
  expect(body).toMatchObject({ missing: 1, suspects: [{ orderId: "hidden" }] });
  expect(await warningsOf(at, "hidden")).toBe(1);
});

test("no receipt jump raises an alarm any more after an end of day refuted one", async () => {
  const { at, terminal, buys } = await open();
  for (const order of ["1", "2", "3", "4"]) {
    terminal.declines();
    await buys(`declined-${order}`);
    terminal.sells();
    await buys(`sold-${order}`);
  }
  const jump = async (name: string): Promise<void> => {
    terminal.numbersDeclines = true;
    terminal.declines();
    await buys(name);
    terminal.sells();
    terminal.numbersDeclines = false;
    await buys(`after-${name}`);
  };
  await jump("one");
  expect(await warningsOf(at, "one")).toBe(1);
  expect((await close(at)).result).toBe("agrees");
  expect(await warningsOf(at, "one")).toBe(0);
  expect(at.journal.reconciliations.list(9, null).map(({ result }) => result)).toContain("refuted");
  for (let n = 0; n < 200; n++) await buys(`many-${n}`);
  await jump("two");
  expect(alarmsOf(at, "receipt-number-missing")).toHaveLength(1);
});

test("the event names an order once even if two of its attempts are suspected", () => {
  const at = house();
  const answered = { told: "failed", chargedElsewhere: false } as const;
  const suspects = ["t-1", "t-2"].map((transactionId) => ({
    orderId: "A-1",
    transactionId,
    amountMinor: 999,
    ...answered,
  }));
  const body: JumpBody = { kind: "receipt-jump", from: "0001", to: "0004", missing: 2, suspects };
  const jump = { atMs: at.clock.now(), closingId: null, result: "jump", body } as const;
  at.journal.reconciliations.keep(jump, "number-missing");
  const events = at.hub.source.after(0, 100).filter(({ name }) => name === "reconciliation");
  expect(events).toMatchObject([{ data: { kind: "receipt-jump", orderIds: ["A-1"] } }]);
});
