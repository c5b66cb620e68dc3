import { expect, test } from "vitest";
import { conditionsOf } from "../../../src/shared/catalog/conditions.ts";
import { IpcError } from "../../../src/shared/ipc/client.ts";
import { ownConditions } from "../../../src/tp-manager/http/status/facts.ts";
import { answeringLink } from "../../support/house/answering-link.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";

const HOUR_MS = 3_600_000;

/** A house whose supervisor answers for each order as `refuse` says. */
function houseWith(refuse: (orderId: string) => IpcError | undefined) {
  const stored: string[] = [];
  const link = answeringLink({
    "store-transaction": ({ transaction }) => {
      const refusal = refuse(transaction.orderId);
      if (refusal) throw refusal;
      stored.push(transaction.orderId);
      return { stored: true };
    },
    "transaction-delivery": () => ({ known: true, state: "sent", sent: true }),
  });
  const at = house(undefined, undefined, { linkFor: () => link });
  return { at, stored };
}

const refused = (status: number): IpcError => new IpcError("refused", "no", { status });
const alarms = (lines: readonly string[]): unknown[] =>
  lines.flatMap((line) => (JSON.parse(line) as { alarm?: string }).alarm ?? []);

async function sell({ at }: ReturnType<typeof houseWith>, ...orders: string[]): Promise<void> {
  for (const orderId of orders) {
    const answer = pay(at, request(orderId));
    await at.clock.advance(6_000);
    await answer;
  }
}

const statusOf = ({ handOff, clock, arbiter, journal }: House) =>
  ownConditions({ handOff, clock, arbiter, journal });

test("only the first hand-off of a payment says that no former database can have it", async () => {
  const handedOff: Array<readonly [string, boolean | undefined]> = [];
  let isDown = true;
  const link = answeringLink({
    "store-transaction": ({ transaction, isFirst }) => {
      handedOff.push([transaction.orderId, isFirst]);
      // The answer is lost: it may be stored all the same.
      if (isDown) throw new IpcError("no-answer", "lost");
      return { stored: true };
    },
    "transaction-delivery": () => ({ known: true, state: "sent", sent: true }),
  });
  const at = house(undefined, undefined, { linkFor: () => link });
  await sell({ at, stored: [] }, "A");
  const [first, ...others] = handedOff;
  expect(first).toEqual(["A", true]);
  expect(others.length).toBeGreaterThan(0);
  isDown = false;
  await at.clock.advance(60_000);
  await sell({ at, stored: [] }, "B");
  expect(handedOff.filter(([, isFirst]) => isFirst)).toEqual([first, ["B", true]]);
});

test.each([
  ["refuses for its content", 422],
  ["does not understand", 400],
  ["fails at", 500],
])("a row that the supervisor %s holds up no later one", async (_, status) => {
  let isOver = false;
  const house = houseWith((orderId) => (orderId === "A" && !isOver ? refused(status) : undefined));
  const { at, stored } = house;
  await sell(house, "A", "B", "C");
  await at.clock.advance(60_000);
  expect(stored).toEqual(["B", "C"]);
  expect(at.journal.handOffs.countRefused()).toBe(1);
  expect(alarms(at.lines)).toEqual(["hand-off-refused"]);
  const conditions = () => conditionsOf({ supervisor: undefined, tpManager: statusOf(at) });
  expect(conditions()).toMatchObject([{ name: "hand-over-refused", count: 1 }]);
  isOver = true;
  await at.clock.advance(HOUR_MS);
  at.handOff.nudge();
  await at.clock.advance(1_000);
  expect(stored).toEqual(["B", "C", "A"]);
  expect(at.journal.handOffs.countPendingHandOffs()).toBe(0);
  expect(conditions()).toEqual([]);
});

test("nobody waits for a row that was refused: its answer comes at once, each time", async () => {
  const { at } = houseWith(() => refused(422));
  // The clock stands still.
  for (const replayed of [false, true]) {
    const answer = await pay(at, request("A"));
    expect(answer.body).toMatchObject({ status: "Success", notificationGatewaySent: false });
    expect(answer.replayed).toBe(replayed);
  }
});

test.each([
  ["", 0],
  [" after the wall clock was set back", -6 * HOUR_MS],
])("a parked row is tried again within two hours without any sale%s", async (_, jumpMs) => {
  let isOver = false;
  const house = houseWith((orderId) => (orderId === "A" && !isOver ? refused(422) : undefined));
  const { at, stored } = house;
  await sell(house, "A", "B");
  isOver = true;
  at.clock.jumpWallClock(jumpMs);
  await at.clock.advance(2 * HOUR_MS);
  expect(stored).toEqual(["B", "A"]);
});

test("a supervisor that takes nothing at all parks no row", async () => {
  let isDown = true;
  const house = houseWith(() => (isDown ? refused(500) : undefined));
  await sell(house, "A", "B");
  await house.at.clock.advance(60_000);
  expect(alarms(house.at.lines)).toEqual([]);
  isDown = false;
  await house.at.clock.advance(60_000);
  expect(house.stored).toEqual(["A", "B"]);
});

test("a journal that fails during a hand-off ends nothing: the row is tried again", async () => {
  let isOver = false;
  const house = houseWith(() => (isOver ? undefined : refused(422)));
  const { at, stored } = house;
  const { handOffs } = at.journal;
  const { noteRefusal } = handOffs;
  handOffs.noteRefusal = () => {
    throw new Error("database or disk is full");
  };
  await sell(house, "A");
  expect(alarms(at.lines)).toContain("journal");
  handOffs.noteRefusal = noteRefusal;
  isOver = true;
  await at.clock.advance(HOUR_MS);
  expect(stored).toEqual(["A"]);
});

test("a journal that fails during a withdrawal is not blamed on the supervisor", async () => {
  const at = house();
  at.terminal.remembers = true;
  await pay(at, request("A"));
  const { handOffs } = at.journal;
  const { acceptWithdrawal } = handOffs;
  handOffs.acceptWithdrawal = () => {
    throw new Error("database or disk is full");
  };
  await at.afterSale.reverse("A");
  await at.clock.advance(0);
  expect(alarms(at.lines)).toContain("journal");
  expect(at.lines.join()).not.toContain("did not accept a transaction");
  expect(statusOf(at)).toMatchObject({ handOver: null });
  handOffs.acceptWithdrawal = acceptWithdrawal;
  await at.clock.advance(60_000);
  expect(handOffs.countPendingHandOffs()).toBe(0);
});

test("a row that was refused and is taken at last keeps the state that was answered", async () => {
  const { at } = houseWith(() => undefined);
  await pay(at, request("A"));
  const { handOffs, attempts, database, statements } = at.journal;
  const { transactionId = "" } = attempts.decisive("A") ?? {};
  statements.settle();
  database.exec("UPDATE hand_off SET acknowledged = 0, delivery = 'pending'");
  handOffs.noteRefusal(transactionId, "refused", at.clock.now());
  handOffs.noteAccepted(transactionId, "sent", at.clock.now());
  statements.settle();
  expect(handOffs.handOff(transactionId)).toMatchObject({ isAccepted: true, delivery: "sent" });
});

test("a sale whose reversal alone is refused is handed off again after a loss", async () => {
  const { at } = houseWith(() => undefined);
  await pay(at, request("A"));
  const { resync, database, handOffs, attempts, statements } = at.journal;
  statements.settle();
  database.exec("UPDATE hand_off SET withdrawn = 1, set_aside_ms = 1, refused = 'no'");
  resync.begin();
  expect(resync.page(10)?.items.map(({ state }) => state)).toEqual(["sent"]);
  const { transactionId = "" } = attempts.decisive("A") ?? {};
  expect(handOffs.handOff(transactionId)?.dropped).toBe(false);
});
