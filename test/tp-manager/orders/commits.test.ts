import { expect, test } from "vitest";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { countLog } from "../../support/files/write-ahead-log.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";

/** Longer than a record waits for the next commit that it is written with. */
const IDLE_MS = 1_000;
/** Longer than any time limit of a terminal. */
const AGES_MS = 24 * 60 * 60_000;

/** Longer than an answer waits for a supervisor that is away. */
const AWAY_MS = 10_000;

/** Leaves of the tables and indexes that four commits change, and some of the pages above. */
// The names of every record are kept for ever, by moment and by trace: two pages.
const PAGES_MAX = 30;

const everything = { sinceMs: 0, status: null, limit: 10, before: null };

const commits = ({ path }: House): number => countLog(path).commits;
const pages = ({ path }: House): number => countLog(path).pages;

/** A house with one payment, because the first payment also stores its terminal. */
async function usedHouse(): Promise<House> {
  const at = house();
  await pay(at, request("first"));
  await at.clock.advance(IDLE_MS);
  return at;
}

/** A kill: nothing is written any more, and another process opens the same journal. */
function killed(at: House): House {
  at.close();
  return house(at.path, at.terminal, { clock: new TestClock(at.clock.now()) });
}

test("a payment waits for three commits of the journal; a fourth follows in idleness", async () => {
  const at = await usedHouse();
  const before = commits(at);
  await pay(at, request("A-1"));
  expect(commits(at) - before).toBe(3);
  await at.clock.advance(IDLE_MS);
  expect(commits(at) - before).toBe(4);
  await at.clock.advance(AGES_MS);
  expect(commits(at) - before).toBe(4);
});

test("a payment writes few pages of the journal, what follows in idleness included", async () => {
  const at = await usedHouse();
  const before = pages(at);
  for (const order of ["A-1", "A-2", "A-3", "A-4"]) {
    await pay(at, request(order));
    await at.clock.advance(IDLE_MS);
  }
  expect((pages(at) - before) / 4).toBeLessThanOrEqual(PAGES_MAX);
});

test("in a busy hour what follows an answer is written with the next payment", async () => {
  const at = await usedHouse();
  const before = commits(at);
  for (const order of ["A-1", "A-2", "A-3", "A-4"]) await pay(at, request(order));
  expect(commits(at) - before).toBe(12);
});

test("with a supervisor of an older version a payment waits for one commit more", async () => {
  const at = await usedHouse();
  at.supervisor.isOlder = true;
  const before = commits(at);
  const { body } = await pay(at, request("A-1"));
  expect(body.notificationGatewaySent).toBe(true);
  expect(commits(at) - before).toBeLessThanOrEqual(5);
});

test("a report of a slow terminal is on disk within a second", async () => {
  const at = house();
  const { promise, resolve } = Promise.withResolvers<void>();
  at.terminal.script = async (order, observer) => {
    observer.report(report({ amountMinor: order.amountMinor }));
    observer.ackArrived();
    await promise;
    return { end: "completed", ticket: "" };
  };
  const paid = pay(at, request("A-1"));
  await at.clock.advance(IDLE_MS);
  const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
  const kinds = at.journal.attempts.events(transactionId).map(({ kind }) => kind);
  expect(kinds).toEqual(["report", "acknowledged"]);
  resolve();
  await paid;
});

test("an order that was answered as sent is answered so after a crash too", async () => {
  const first = house();
  const { body } = await pay(first, request("A-1"));
  expect(body.notificationGatewaySent).toBe(true);
  const at = killed(first);
  at.supervisor.reachable = false;
  at.start();
  const lookedUp = at.orders.lookUp("A-1");
  await at.clock.advance(500);
  at.supervisor.reachable = true;
  await at.clock.advance(2_000);
  expect((await lookedUp).delivery).toBe("sent");
});

test("an order answered as sent is answered so even by the first call after a crash", async () => {
  const first = house();
  await pay(first, request("A-1"));
  const at = killed(first);
  at.supervisor.reachable = false;
  const lookedUp = at.orders.lookUp("A-1");
  await at.clock.advance(500);
  at.supervisor.reachable = true;
  await at.clock.advance(2_000);
  expect((await lookedUp).delivery).toBe("sent");
});

/** Pays an order while the supervisor is away. */
async function unsent(at: House, order: string): Promise<void> {
  const paid = at.orders.pay(request(order));
  await at.clock.advance(AWAY_MS);
  expect((await paid).delivery).toBe("pending");
}

/** Pays orders while the supervisor is away, and repeats all of them when it is back. */
async function askedTogether(orders: readonly string[], pending: readonly string[] = []) {
  const at = await usedHouse();
  at.supervisor.reachable = false;
  for (const order of orders) await unsent(at, order);
  const asked = Promise.all(orders.map((order) => at.orders.pay(request(order))));
  await at.clock.advance(0);
  const { supervisor } = at;
  supervisor.reachable = true;
  supervisor.stateOf = (order) => (pending.includes(order) ? "pending" : "sent");
  at.handOff.nudge();
  await at.clock.advance(0);
  const answers = (await asked).map(({ delivery }) => delivery);
  expect(at.journal.statements.waiting.isEmpty).toBe(false);
  return { first: at, answers };
}

test.each([
  ["two", ["A", "B"], []],
  ["three, one of them not sent", ["A", "B", "C"], ["B"]],
])("orders answered together are answered so after a crash: %s", async (_n, orders, pending) => {
  const { first, answers } = await askedTogether(orders, pending);
  const deliveries = orders.map((order) => (pending.includes(order) ? "pending" : "sent"));
  expect(answers).toEqual(deliveries);
  const at = killed(first);
  at.supervisor.stateOf = first.supervisor.stateOf;
  at.supervisor.reachable = false;
  at.start();
  const lookedUp = Promise.all(orders.map((order) => at.orders.lookUp(order)));
  await at.clock.advance(500);
  at.supervisor.reachable = true;
  await at.clock.advance(2_000);
  expect((await lookedUp).map(({ delivery }) => delivery)).toEqual(deliveries);
});

test("an answered delivery is known again after a crash by the hand-off alone", async () => {
  const { first } = await askedTogether(["A", "B", "C"]);
  const at = killed(first);
  at.start();
  await at.clock.advance(IDLE_MS);
  at.supervisor.reachable = false;
  for (const order of ["A", "B", "C"]) {
    const lookedUp = at.orders.lookUp(order);
    await at.clock.advance(AWAY_MS);
    expect((await lookedUp).delivery).toBe("sent");
  }
});

test.each([
  ["its ACK was heard and not yet written", true],
  ["its ACK was not heard", false],
])("an unchanged storage proves nothing after a kill when %s", async (_when, isHeard) => {
  const first = house();
  first.terminal.script = (order, observer) => {
    observer.report(report({ amountMinor: order.amountMinor }));
    if (isHeard) observer.ackArrived();
    return new Promise(() => {});
  };
  void pay(first, request("A-1"));
  await first.clock.advance(0);
  const at = killed(first);
  at.terminal.script = approves;
  at.start();
  await at.clock.advance(AGES_MS);
  expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
  const again = pay(at, request("A-1"));
  await at.clock.advance(AGES_MS);
  expect(outcome(await again)).toBe("Unknown");
});

test("a full disk stops no lookup of an order and no hand-off", async () => {
  const at = await usedHouse();
  await pay(at, request("A-1"));
  at.journal.database.exec(`CREATE TEMP TRIGGER full BEFORE UPDATE ON main.hand_off
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
  for (const order of ["first", "A-1"]) {
    const { attempt, delivery } = await at.orders.lookUp(order);
    expect([attempt.state.phase, delivery]).toEqual(["charged", "sent"]);
  }
  expect(at.journal.attempts.list(everything)).toHaveLength(2);
  at.handOff.nudge();
  await at.clock.advance(IDLE_MS);
  expect(at.supervisor.stored).toHaveLength(2);
  at.journal.database.exec("DROP TRIGGER full");
  await at.clock.advance(IDLE_MS);
  expect(at.journal.statements.waiting.isEmpty).toBe(true);
});
