import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { codeOf } from "../../../src/tp-manager/attempts/payment.ts";
import { alarms, type House, house, pay } from "../../support/house/payment-house.ts";
import {
  approved,
  broken,
  decided,
  deliver,
  deliverAfterProof,
  found,
  held,
  mayBeOut,
  noGoods,
  raised,
  reversal,
  silent,
  twoPhase,
  uncharged,
  withheld,
} from "../../support/house/two-phase-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { aborted, lost } from "../../support/terminals/scripted-terminal.ts";

/** What a kiosk reports too late about the goods of an approved sale (docs/design.md 5.12). */

test("without a report in time the goods may have come out: no second sale", async () => {
  const at = await silent();
  const { attempt, ...order } = await found(at);
  expect(order).toMatchObject({ ...uncharged, error: mayBeOut, late: [] });
  // The previous version, which does not know the code, has one that it can answer.
  expect(attempt.state).toMatchObject({ outcome: { error: "GOODS_NOT_DELIVERED" } });
  const events = at.hub.source.after(0, 99);
  const last = events.findLast(({ name }) => name === "payment");
  expect(last?.data).toMatchObject({ state: "cancelled", error: "DELIVERY_UNCONFIRMED" });
  expect(alarms(at)).toEqual([]);
});

test("a late report of goods is refused, kept and alarmed, once, and the end stays", async () => {
  const at = await silent();
  const { attempt: ended } = await found(at);
  await at.clock.advance(60_000);
  for (let times = 0; times < 2; times += 1) {
    await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
    expect(alarms(at)).toEqual(["delivered-without-charge"]);
    const { attempt, ...order } = await found(at);
    expect(order).toMatchObject({ ...uncharged, error: mayBeOut, late: [{ goods: "issued" }] });
    expect(attempt.endedAtMs).toBe(ended.endedAtMs);
  }
  expect(at.terminal.decisions).toEqual([{ goods: "not-issued" }]);
  at.close();
  const { attempt } = await found(house(at.path));
  expect(attempt.endedAtMs).toBe(ended.endedAtMs);
});

test("a late report of no goods is the answer, and is kept without an alarm", async () => {
  const at = await silent();
  for (let times = 0; times < 2; times += 1) {
    const { http, body } = await deliver(at, false);
    expect({ http, status: body.status }).toEqual(uncharged);
    expect(body.error).toMatchObject(noGoods);
  }
  expect(await found(at)).toMatchObject({ error: noGoods, late: [{ goods: "not-issued" }] });
  expect(alarms(at)).toEqual([]);
});

test("the order follows what the kiosk reported last about the goods", async () => {
  const at = await approved();
  expect((await deliver(at, false)).body.error).toMatchObject(noGoods);
  expect((await found(at)).late).toEqual([]);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect((await deliver(at, false)).body.error).toMatchObject(noGoods);
  expect((await found(at)).late).toEqual([{ goods: "issued" }, { goods: "not-issued" }]);
  expect(alarms(at)).toEqual(["delivered-without-charge"]);
});

test.each([true, false])("a report (%s) while the terminal reverses is kept too", async (out) => {
  const { at, ends } = await held();
  await at.clock.advance(30_000);
  const answer = deliver(at, out);
  answer.catch(() => undefined);
  await at.clock.advance(1_000);
  expect((await found(at)).late).toEqual([]);
  ends(aborted);
  if (out) await expect(answer).rejects.toMatchObject(decided("no"));
  else expect((await answer).body.error).toMatchObject(noGoods);
  const late = [{ goods: out ? "issued" : "not-issued" }];
  expect(await found(at)).toMatchObject({ error: out ? mayBeOut : noGoods, late });
});

test("goods that cross the terminal's giving up are alarmed once", async () => {
  const at = await approved((_decision, resolve) => resolve(aborted));
  at.giveUp();
  for (let times = 0; times < 2; times += 1) {
    await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
    expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut, late: [] });
    expect(alarms(at)).toEqual(["delivered-without-charge"]);
  }
});

test("goods whose charge was lost with the line are alarmed when that is proved", async () => {
  const at = await approved((_decision, resolve) => resolve(lost("line broken")));
  expect((await deliver(at, true)).body.status).toBe("Unknown");
  expect(alarms(at)).toEqual([]);
  at.terminal.last = { kind: "transaction", report: reversal };
  await at.clock.advance(225_000);
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(alarms(at)).toEqual(["delivered-without-charge"]);
});

test("a report after a restart is answered when the terminal was probed, and kept", async () => {
  const before = await approved();
  before.close();
  const at = house(before.path);
  at.terminal.last = { kind: "transaction", report: reversal };
  at.start();
  const answer = deliver(at, true);
  const refused = expect(answer).rejects.toMatchObject(decided("no"));
  await at.clock.advance(225_000);
  await refused;
  const late = [{ goods: "issued" }];
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut, late });
  expect(alarms(at)).toEqual(["delivered-without-charge"]);
});

/** The sale whose line is lost with the approval; the terminal does not report what it stored. */
async function unheard() {
  const at = house();
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, twoPhase);
  await at.clock.advance(30_000);
  return at;
}

test("a report about an order in doubt is kept and alarmed, and changes no money", async () => {
  const at = await unheard();
  await expect(deliver(at, true)).rejects.toMatchObject(decided("unknown"));
  expect(await found(at)).toMatchObject({ status: "Unknown", late: [{ goods: "issued" }] });
  expect(alarms(at)).toContain("delivered-without-charge");
  await at.settle({ orderId: "A-1", outcome: "charged", note: "seen on the receipt" });
  expect((await found(at)).status).toBe("Success");
});

test("no goods, reported while the order is in doubt, leave it free to be paid again", async () => {
  const at = await unheard();
  await expect(deliver(at, false)).rejects.toMatchObject(decided("unknown"));
  const { body } = await deliverAfterProof(at, false);
  expect(body).toMatchObject({
    status: "Failed",
    error: { code: "TERMINAL_FAULT", retry: "safe" },
  });
  expect(await found(at)).toMatchObject({ late: [{ goods: "not-issued" }] });
  expect(raised(at)).toEqual([]);
});

test("goods, reported while the order is in doubt, end it as goods that may be out", async () => {
  const at = await broken();
  expect((await deliver(at, false)).body.status).toBe("Unknown");
  await at.clock.advance(30_000);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("unknown"));
  await expect(deliverAfterProof(at, true)).rejects.toMatchObject(decided("no"));
  const late = [{ goods: "issued" }];
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut, late });
  expect(raised(at)).toHaveLength(1);
});

test("goods, reported after the proof, end the order as goods that may be out", async () => {
  const at = await approved((_decision, resolve) => resolve(lost("line broken")));
  at.terminal.last = { kind: "transaction", report: reversal };
  expect((await deliver(at, false)).body.status).toBe("Unknown");
  await at.clock.advance(225_000);
  expect((await found(at)).error).toMatchObject({ code: "TERMINAL_FAULT", retry: "safe" });
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(1);
  expect((await deliver(at, false)).body.error).toMatchObject(noGoods);
});

test("an operator's finding about goods that may be out is no reason to buy again", async () => {
  const at = await broken();
  expect((await deliver(at, true)).body.status).toBe("Unknown");
  await at.settle({ orderId: "A-1", outcome: "not_charged", note: "seen on the receipt" });
  expect(await found(at)).toMatchObject({ ...uncharged, error: mayBeOut });
  expect(raised(at)).toHaveLength(1);
  await at.settle({ orderId: "A-1", outcome: "charged", note: "seen at the bank" });
  expect((await found(at)).status).toBe("Success");
});

test("a late report about a reversed order withdraws and alarms nothing again", async () => {
  const at = await approved();
  const { transactionId } = (await deliver(at, true)).body;
  at.terminal.stores(report());
  await at.afterSale.reverse("A-1");
  await at.clock.advance(60_000);
  const noted = { transactionId: String(transactionId), returnedMinor: 999 };
  at.journal.returns.noteReturns([noted], at.clock.now());
  const before = [...alarms(at)];
  expect(at.supervisor.withdrawn).toEqual([transactionId]);
  await expect(deliver(at, false)).rejects.toMatchObject(decided("no"));
  at.handOff.nudge();
  await at.clock.advance(60_000);
  expect(await found(at)).toMatchObject({ status: "Reversed", late: [{ goods: "not-issued" }] });
  expect(at.supervisor.withdrawn).toEqual([transactionId]);
  expect(alarms(at)).toEqual(before);
});

test("an alarm that was lost with the process is raised by the repeated report", async () => {
  const before = await approved((_decision, resolve) => resolve(aborted));
  before.giveUp();
  await expect(deliver(before, true)).rejects.toMatchObject(decided("no"));
  before.close();
  const database = new DatabaseSync(before.path);
  database.exec("DELETE FROM event WHERE name = 'alarm'");
  database.close();
  const at = house(before.path);
  for (let times = 0; times < 2; times += 1) {
    await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
    expect(alarms(at)).toEqual(["delivered-without-charge"]);
  }
});

test("no goods after the charge are kept, and the order stays charged", async () => {
  const at = await approved();
  expect((await deliver(at, true)).body.status).toBe("Success");
  const { attempt: charged } = await found(at);
  await at.clock.advance(60_000);
  await expect(deliver(at, false)).rejects.toMatchObject(decided("yes"));
  const { attempt, status, late } = await found(at);
  expect([status, late]).toEqual(["Success", [{ goods: "not-issued" }]]);
  expect({ ...attempt, events: [] }).toEqual({ ...charged, events: [] });
  expect([at.supervisor.stored.length, at.supervisor.withdrawn]).toEqual([1, []]);
  expect(alarms(at)).toEqual([]);
});

test("a cancel is the kiosk's report of no goods, and a stop is none", async () => {
  const ends = [
    [noGoods, (at: House) => at.arbiter.running.cancel()],
    [mayBeOut, (at: House) => at.arbiter.stop()],
  ] as const;
  for (const [error, end] of ends) {
    const at = await approved();
    const ended = end(at);
    await at.clock.advance(10_000);
    await ended;
    expect(await found(at)).toMatchObject({ ...uncharged, error });
  }
});

test("a late report that cannot be written is not answered as if it were", async () => {
  const at = await silent();
  const { update } = at.journal.attempts;
  at.journal.attempts.update = () => {
    throw new Error("the disk is full");
  };
  for (const out of [true, false]) {
    await expect(deliver(at, out)).rejects.toMatchObject({ code: "STORAGE_FAILED", charged: "no" });
  }
  at.journal.attempts.update = update;
  expect((await found(at)).late).toEqual([]);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  expect((await found(at)).late).toEqual([{ goods: "issued" }]);
});

test.each([
  ["may be out", mayBeOut, silent],
  ["did not come out", noGoods, withheld],
])("a report about an archived order whose goods %s is alarmed at most once", async (...row) => {
  const [, error, ended] = row;
  const at = await ended();
  at.journal.archive.putAway(at.clock.now() + 1, 100);
  expect((await deliver(at, false)).body.error).toMatchObject(error);
  expect(alarms(at)).toEqual([]);
  for (let times = 0; times < 2; times += 1) {
    await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
    expect(alarms(at)).toEqual(["delivered-without-charge"]);
  }
});

test("a code that only a newer version knows is answered by the older one next to it", () => {
  const outcome = { status: "failed", error: "TERMINAL_FAULT", message: "", terminalCode: null };
  const tomorrow = { ...outcome, newer: "A_CODE_OF_TOMORROW" } as never;
  expect(codeOf(tomorrow)).toBe("TERMINAL_FAULT");
});

test("an order that was never approved keeps its reason, and late goods are alarmed", async () => {
  const at = house();
  at.terminal.script = () => Promise.resolve({ ...aborted, reason: "declined" });
  await pay(at, twoPhase);
  expect((await deliver(at, false)).body.error).toMatchObject({ code: "PAYMENT_DECLINED" });
  expect((await found(at)).late).toEqual([]);
  await expect(deliver(at, true)).rejects.toMatchObject(decided("no"));
  expect(await found(at)).toMatchObject({ error: { code: "PAYMENT_DECLINED" } });
  expect(alarms(at)).toEqual(["delivered-without-charge"]);
});
