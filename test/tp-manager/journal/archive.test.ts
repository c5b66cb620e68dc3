import { join } from "node:path";
import { expect, test } from "vitest";
import { runChores } from "../../../src/shared/program/daily.ts";
import { openDatabase } from "../../../src/shared/store/sqlite.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { archiveChore } from "../../../src/tp-manager/journal/archive.ts";
import { migrations } from "../../../src/tp-manager/journal/database/migrations.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { recordingLog } from "../../support/house/recording-log.ts";
import { declined } from "../../support/terminals/reports.ts";
import { lost, type PayScript } from "../../support/terminals/scripted-terminal.ts";

const DAY_MS = 24 * 3_600_000;

/** Everything that has ended by now is old enough. */
const archive = ({ journal, clock }: House): number =>
  journal.archive.putAway(clock.now() + 1, 100).archived;

const atOnce = () => Promise.resolve(true);

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
  await archiveChore(at.journal.archive, 400, clock, () => Promise.resolve()).run(atOnce);
  expect([rows(at, "attempt"), rows(at, "archived_order")]).toEqual([2, 249]);
});
