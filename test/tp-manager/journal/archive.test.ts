import { join } from "node:path";
import { expect, test } from "vitest";
import { runChores } from "../../../src/shared/program/daily.ts";
import { openDatabase } from "../../../src/shared/store/sqlite.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { archiveChore } from "../../../src/tp-manager/journal/archive.ts";
import { migrations } from "../../../src/tp-manager/journal/database/migrations.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { packingChore } from "../../../src/tp-manager/journal/packing.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { audit } from "../../support/house/every-phase.ts";
import { packAll } from "../../support/house/pack-all.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { recordingLog } from "../../support/house/recording-log.ts";
import { declined } from "../../support/terminals/reports.ts";
import { lost, type PayScript, saleReport } from "../../support/terminals/scripted-terminal.ts";

const DAY_MS = 24 * 3_600_000;

/** Everything that has ended by now is old enough. */
const archive = ({ journal, clock }: House): number =>
  journal.archive.putAway(clock.now() + 1, 100).archived;

const atOnce = () => Promise.resolve(true);
const isPacked = "packed IS NOT NULL";

const rows = ({ journal }: House, table: string): number =>
  Number(journal.database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);

async function lookUp(at: House, orderId: string) {
  const { attempt, delivery, attempts } = await at.orders.lookUp(orderId);
  return { ...answerOf(attempt, delivery).body, attempts };
}

/** Charged, and known here to be with the gateway. */
async function charged(at: House, orderId: string) {
  const answer = await pay(at, request(orderId));
  expect(outcome(answer)).toBe("Success");
  return answer.body;
}

const declines: PayScript = (_order, observer) => {
  observer.report(declined());
  return Promise.resolve({ end: "aborted", code: "6C", text: "", reason: "declined", ticket: "" });
};

test("a charged order replays from the archive and is never charged again", async () => {
  const at = house();
  const before = await charged(at, "A-1");
  expect(archive(at)).toBe(1);
  const replay = await pay(at, request("A-1"));
  expect(replay).toMatchObject({ http: 200, replayed: true });
  expect(replay.body).toMatchObject({
    status: "Success",
    transactionId: before.transactionId,
    amount: before.amount,
    currency: "EUR",
    notificationGatewaySent: true,
    ticket: "",
    warnings: [expect.stringContaining("in the archive")],
  });
  expect(Object.keys(replay.body.receipt)).toHaveLength(32);
  expect(replay.body.receipt.primaryAccountNumber).toBe("");
  expect(await lookUp(at, "A-1")).toMatchObject({
    status: "Success",
    notificationGatewaySent: true,
  });
  await expect(pay(at, request("A-1", { amountMinor: 1_000 }))).rejects.toMatchObject({
    code: "ORDER_MISMATCH",
    charged: "yes",
  });
  expect(at.terminal.paid).toHaveLength(1);
});

test("it survives a restart, and so does a journal of the version before", async () => {
  const at = house();
  await charged(at, "A-1");
  archive(at);
  at.close();
  const later = house(at.path);
  expect(outcome(await pay(later, request("A-1")))).toBe("Success");
  expect(later.terminal.paid).toEqual([]);
  const old = join(temporaryFolder(), "old.db");
  openDatabase(old, migrations.slice(0, 1)).close();
  const journal = new Journal(old);
  expect(journal.attempts.decisive("A-1")).toBeUndefined();
  journal.close();
});

test("a reversed order stays reversed for ever", async () => {
  const at = house();
  at.terminal.remembers = true;
  await charged(at, "A-1");
  await at.afterSale.reverse("A-1");
  at.handOff.nudge();
  await at.clock.advance(0);
  expect(archive(at)).toBe(1);
  await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
  expect((await lookUp(at, "A-1")).status).toBe("Reversed");
});

test("an archived sale is not reversed, and the answer says that it stands", async () => {
  const at = house();
  await charged(at, "A-1");
  archive(at);
  await expect(at.afterSale.reverse("A-1")).rejects.toMatchObject({
    code: "REVERSAL_REFUSED",
    charged: "yes",
  });
  expect(at.terminal.reversed).toEqual([]);
});

test("a declined order may be paid again, and its attempts go on counting", async () => {
  const at = house();
  at.terminal.script = declines;
  const first = await pay(at, request("A-1"));
  expect(outcome(first)).toBe("Declined");
  expect(archive(at)).toBe(1);
  const again = house(at.path);
  expect(outcome(await pay(again, request("A-1")))).toBe("Success");
  const { attempts, status } = await lookUp(again, "A-1");
  expect(status).toBe("Success");
  expect(attempts.map(({ number, state }) => [number, state.phase])).toEqual([
    [1, "not-charged"],
    [2, "charged"],
  ]);
  expect(archive(again)).toBe(1);
  expect((await lookUp(again, "A-1")).attempts).toHaveLength(2);
  expect(outcome(await pay(again, request("A-1")))).toBe("Success");
  expect(again.terminal.paid).toHaveLength(1);
});

test("every detail is gone from the tables; order, amount, outcome and id stay", async () => {
  const at = house();
  const { transactionId } = await charged(at, "A-1");
  archive(at);
  expect(["attempt", "attempt_event", "hand_off"].map((table) => rows(at, table))).toEqual([
    0, 0, 0,
  ]);
  const kept = at.journal.database.prepare("SELECT * FROM archived_order").all();
  expect(kept).toMatchObject([
    { transaction_id: transactionId, order_id: "A-1", amount_minor: 999, currency: "EUR" },
  ]);
  expect(JSON.stringify(kept)).not.toContain("541333");
});

test("what is not settled, not handed off or not sent is never archived", async () => {
  const inDoubt = house();
  inDoubt.terminal.script = () => Promise.resolve(lost("the line broke"));
  await pay(inDoubt, request("in doubt"));
  expect(archive(inDoubt)).toBe(0);

  const unreachable = house();
  unreachable.supervisor.reachable = false;
  const answer = pay(unreachable, request("not handed off"));
  await unreachable.clock.advance(10_000);
  await answer;
  expect(archive(unreachable)).toBe(0);

  for (const state of ["pending", "parked"] as const) {
    const unsent = house();
    unsent.supervisor.state = state;
    await charged(unsent, "not sent");
    expect(archive(unsent)).toBe(0);
  }

  const withdrawal = house();
  withdrawal.terminal.remembers = true;
  await charged(withdrawal, "withdrawal not handed off");
  withdrawal.supervisor.reachable = false;
  await withdrawal.afterSale.reverse("withdrawal not handed off");
  expect(archive(withdrawal)).toBe(0);

  const unread = house();
  await pay(unread, request("unread", { generatedId: true }));
  expect(archive(unread)).toBe(0);
  unread.orders.answerRead("unread");
  expect(archive(unread)).toBe(1);

  const unanswered = house();
  await charged(unanswered, "charge not answered");
  unanswered.orders.chargeAnswered("charge not answered", false);
  expect(archive(unanswered)).toBe(0);
  unanswered.orders.chargeAnswered("charge not answered", true);
  expect(archive(unanswered)).toBe(1);

  const takenBack = house();
  takenBack.terminal.remembers = true;
  await charged(takenBack, "not answered, and reversed");
  takenBack.orders.chargeAnswered("not answered, and reversed", false);
  await takenBack.afterSale.reverse("not answered, and reversed");
  takenBack.handOff.nudge();
  await takenBack.clock.advance(0);
  expect(archive(takenBack)).toBe(1);
});

test("an order with one open attempt keeps its closed ones too", async () => {
  const at = house();
  at.terminal.script = declines;
  await pay(at, request("A-1"));
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  await pay(at, request("A-1"));
  await at.clock.advance(1_000);
  expect(archive(at)).toBe(0);
  expect(at.journal.attempts.ofOrder("A-1")).toHaveLength(2);
});

test("only what is older than JOURNAL_DAYS goes; what was sent meanwhile is learnt", async () => {
  const at = house();
  at.supervisor.state = "pending";
  await charged(at, "old");
  at.supervisor.state = "sent";
  const sale = at.clock.now();
  const runAt = (nowMs: number) => {
    const clock = { ...systemClock, now: () => nowMs };
    const learn = (id: string) => at.handOff.delivered(id, 0);
    const chores = [archiveChore(at.journal.archive, 400, clock, learn)];
    return runChores({ at: "03:30", idle: () => true, chores, clock, log: recordingLog().log });
  };
  await runAt(sale + 399 * DAY_MS);
  expect(rows(at, "archived_order")).toBe(0);
  await runAt(sale + 401 * DAY_MS);
  expect(rows(at, "archived_order")).toBe(1);
  expect((await lookUp(at, "old")).notificationGatewaySent).toBe(true);
});

test("hundreds of orders go in small steps, all but the open one", async () => {
  const at = house();
  at.terminal.script = declines;
  for (let i = 0; i < 250; i++) await pay(at, request(`A-${i}`));
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  await pay(at, request("A-7"));
  const clock = { ...systemClock, now: () => at.clock.now() + 401 * DAY_MS };
  at.journal.database.exec("UPDATE packing SET since_ms = 0");
  await packingChore(at.journal.packing, clock).run(atOnce);
  expect(rows(at, `attempt WHERE ${isPacked}`)).toBe(250);
  await archiveChore(at.journal.archive, 400, clock, () => Promise.resolve()).run(atOnce);
  expect([rows(at, "attempt"), rows(at, "archived_order")]).toEqual([2, 249]);
});

/** Packs what may be packed on a day three weeks later; returns the orders that are not packed. */
function notPacked(at: House): unknown[] {
  packAll(at.journal, at.clock.now() + 21 * DAY_MS);
  const left = at.journal.database.prepare("SELECT order_id FROM attempt WHERE packed IS NULL");
  return left.all().map((row) => row["order_id"]);
}

async function sold(...orders: readonly string[]): Promise<House> {
  const at = house();
  for (const order of orders) await charged(at, order);
  return at;
}

/** All rows of the attempts and their steps, by their numbers. */
const stored = ({ journal: { database } }: House) =>
  ["attempt", "attempt_event"].map((table) =>
    database.prepare(`SELECT rowid AS number, * FROM ${table}`).all(),
  );

test("row numbers that come again after the archive are packed again", async () => {
  const at = await sold("A-1", "A-2", "A-3");
  expect(notPacked(at)).toEqual([]);
  expect(archive(at)).toBe(3);
  for (const order of ["B-1", "B-2", "B-3", "B-4"]) await charged(at, order);
  expect(notPacked(at)).toEqual([]);
});

test.each([
  ["begins in a far year", "started_at_ms = 9000000000000", []],
  ["has a request that is cut off", `request = '{"orderId":'`, []],
  ["has not ended", "ended_at_ms = NULL", ["A-2"]],
])("an attempt that %s holds up no other one", async (_what, change, left) => {
  const at = await sold("A-1", "A-2", "A-3");
  at.journal.database.exec(`UPDATE attempt SET ${change} WHERE order_id = 'A-2'`);
  expect(notPacked(at)).toEqual(left);
  expect(rows(at, `attempt WHERE request = '{"orderId":'`)).toBe(
    change.includes("request") ? 1 : 0,
  );
});

test("an attempt of the last day stays whole, and so do all in the first two weeks", async () => {
  const at = await sold("A-1");
  const { packing, database } = at.journal;
  const isLeft = (nowMs: number) => {
    packing.packNext(nowMs);
    return rows(at, `attempt WHERE ${isPacked}`) === 0;
  };
  const sale = at.clock.now();
  database.exec(`UPDATE packing SET since_ms = ${sale}`);
  expect(isLeft(sale + 14 * DAY_MS)).toBe(true);
  expect(isLeft(sale + 14 * DAY_MS + 1)).toBe(false);
  database.exec("UPDATE packing SET since_ms = 0");
  await charged(at, "A-2");
  packing.packNext(at.clock.now() + DAY_MS - 1);
  expect(rows(at, `attempt WHERE ${isPacked}`)).toBe(1);
});

test("a packing that is cut off or finds the disk full changes nothing", async () => {
  const at = await sold("A-1", "A-2", "A-3");
  const { database } = at.journal;
  const mark = () => database.prepare("PRAGMA application_id").get();
  const before = [stored(at), mark()];
  database.exec(`CREATE TEMP TRIGGER full BEFORE UPDATE ON attempt_event WHEN old.id = 5
    BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
  expect(() => notPacked(at)).toThrow("disk is full");
  expect([stored(at), mark(), rows(at, "packing WHERE position = 0")]).toEqual([...before, 1]);
  database.exec("DROP TRIGGER full");
  expect(notPacked(at)).toEqual([]);
});

test("a packed sale is reversed as any other, and its texts are whole again", async () => {
  const at = await sold("A-1");
  expect(notPacked(at)).toEqual([]);
  at.terminal.stores(saleReport(at.terminal.soldBefore));
  expect((await at.afterSale.reverse("A-1")).attempt.state.phase).toBe("reversed");
  expect(rows(at, `attempt WHERE state LIKE '{"phase":"reversed"%'`)).toBe(1);
  at.close();
  expect(audit(at.path)).toMatchObject({ attempts: 1, faults: [] });
});

test.each([
  ["are damaged", "packed = CAST(substr(packed, 1, 90) || x'00' || substr(packed, 92) AS BLOB)"],
  ["are cut off", "packed = CAST(substr(packed, 1, 60) AS BLOB)"],
  ["are gone", "packed = NULL"],
  ["are those of another row", `packed = (SELECT packed FROM attempt_event WHERE packed <> '')`],
  ["have other members", "state = json_set(state, '$.report.amountMinor', 5)"],
])("packed texts that %s are not read, and a stub never counts as one", async (what, change) => {
  const at = await sold("A-1", "A-2");
  expect(notPacked(at)).toEqual([]);
  at.journal.database.exec(`UPDATE attempt SET ${change} WHERE order_id = 'A-2'`);
  if (what !== "have other members") {
    const failed = { code: "STORAGE_FAILED", charged: "unknown" };
    await expect(pay(at, request("A-2"))).rejects.toMatchObject(failed);
  }
  at.close();
  expect(audit(at.path).faults).toMatchObject([{ rule: "unreadable", orderId: "A-2" }]);
});
