import { expect, test } from "vitest";
import { accepted, RecordingGateway, refusedOrder } from "../../supervisor/recording-gateway.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import {
  copyStore,
  managerIn,
  removeStore,
  SupervisorSeat,
  supervisorIn,
} from "../../support/house/two-stores.ts";

type Manager = ReturnType<typeof managerIn>;

const alarms = ({ logged }: Manager): unknown[] =>
  logged.flatMap((line) => (JSON.parse(line) as { alarm?: string }).alarm ?? []);

/** A kiosk with a gateway that takes A, refuses B and is out of service for C. */
async function kiosk() {
  const folder = temporaryFolder();
  const server = await RecordingGateway.start();
  server.behave = ({ reference }) =>
    reference === "A" ? accepted : reference === "B" ? refusedOrder : { status: 503 };
  const clock = new TestClock();
  const seat = new SupervisorSeat();
  seat.rig = await supervisorIn(folder, { server, clock });
  return { folder, server, clock, seat, manager: managerIn(folder, seat, clock) };
}
type Kiosk = Awaited<ReturnType<typeof kiosk>>;
type Rig = Awaited<ReturnType<typeof supervisorIn>>;

async function paid({ manager, clock }: Kiosk, ...orders: string[]): Promise<void> {
  for (const orderId of orders) {
    const answer = pay(manager, request(orderId));
    await clock.advance(5_000);
    await answer;
    expect(phaseOf(manager, orderId)).toBe("charged");
  }
}

const phaseOf = ({ journal }: Manager, orderId: string): string | undefined =>
  journal.attempts.decisive(orderId)?.state.phase;

/** Until the outbox is in this state. */
async function becomes(at: Kiosk, states: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await at.clock.advance(1_000);
        const items = at.seat.rig?.admin.list(undefined, 0, 50).items ?? [];
        return items.map(({ orderId, state }) => `${orderId} ${state}`).join(", ");
      },
      { interval: 5 },
    )
    .toBe(states);
}

/** The journal learns the deliveries of these orders. */
async function learnt({ manager }: Kiosk, ...orders: string[]): Promise<void> {
  for (const orderId of orders) {
    const { transactionId = "" } = manager.journal.attempts.decisive(orderId) ?? {};
    await manager.handOff.delivered(transactionId, 0);
  }
}

const sent = ({ server }: Kiosk, orderId: string): number =>
  server.references.filter((reference) => reference === orderId).length;

test("a resync hands off an order whose hand-off was never answered, as pending", async () => {
  const at = await kiosk();
  await at.seat.rig?.stop();
  at.seat.rig = undefined;
  await paid(at, "A");
  const { resync } = at.manager.journal;
  resync.begin();
  const items = resync.page(10)?.items ?? [];
  expect(items.map(({ transaction, state }) => [transaction.orderId, state])).toEqual([
    ["A", "pending"],
  ]);
});

test("a lost supervisor.db gets every order again, and a sent order stays sent", async () => {
  const at = await kiosk();
  const { folder, server, clock, seat, manager } = at;
  await paid(at, "A", "B", "C");
  await becomes(at, "A sent, B parked, C pending");
  await learnt(at, "A", "B", "C");
  await seat.rig?.stop();
  removeStore(folder, "supervisor");
  const before = [sent(at, "A"), sent(at, "B")];
  seat.rig = await supervisorIn(folder, { server, clock });
  expect(seat.rig.alarms()).toEqual(["outbox-lost"]);
  await manager.meet();
  await becomes(at, "A sent, B parked, C pending");
  const { transactionId = "" } = manager.journal.attempts.decisive("C") ?? {};
  expect(seat.rig.store.delivery(transactionId)?.ambiguous).toBe(true);
  expect([sent(at, "A"), sent(at, "B")]).toEqual(before);
  expect(alarms(manager)).toEqual(["outbox-lost"]);
  expect(manager.journal.resync.isUnderWay).toBe(false);
  expect(seat.rig.losses.isWhole).toBe(true);
});

/** supervisor.db is gone and the journal is an older copy, whose orders are handed off. */
async function bothHarmed(): Promise<Kiosk & { rig: Rig }> {
  const at = await kiosk();
  const { folder, server, clock, seat } = at;
  const copies = temporaryFolder();
  await paid(at, "A");
  await becomes(at, "A sent");
  await learnt(at, "A");
  copyStore(folder, copies, "journal");
  at.manager.journal.store.copied();
  await paid(at, "A2");
  at.manager.close();
  await seat.rig?.stop();
  removeStore(folder, "supervisor");
  copyStore(copies, folder, "journal");
  const rig = await supervisorIn(folder, { server, clock });
  seat.rig = rig;
  at.manager = managerIn(folder, seat, clock);
  await at.manager.meet();
  await becomes(at, "A sent");
  return { ...at, rig };
}

test("a resync from a restored journal does not end the loss of supervisor.db", async () => {
  const { manager, rig, clock } = await bothHarmed();
  expect(rig.losses.isWhole).toBe(false);
  expect(manager.journal.resync.isUnderWay).toBe(true);
  const handed = manager.logged.length;
  await clock.advance(600_000);
  expect(rig.losses.isWhole).toBe(false);
  expect(manager.logged.length).toBe(handed);
});

test("the end of the journal gap ends the loss of supervisor.db", async () => {
  const at = await bothHarmed();
  expect(at.manager.guard.accept()).toBe(true);
  await lossEnds(at);
});

test("restarts in and after the journal gap do not forget the loss of supervisor.db", async () => {
  const at = await bothHarmed();
  const restart = async (): Promise<void> => {
    at.manager.close();
    at.manager = managerIn(at.folder, at.seat, at.clock);
    await at.manager.meet();
  };
  await restart();
  expect(at.rig.losses.isWhole).toBe(false);
  expect(at.manager.guard.accept()).toBe(true);
  await restart();
  await lossEnds(at);
});

test("a second loss of supervisor.db begins the resync anew", async () => {
  const at = await bothHarmed();
  at.manager.guard.accept();
  at.manager.close();
  await at.seat.rig?.stop();
  removeStore(at.folder, "supervisor");
  const rig = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
  at.seat.rig = rig;
  at.manager = managerIn(at.folder, at.seat, at.clock);
  await becomes(at, "A sent");
  await lossEnds({ ...at, rig });
});

test("with both databases gone the loss of supervisor.db ends with the journal gap", async () => {
  const at = await kiosk();
  const { folder, server, clock } = at;
  await paid(at, "A");
  await becomes(at, "A sent");
  at.manager.close();
  await at.seat.rig?.stop();
  removeStore(folder, "supervisor");
  removeStore(folder, "journal");
  const rig = await supervisorIn(folder, { server, clock });
  at.seat.rig = rig;
  const restart = (): void => {
    at.manager.close();
    at.manager = managerIn(folder, at.seat, clock);
  };
  restart();
  const isImported = () => at.manager.guard.open?.isImported === true;
  for (let second = 0; second < 60 && !isImported(); second++) await clock.advance(1_000);
  expect([isImported(), rig.losses.isWhole]).toEqual([true, false]);
  restart();
  await clock.advance(120_000);
  expect(rig.losses.isWhole).toBe(false);
  expect(at.manager.guard.accept()).toBe(true);
  restart();
  await lossEnds({ ...at, rig });
});

test("a journal gap that is accepted before any import leaves no loss open", async () => {
  const at = await kiosk();
  const { folder, server, clock } = at;
  await paid(at, "A");
  at.manager.close();
  await at.seat.rig?.stop();
  at.seat.rig = undefined;
  removeStore(folder, "supervisor");
  removeStore(folder, "journal");
  at.manager = managerIn(folder, at.seat, clock);
  await clock.advance(5_000);
  expect(at.manager.guard.open?.isImported).toBe(false);
  expect(at.manager.guard.accept()).toBe(true);
  const rig = await supervisorIn(folder, { server, clock });
  at.seat.rig = rig;
  expect(rig.losses.isWhole).toBe(false);
  await lossEnds({ ...at, rig });
  // The import that was under way finds nothing left to do.
  await clock.advance(15_000);
  expect(at.manager.guard.open).toBeUndefined();
});

/** The loss of supervisor.db ends within two minutes, and the resync with it. */
async function lossEnds({ manager, clock, rig }: Kiosk & { rig: Rig }): Promise<void> {
  const state = (): boolean[] => [rig.losses.isWhole, manager.journal.resync.isUnderWay];
  for (let second = 0; second < 120 && state().join() !== "true,false"; second++) {
    await clock.advance(1_000);
  }
  expect(state()).toEqual([true, false]);
}

test("an older supervisor.db gets the orders that were sent since the copy was made", async () => {
  const at = await kiosk();
  const { folder, server, clock, seat } = at;
  const copies = temporaryFolder();
  server.behave = () => ({ status: 503 });
  await paid(at, "A");
  await becomes(at, "A pending");
  copyStore(folder, copies, "supervisor");
  seat.rig?.ownStore.copied();
  server.behave = () => accepted;
  await becomes(at, "A sent");
  await paid(at, "D");
  await learnt(at, "A", "D");
  await seat.rig?.stop();
  copyStore(copies, folder, "supervisor");
  const before = sent(at, "A");
  server.behave = () => ({ status: 503 });
  const rig = await supervisorIn(folder, { server, clock });
  seat.rig = rig;
  expect(rig.alarms()).toContain("outbox-lost");
  await at.manager.meet();
  await becomes(at, "A sent, D sent");
  expect(sent(at, "A") - before).toBeLessThanOrEqual(1);
});

test("the position of a resync outlives a restart, and the archive is part of it", async () => {
  const at = await kiosk();
  const { folder, server, clock, seat, manager } = at;
  await paid(at, "A");
  await becomes(at, "A sent");
  await learnt(at, "A");
  manager.journal.archive.putAway(clock.now() + 1, 100);
  await seat.rig?.stop();
  removeStore(folder, "supervisor");
  manager.journal.resync.begin();
  manager.close();
  seat.rig = await supervisorIn(folder, { server, clock });
  at.manager = managerIn(folder, seat, clock);
  await becomes(at, "A sent");
  const [item] = seat.rig.admin.list(undefined, 0, 50).items;
  expect(item).toMatchObject({ orderId: "A", amountMinor: 999, currency: "EUR" });
  expect(sent(at, "A")).toBe(1);
});

test("a supervisor and a journal that have lost nothing raise no alarm", async () => {
  const at = await kiosk();
  const { folder, server, clock, seat } = at;
  await paid(at, "A");
  for (let restart = 0; restart < 3; restart++) {
    at.manager.close();
    await seat.rig?.stop();
    seat.rig = await supervisorIn(folder, { server, clock });
    at.manager = managerIn(folder, seat, clock);
    await paid(at, `A${restart}`);
    await learnt(at, "A");
    expect([...seat.rig.alarms(), ...alarms(at.manager)]).toEqual([]);
    expect(at.manager.journal.resync.isUnderWay).toBe(false);
  }
});
