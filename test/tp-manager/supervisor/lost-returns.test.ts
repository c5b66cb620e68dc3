import { expect, test } from "vitest";
import type { GatewayOperationKind } from "../../../src/shared/ipc/contract.ts";
import { accepted, operationBody } from "../../supervisor/recording-gateway.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { expectSold, type Kiosk, kiosk, restart } from "../../support/house/two-store-kiosk.ts";
import { copyStore, supervisorIn } from "../../support/house/two-stores.ts";

type StoreName = "journal" | "supervisor";

/** Order A, of 9.99, has its id at the gateway; then copies of the stores are made. */
async function chargedBefore() {
  const at = await kiosk();
  await expectSold(at, "A");
  const { transactionId = "" } = at.manager.journal.attempts.decisive("A") ?? {};
  const { rig } = at.seat;
  rig?.operationStore.learnId("5CF62325CB217655", transactionId, "lookup", at.clock.now());
  at.server.behave = ({ path }) => {
    const operation = (["confirm", "cancel", "card"] as const).find((name) => path.endsWith(name));
    const sum = operation === "card" ? { amount: "9.99" } : {};
    return operation ? { status: 200, body: operationBody(operation, 0, "N/A", sum) } : accepted;
  };
  const copies = temporaryFolder();
  at.manager.journal.store.copied();
  rig?.ownStore.copied();
  for (const store of ["journal", "supervisor"]) copyStore(at.folder, copies, store);
  at.manager.journal.store.copied();
  rig?.ownStore.copied();
  /** Restores the copies and starts both programs; the supervisor does not answer yet. */
  const putBack = async (...stores: readonly StoreName[]) => {
    at.manager.close();
    at.seat.rig = undefined;
    await rig?.stop();
    for (const store of stores) copyStore(copies, at.folder, store);
    const again = await supervisorIn(at.folder, { server: at.server, clock: at.clock });
    const supervisorIsHeard = (): void => {
      at.seat.rig = again;
    };
    return { ...restart(at), supervisorIsHeard };
  };
  return { at, putBack };
}

async function takenOver({ manager, clock }: Kiosk): Promise<void> {
  const isImported = async (): Promise<boolean | undefined> => {
    await clock.advance(100);
    return manager.guard.open?.isImported;
  };
  await expect.poll(isImported, { interval: 2 }).toBe(true);
}

const ask = ({ manager }: Kiosk, kind: GatewayOperationKind) =>
  manager.gateway.ask(kind, { orderId: "A" }, () => undefined, {
    idempotencyKey: undefined,
    asked: kind,
    again: false,
  });

/** The operations that reached the gateway, without the order itself. */
const askedOf = ({ server }: Kiosk) =>
  server.requests.flatMap(({ path }) => path.match(/(confirm|cancel|card)$/)?.[0] ?? []);

const unsure = { code: "STORES_DISAGREE", charged: "yes" };

test("a refund that the journal lost stops a reversal, before and after the import", async () => {
  const { at, putBack } = await chargedBefore();
  await ask(at, "refund");
  const { afterSale, terminal, supervisorIsHeard } = await putBack("journal");
  await expect(afterSale.reverse("A")).rejects.toMatchObject(unsure);
  supervisorIsHeard();
  await takenOver(at);
  expect(await afterSale.reverse("A")).toMatchObject({ replayed: true });
  expect(terminal.reversed).toEqual([]);
});

test.each(["refund", "cancel"] as const)(
  "a reversal that the journal lost stops a %s, before and after the import",
  async (kind) => {
    const { at, putBack } = await chargedBefore();
    await at.manager.afterSale.reverse("A");
    await at.clock.advance(0);
    const { supervisorIsHeard } = await putBack("journal");
    await at.clock.advance(5_000);
    supervisorIsHeard();
    await expect(ask(at, kind)).rejects.toMatchObject(unsure);
    await takenOver(at);
    await expect(ask(at, kind)).rejects.toMatchObject({ code: "ORDER_REVERSED" });
    expect(askedOf(at)).toEqual([]);
  },
);

test("a reversal that both stores lost stops a refund until an operator's decision", async () => {
  const { at, putBack } = await chargedBefore();
  at.seat.rig = undefined;
  await at.manager.afterSale.reverse("A");
  const { guard, supervisorIsHeard } = await putBack("journal");
  supervisorIsHeard();
  await takenOver(at);
  await expect(ask(at, "refund")).rejects.toMatchObject(unsure);
  await ask(at, "confirm");
  expect(askedOf(at)).toEqual(["confirm"]);
  expect(guard.accept()).toBe(true);
  await ask(at, "refund");
  expect(askedOf(at)).toEqual(["confirm", "card"]);
});

test("two stores from before a refund stop a reversal of a sale from before the loss", async () => {
  const { at, putBack } = await chargedBefore();
  await ask(at, "refund");
  const { afterSale, terminal, supervisorIsHeard } = await putBack("journal", "supervisor");
  supervisorIsHeard();
  await takenOver(at);
  await expect(afterSale.reverse("A")).rejects.toMatchObject(unsure);
  await expect(ask(at, "refund")).rejects.toMatchObject(unsure);
  expect([terminal.reversed, askedOf(at)]).toEqual([[], ["card"]]);
  await expectSold(at, "B", 420);
  await afterSale.reverse("B");
  expect(terminal.reversed).toHaveLength(1);
});

test("a supervisor without a loss reports all returns, and the terminal reverses", async () => {
  const { at, putBack } = await chargedBefore();
  const { afterSale, terminal, supervisorIsHeard } = await putBack("journal");
  supervisorIsHeard();
  await takenOver(at);
  await afterSale.reverse("A");
  expect(terminal.reversed).toHaveLength(1);
});

test("an imported order counts as older than the loss, so its refund is refused", async () => {
  const { at, putBack } = await chargedBefore();
  await expectSold(at, "B", 420);
  const { transactionId = "" } = at.manager.journal.attempts.decisive("B") ?? {};
  at.seat.rig?.operationStore.learnId("5CF62325CB217656", transactionId, "lookup", 0);
  const target = { transactionPublicId: "5CF62325CB217656" };
  const { gateway, journal, supervisorIsHeard } = await putBack("journal");
  const refund = () =>
    gateway.ask("refund", target, () => undefined, {
      idempotencyKey: undefined,
      asked: "B",
      again: false,
    });
  supervisorIsHeard();
  expect(journal.attempts.decisive("B")).toBeUndefined();
  await expect(refund()).rejects.toMatchObject({ code: "STORES_DISAGREE", orderId: "B" });
  await takenOver(at);
  await expect(refund()).rejects.toMatchObject({ ...unsure, orderId: "B" });
  expect(askedOf(at)).toEqual([]);
});
