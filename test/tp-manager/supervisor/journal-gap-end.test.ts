import { expect, onTestFinished, test } from "vitest";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { noOrder } from "../../supervisor/recording-gateway.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import {
  expectRefused,
  expectSold,
  type Kiosk,
  kiosk,
  type Manager,
  restart,
} from "../../support/house/two-store-kiosk.ts";
import { removeStore, supervisorIn } from "../../support/house/two-stores.ts";
import { baseline } from "../../support/terminals/reports.ts";

/** How long the program runs before an end of day closes a gap. */
const GAP_MIN_MS = 24 * 3_600_000;

/** Both databases are gone; only the gateway has order A, for which 9.99 were paid. */
async function bothLost(): Promise<Kiosk> {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  await at.seat.rig?.stop();
  removeStore(at.folder, "journal");
  removeStore(at.folder, "supervisor");
  at.seat.rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  restart(at);
  const known = '{"id":"A","amount":"9.99","currency":"EUR","custom_data":{"transactionId":"x"}}';
  at.server.lookUp = ({ path }) => (path.endsWith("/A") ? { status: 200, body: known } : noOrder);
  return at;
}

/** The journal is gone, and with it the terminal's last sale, of 4.20. */
async function journalLost(change: { resultCode?: string | null } = {}): Promise<Kiosk> {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  at.till.last = { ...at.till.next(420), ...change };
  removeStore(at.folder, "journal");
  restart(at);
  return at;
}

/** The terminal has nothing stored any more, as an end of day leaves it. */
async function endOfDay({ manager, till, clock }: Kiosk): Promise<void> {
  // An end of day ends no journal gap before the supervisor's orders are imported.
  const isImported = async (): Promise<boolean> => {
    await clock.advance(100);
    return manager.guard.open?.isImported ?? true;
  };
  await expect.poll(isImported, { interval: 2 }).toBe(true);
  await manager.upkeep.telecollect();
  till.last = undefined;
  manager.terminal.last = { kind: "none" };
  manager.terminal.baseline = { ...baseline, last: { kind: "none" } };
}

test("after an end of day an order that only the gateway knows is still looked up", async () => {
  const at = await bothLost();
  await expectSold(at, "B", 500);
  await endOfDay(at);
  // Another amount, so that the lookup alone can know the order.
  await expectRefused(at, "A", "STORES_DISAGREE", 700);
  await expectSold(at, "C", 700);
  restart(at);
  await expectRefused(at, "A", "STORES_DISAGREE", 700);
});

test("an order that was not charged before the loss is answered as unknown after it", async () => {
  const at = await kiosk();
  const { terminal, orders, guard } = at.manager;
  terminal.script = () => Promise.resolve({ end: "refused", code: "83", text: "not possible" });
  await pay(at.manager, request("A"));
  expect((await orders.lookUp("A")).attempt.state.phase).toBe("not-charged");
  await at.clock.advance(1_000);
  guard.begin("both were put back", true);
  const unknown = { code: "STORES_DISAGREE", charged: "unknown" };
  await expect(orders.lookUp("A")).rejects.toMatchObject(unknown);
  at.till.at(terminal);
  await expectSold(at, "A");
  expect((await orders.lookUp("A")).attempt.state.phase).toBe("charged");
});

test("a journal gap ends a day after it began, but not before an end of day", async () => {
  const at = await bothLost();
  await expectSold(at, "B", 500);
  await at.clock.advance(GAP_MIN_MS);
  expect(at.manager.guard.open).toBeDefined();
  await expectRefused(at, "A", "STORES_DISAGREE", 700);
  await endOfDay(at);
  expect(at.manager.guard.open).toBeUndefined();
});

test("a wall clock that is set ends no journal gap, the program's running time does", async () => {
  const at = await bothLost();
  await expectSold(at, "B", 500);
  await endOfDay(at);
  at.clock.jumpWallClock(30 * 3_600_000);
  await at.clock.advance(1_000);
  await expectRefused(at, "A", "STORES_DISAGREE", 700);
  for (const _ of [1, 2, 3]) {
    // The machine is switched off at night, and its clock is then set back.
    await at.clock.advance(GAP_MIN_MS / 3 - 600_000);
    restart(at);
    at.clock.jumpWallClock(-12 * 3_600_000);
    expect(at.manager.guard.open).toBeDefined();
  }
  await at.clock.advance(3 * 600_000);
  expect(at.manager.guard.open).toBeUndefined();
});

test("a journal gap whose end of day came early ends when its day is over", async () => {
  const at = await bothLost();
  await expectSold(at, "B", 500);
  await endOfDay(at);
  await at.clock.advance(GAP_MIN_MS - 600_000);
  expect(at.manager.guard.open).toBeDefined();
  await at.clock.advance(600_000);
  expect(at.manager.guard.open).toBeUndefined();
});

test("a journal gap ends in its time although it could not be read for a moment", async () => {
  const at = await bothLost();
  await endOfDay(at);
  const { gaps } = at.manager.journal;
  const open = gaps.open.bind(gaps);
  gaps.open = () => {
    throw new Error("disk I/O error");
  };
  await at.clock.advance(600_000);
  gaps.open = open;
  await at.clock.advance(GAP_MIN_MS);
  expect(at.manager.guard.open).toBeUndefined();
});

test("the idempotency keys of an imported order are unknown, whatever the clock says", async () => {
  const at = await kiosk();
  at.clock.jumpWallClock(2 * 3_600_000);
  await expectSold(at, "A");
  at.clock.jumpWallClock(-2 * 3_600_000);
  const idOf = (orderId: string) =>
    at.manager.journal.attempts.decisive(orderId)?.transactionId ?? "";
  expect(at.manager.journal.returns.neverAsked(idOf("A"), "k")).toBe(true);
  at.manager.close();
  removeStore(at.folder, "journal");
  restart(at);
  await takenOver(at);
  await expectSold(at, "B", 500);
  const { returns } = at.manager.journal;
  expect([idOf("A"), idOf("B")].map((id) => returns.neverAsked(id, "k"))).toEqual([false, true]);
});

test("an operator's decision ends a journal gap within the day", async () => {
  const at = await bothLost();
  await endOfDay(at);
  expect(at.manager.guard.accept()).toBe(true);
  expect(at.manager.guard.open).toBeUndefined();
});

test("a second loss begins the day of a journal gap again", async () => {
  const at = await bothLost();
  await expectSold(at, "B", 500);
  await at.clock.advance(GAP_MIN_MS - 600_000);
  at.manager.guard.begin("it was lost again");
  await endOfDay(at);
  await at.clock.advance(600_000);
  expect(at.manager.guard.open).toBeDefined();
});

test("in a journal gap a last transaction without a result code counts as a sale", async () => {
  const at = await journalLost({ resultCode: null });
  at.till.last = at.till.last && { ...at.till.last, good: false };
  at.till.show(at.manager.terminal);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  await expectSold(at, "C", 100);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
});

test("in a journal gap a last transaction that is not good stops no sale", async () => {
  const at = await journalLost({ resultCode: "6c" });
  at.till.last = at.till.last && { ...at.till.last, good: false };
  at.till.show(at.manager.terminal);
  await expectSold(at, "B", 420);
});

test("a last transaction without a result code begins no journal gap by itself", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  at.till.last = { ...at.till.next(420), resultCode: null, good: false };
  at.till.show(at.manager.terminal);
  await expectSold(at, "B", 420);
  expect(at.manager.guard.open).toBeUndefined();
});

test("after an end of day an unmatched sale still stops payments of its amount", async () => {
  const at = await journalLost();
  await endOfDay(at);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  await expectSold(at, "C", 100);
  restart(at);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
});

const locked = (): TerminalUnavailable =>
  new TerminalUnavailable("out-of-order", "locked until its end of day");

/** The terminal accepts no cards until its end of day. */
function lock({ terminal }: Manager): void {
  terminal.prepare = () => Promise.reject(locked());
}

test("in a journal gap a locked terminal is probed before its end of day", async () => {
  const at = await journalLost();
  const { prepare } = at.manager.terminal;
  lock(at.manager);
  await endOfDay(at);
  at.manager.terminal.prepare = prepare;
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
});

test("a locked terminal that refuses the probe has its end of day all the same", async () => {
  const at = await journalLost();
  lock(at.manager);
  at.manager.terminal.lastTransaction = () => Promise.reject(locked());
  await endOfDay(at);
  expect(at.manager.guard.open?.ofNoOrder).toEqual([]);
});

test("no end of day runs while a locked terminal cannot be probed for lack of a line", async () => {
  const at = await journalLost();
  lock(at.manager);
  at.manager.terminal.lastTransaction = () =>
    Promise.reject(new TerminalUnavailable("disconnected", "no line"));
  await expect(endOfDay(at)).rejects.toMatchObject({ code: "TERMINAL_DISCONNECTED" });
});

/** The terminal answers whatever it is asked, but not what it has stored last. */
function silence({ terminal }: Manager): void {
  terminal.lastTransaction = (signal) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
}

async function takenOver({ manager, clock }: Kiosk): Promise<void> {
  const isImported = () => clock.advance(100).then(() => manager.guard.open?.isImported);
  await expect.poll(isImported, { interval: 2 }).toBe(true);
}

test("a locked terminal that does not answer the probe sells again in five minutes", async () => {
  const at = await journalLost();
  const { manager, clock } = at;
  const { terminal } = manager;
  const { prepare } = terminal;
  const { status } = terminal.state;
  lock(manager);
  silence(manager);
  await takenOver(at);
  let isClosed = false;
  terminal.telecollect = () => {
    isClosed = true;
    terminal.prepare = prepare;
    terminal.become({ demands: [], status });
    return Promise.resolve(terminal.telecollection);
  };
  terminal.become({ demands: ["end-of-day"], status: status && { ...status, cr: "2" } });
  manager.closing.start();
  onTestFinished(() => manager.closing.close());
  for (let second = 0; second < 300 && !isClosed; second++) await clock.advance(1_000);
  expect(isClosed).toBe(true);
  expect(manager.guard.open).toBeDefined();
  await expectSold(at, "C", 100);
});

test("a locked terminal that answers late is probed before its end of day", async () => {
  const at = await journalLost();
  const { manager, clock } = at;
  const { lastTransaction } = manager.terminal;
  lock(manager);
  silence(manager);
  await takenOver(at);
  for (const _ of [1, 2]) {
    const asked = manager.upkeep.telecollect().catch((error: unknown) => error);
    await clock.advance(20_000);
    expect(await asked).toMatchObject({ code: "TERMINAL_NO_ANSWER" });
  }
  manager.terminal.lastTransaction = lastTransaction;
  await manager.upkeep.telecollect();
  expect(manager.guard.open?.ofNoOrder).toHaveLength(1);
});

test("without a journal gap an end of day sends no probe", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  lock(at.manager);
  const { probes } = at.manager.terminal;
  await endOfDay(at);
  expect(at.manager.terminal.probes).toBe(probes);
});

test("a loss that an operator has accepted is no journal gap again at the next start", async () => {
  const at = await journalLost();
  const isImported = async (): Promise<boolean> => {
    await at.clock.advance(100);
    return at.manager.guard.open?.isImported ?? false;
  };
  await expect.poll(isImported, { interval: 2 }).toBe(true);
  expect(at.manager.guard.accept()).toBe(true);
  restart(at);
  await expectSold(at, "B", 500);
  expect(at.manager.guard.open).toBeUndefined();
});
