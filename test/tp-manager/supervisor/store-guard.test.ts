import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noOrder } from "../../supervisor/recording-gateway.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import {
  alarms,
  expectRefused,
  expectReplayed,
  expectSold,
  type Kiosk,
  kiosk,
  type Manager,
  restart,
  sell,
} from "../../support/house/two-store-kiosk.ts";
import { copyStore, removeStore, supervisorIn } from "../../support/house/two-stores.ts";
import { baseline } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

/** How long the program runs before an end of day closes a gap. */
const GAP_MIN_MS = 24 * 3_600_000;

const ways: ReadonlyArray<readonly [string, (folder: string) => void]> = [
  ["missing", (folder) => removeStore(folder, "journal")],
  [
    "empty",
    (folder) => {
      removeStore(folder, "journal");
      writeFileSync(join(folder, "journal.db"), "");
    },
  ],
  [
    "removed with all files of its name",
    (folder) => {
      for (const file of readdirSync(folder).filter((name) => name.startsWith("journal"))) {
        rmSync(join(folder, file));
      }
    },
  ],
];

test.each(ways)("after a journal that is %s no order is charged twice", async (_, lose) => {
  const at = await kiosk();
  await expectSold(at, "A");
  await expectSold(at, "B");
  await at.manager.afterSale.reverse("B");
  at.manager.close();
  lose(at.folder);
  const manager = restart(at);
  expect(manager.guard.open).toBeDefined();
  expect(alarms(manager)).toContain("journal-lost");
  await expectReplayed(at, "A");
  await expectRefused(at, "B", "ORDER_REVERSED");
  await expectSold(at, "C");
  const { attempts } = await manager.orders.lookUp("A");
  const imported = "the order was taken over from the supervisor";
  expect(attempts.at(-1)?.request.warnings.join()).toContain(imported);
});

test("a write-ahead log next to an empty journal is kept under another name", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  const copies = temporaryFolder();
  copyStore(at.folder, copies, "journal");
  at.manager.close();
  copyStore(copies, at.folder, "journal");
  expect(statSync(join(at.folder, "journal.db-wal")).size).toBeGreaterThan(0);
  truncateSync(join(at.folder, "journal.db"));
  restart(at);
  await expectReplayed(at, "A");
  const kept = readdirSync(at.folder).filter((name) => name.startsWith("journal.db-wal.orphan-"));
  expect(kept).toHaveLength(1);
});

test("an older journal imports the orders that were paid and dropped since", async () => {
  const at = await kiosk();
  const copies = temporaryFolder();
  await expectSold(at, "A");
  at.manager.journal.store.copied();
  copyStore(at.folder, copies, "journal");
  at.manager.journal.store.copied();
  await expectSold(at, "B");
  at.server.behave = () => ({ status: 503 });
  await expectSold(at, "C");
  const dropped = at.manager.journal.attempts.decisive("C")?.transactionId ?? "";
  await expect
    .poll(() => at.seat.rig?.admin.drop(dropped, "not wanted", at.clock.now()))
    .toBe("dropped");
  at.manager.close();
  copyStore(copies, at.folder, "journal");
  const manager = restart(at);
  expect(manager.guard.open?.because).toContain("older copy");
  for (const orderId of ["A", "B", "C"]) await expectReplayed(at, orderId);
  const delivery = (orderId: string) =>
    manager.journal.handOffs.handOff(
      manager.journal.attempts.decisive(orderId)?.transactionId ?? "",
    )?.delivery;
  expect(["A", "B", "C"].map(delivery)).toEqual(["sent", "sent", "closed"]);
});

test.each([
  ["that the supervisor has", true],
  ["that was never handed off", false],
])("an order in doubt is not proved charged with a later sale %s", async (_, isHandedOff) => {
  const at = await kiosk();
  const copies = temporaryFolder();
  await expectSold(at, "A");
  at.manager.terminal.script = () => Promise.resolve(lost("the line broke"));
  const unknown = pay(at.manager, request("X"));
  await at.clock.advance(0);
  copyStore(at.folder, copies, "journal");
  at.manager.journal.store.copied();
  await at.clock.advance(400_000);
  expect((await unknown).body.status).toBe("Unknown");
  expect(at.manager.journal.attempts.decisive("X")?.state.phase).toBe("not-charged");
  at.till.at(at.manager.terminal);
  const { rig } = at.seat;
  if (!isHandedOff) at.seat.rig = undefined;
  await expectSold(at, "Y");
  at.seat.rig = rig;
  at.manager.close();
  copyStore(copies, at.folder, "journal");
  const manager = restart(at);
  expect(manager.journal.attempts.decisive("X")?.state.phase).toBe("in-doubt");
  manager.start();
  await at.clock.advance(400_000);
  expect(manager.terminal.probes).toBeGreaterThan(0);
  expect(manager.journal.attempts.decisive("X")?.state.phase).toBe("in-doubt");
});

test("without journal and supervisor no card is charged, no order answered as unpaid", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  removeStore(at.folder, "journal");
  const { rig } = at.seat;
  at.seat.rig = undefined;
  restart(at);
  const refused = await expectRefused(at, "A", "STORES_DISAGREE");
  expect(refused.charged).toBe("unknown");
  await expect(at.manager.orders.lookUp("A")).rejects.toMatchObject({
    code: "STORES_DISAGREE",
    charged: "unknown",
  });
  at.seat.rig = rig;
  await expectReplayed(at, "A");
  await expect(at.manager.orders.lookUp("nobody's")).rejects.toMatchObject({
    code: "ORDER_NOT_FOUND",
    charged: "unknown",
  });
});

test("an import goes on after the journal could not be read for a moment", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  removeStore(at.folder, "journal");
  const { rig } = at.seat;
  at.seat.rig = undefined;
  const { journal, orders } = restart(at);
  const open = journal.gaps.open.bind(journal.gaps);
  let isReadable = false;
  journal.gaps.open = () => {
    if (isReadable) return open();
    throw new Error("disk I/O error");
  };
  expect(orders.chargedOfOrder("B")).toBe("unknown");
  const unread = { code: "STORAGE_FAILED", charged: "unknown" };
  await expect(orders.lookUp("B")).rejects.toMatchObject(unread);
  expect(() => orders.decisive("B")).toThrow(expect.objectContaining(unread));
  await at.clock.advance(60_000);
  at.seat.rig = rig;
  isReadable = true;
  await at.clock.advance(60_000);
  await expect.poll(() => open()?.isImported).toBe(true);
  await expectReplayed(at, "A");
});

test("a journal gap that cannot be read when it begins is alarmed and imported", async () => {
  const at = await kiosk();
  const { guard, journal } = at.manager;
  const { gaps } = journal;
  const [open, begin] = [gaps.open.bind(gaps), gaps.begin.bind(gaps)];
  gaps.begin = (...given) => {
    begin(...given);
    gaps.open = () => {
      gaps.open = open;
      throw new Error("disk I/O error");
    };
  };
  guard.begin("of a test");
  expect(alarms(at.manager)).toEqual(["journal-lost"]);
  const whole = guard.whole(new AbortController().signal);
  expect(whole).toBeDefined();
  await expect.poll(() => at.clock.advance(100).then(() => open()?.isImported)).toBe(true);
  await whole;
});

test("a lost journal's orders come from the gateway when supervisor.db is lost too", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  await at.seat.rig?.stop();
  removeStore(at.folder, "journal");
  removeStore(at.folder, "supervisor");
  at.seat.rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  restart(at);
  at.till.last = undefined;
  at.manager.terminal.baseline = baseline;
  at.manager.terminal.last = baseline.last;
  const known = '{"id":"A","amount":"9.99","currency":"EUR","custom_data":{"transactionId":"x"}}';
  at.server.lookUp = ({ path }) => (path.endsWith("/A") ? { status: 200, body: known } : noOrder);
  expect((await expectRefused(at, "A", "STORES_DISAGREE", 500)).message).toContain("the gateway");
  at.server.lookUp = () => ({ status: 503 });
  await expectRefused(at, "B", "STORES_DISAGREE", 700);
  at.server.lookUp = () => noOrder;
  await expectSold(at, "B", 700);
});

test("an unmatched sale after a loss stops only payments of its own amount", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  const lostSale = at.till.next(420);
  removeStore(at.folder, "journal");
  const manager = restart(at);
  const refused = await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  expect(refused.details).toMatchObject({ receiptNumber: lostSale.receiptNumber });
  await expectSold(at, "C", 100);
  // The amount is still refused, although the terminal shows another sale now.
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  restart(at);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  expect(at.manager.guard.accept()).toBe(true);
  expect(at.manager.guard.open).toBeUndefined();
  await expectSold(at, "B", 420);
  expect(manager).not.toBe(at.manager);
});

test("a journal gap ends a day after the loss by an end of day that ran since then", async () => {
  const at = await kiosk();
  await at.manager.upkeep.telecollect();
  await expectSold(at, "A");
  at.manager.close();
  removeStore(at.folder, "journal");
  restart(at);
  at.till.next(420);
  at.till.show(at.manager.terminal);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  await at.manager.upkeep.telecollect();
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  await at.clock.advance(GAP_MIN_MS);
  expect(at.manager.guard.open).toBeUndefined();
  await expectSold(at, "B", 420);
});

/** Both databases as a moment has them. */
function imageOf({ folder }: Kiosk): string {
  const image = temporaryFolder();
  for (const name of ["journal", "supervisor"]) copyStore(folder, image, name);
  return image;
}

/** Restores the image of a whole machine, with the files next to its databases. */
async function putBack(at: Kiosk, image: string): Promise<Manager> {
  at.manager.close();
  await at.seat.rig?.stop();
  for (const name of ["journal", "supervisor"]) copyStore(image, at.folder, name);
  rmSync(join(at.folder, "stores"), { recursive: true });
  at.seat.rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  const manager = restart(at);
  expect(manager.guard.open).toBeUndefined();
  return manager;
}

test("two databases restored at once are noticed by the terminal's last sale", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  const image = imageOf(at);
  await expectSold(at, "B", 420);
  const manager = await putBack(at, image);
  await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", 420);
  expect(alarms(manager)).toContain("journal-lost");
  await expectSold(at, "C", 100);
});

type Script = Manager["terminal"]["script"];
const declines: Script = () =>
  Promise.resolve({ end: "aborted", code: "05", text: "no", reason: "declined", ticket: "" });

/** X for 9.99 is not reported as charged, and may still be running. */
async function notSold(at: Kiosk, script: Script): Promise<void> {
  at.manager.terminal.script = script;
  void pay(at.manager, request("X"));
  await at.clock.advance(0);
}

test.each([
  ["a sale", () => Promise.resolve()],
  ["a reversal", (at: Kiosk) => at.manager.afterSale.reverse("A")],
  ["a decline", (at: Kiosk) => notSold(at, declines)],
  ["an order in doubt", (at: Kiosk) => notSold(at, () => Promise.resolve(lost("the line broke")))],
])("two databases restored after %s are noticed by a later reversal", async (_, last) => {
  const at = await kiosk();
  await expectSold(at, "A");
  await last(at);
  const image = imageOf(at);
  await at.clock.advance(400_000);
  at.till.at(at.manager.terminal);
  await expectSold(at, "B", 420);
  await expectSold(at, "C", 100);
  await at.manager.afterSale.reverse("C");
  const manager = await putBack(at, image);
  const known = '{"id":"B","amount":"4.20","currency":"EUR","custom_data":{"transactionId":"x"}}';
  at.server.lookUp = ({ path }) => (path.endsWith("/B") ? { status: 200, body: known } : noOrder);
  await expectRefused(at, "B", "STORES_DISAGREE", 420);
  expect(alarms(manager)).toContain("journal-lost");
  await expectRefused(at, "B", "STORES_DISAGREE", 420);
  // The reversed sale's amount can be sold again, and an operator's decision stands.
  await expectSold(at, "D", 100);
  expect(manager.guard.accept()).toBe(true);
  await expectSold(at, "E", 100);
});

test("the reversal of a sale that the journal knows begins no journal gap", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  await expectSold(at, "B", 420);
  await at.manager.afterSale.reverse("B");
  const manager = await putBack(at, imageOf(at));
  await expectSold(at, "C", 100);
  expect(manager.guard.open).toBeUndefined();
});

test.each([
  ["a decline", declines],
  ["an order in doubt", () => Promise.resolve(lost("the line broke"))],
] as const)("a reversal of the amount of %s begins no journal gap", async (_, script) => {
  const at = await kiosk();
  await expectSold(at, "A");
  await notSold(at, script);
  await at.clock.advance(400_000);
  at.till.at(at.manager.terminal);
  const image = imageOf(at);
  await expectSold(at, "B");
  await at.manager.afterSale.reverse("B");
  const { guard } = await putBack(at, image);
  await expectSold(at, "C", 100);
  expect(guard.open).toBeUndefined();
});

test("the reversal of an imported sale begins no second journal gap", async () => {
  const at = await kiosk();
  const copies = temporaryFolder();
  await expectSold(at, "A");
  at.manager.journal.store.copied();
  copyStore(at.folder, copies, "journal");
  at.manager.journal.store.copied();
  await expectSold(at, "B", 420);
  await at.manager.afterSale.reverse("B");
  at.manager.close();
  copyStore(copies, at.folder, "journal");
  const { guard } = restart(at);
  const isImported = async () => {
    await at.clock.advance(100);
    return guard.open?.isImported;
  };
  await expect.poll(isImported).toBe(true);
  expect(guard.accept()).toBe(true);
  await expectSold(at, "C", 100);
  expect(guard.open).toBeUndefined();
});

/**
 * An image of a moment in which X was in doubt, for 9.99; X was not charged, and B was sold 40
 * minutes after it.
 */
async function imageInDoubt(at: Kiosk, amountMinor: number): Promise<string> {
  await expectSold(at, "A");
  at.manager.terminal.script = () => Promise.resolve(lost("the line broke"));
  const unknown = pay(at.manager, request("X"));
  await at.clock.advance(0);
  const image = imageOf(at);
  await at.clock.advance(400_000);
  expect((await unknown).body.status).toBe("Unknown");
  expect(at.manager.journal.attempts.decisive("X")?.state.phase).toBe("not-charged");
  at.till.at(at.manager.terminal);
  at.till.sales += 40;
  await expectSold(at, "B", amountMinor);
  return image;
}

test.each([
  [420, false],
  [420, true],
  [999, false],
])(
  "a sale of %d found with an order in doubt stays unmatched (started again: %s)",
  async (amountMinor, isStartedAgain) => {
    const at = await kiosk();
    const manager = await putBack(at, await imageInDoubt(at, amountMinor));
    manager.start();
    await at.clock.advance(400_000);
    const { sales } = at.till;
    const first = await sell(at, "B", amountMinor).catch((error: unknown) => error);
    expect(first).not.toMatchObject({ body: { status: "Success" } });
    await at.clock.advance(60_000);
    if (isStartedAgain) {
      restart(at).start();
      await at.clock.advance(400_000);
    }
    await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", amountMinor);
    expect(at.till.sales).toBe(sales);
    expect(at.manager.journal.attempts.decisive("X")?.state.phase).toBe("in-doubt");
    await expectSold(at, "C", 100);
    await expectRefused(at, "B", "TERMINAL_SALE_UNMATCHED", amountMinor);
  },
);

test("a journal of another kiosk is noticed, and imports the orders of its own", async () => {
  const at = await kiosk();
  const other = await kiosk();
  await expectSold(at, "A");
  await expectSold(other, "Z");
  other.manager.close();
  at.manager.close();
  copyStore(other.folder, at.folder, "journal");
  restart(at);
  expect(at.manager.guard.open?.because).toContain("not the database that was here before");
  await expectReplayed(at, "A");
  expect(at.manager.resync.isUnderWay).toBe(false);
});

test("the first start of a version that marks its stores is no loss", async () => {
  const at = await kiosk();
  await expectSold(at, "A");
  at.manager.close();
  await at.seat.rig?.stop();
  rmSync(join(at.folder, "stores"), { recursive: true });
  at.seat.rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  const manager = restart(at);
  await manager.meet();
  expect(manager.guard.open).toBeUndefined();
  expect(existsSync(join(at.folder, "stores"))).toBe(true);
  await expectSold(at, "B");
  expect(alarms(manager)).toEqual([]);
});
