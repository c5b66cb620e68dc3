import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { timersUpTo } from "../support/clocks/held-timers.ts";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

/** docs/design.md 2.1: what is written with the next commit is on disk so much later at most. */
const LATER_MS = 1_000;

/** An installation whose tp-manager has no timer that is longer than `timersMs`. */
function withTimersUpTo(timersMs: number): TestInstallation {
  return new TestInstallation({
    terminalSwitches: ["--instant"],
    nodeSwitches: timersUpTo(timersMs),
    config: { GATEWAY_WAIT: 20_000 },
  });
}

/** One in which the second never passes, and one in which it does; each test has its own order. */
const [held, running] = [withTimersUpTo(LATER_MS - 1), withTimersUpTo(LATER_MS)];
beforeAll(() => Promise.all([held.start(), running.start()]));
afterAll(() => Promise.all([held.stop(), running.stop()]));

/** Ready for a payment: a test before may have ended tp-manager, or has failed. */
async function ready(at: TestInstallation): Promise<TestInstallation> {
  if (!at.tpManager?.running) await at.startTpManager();
  await at.disarm();
  await at.connected();
  return at;
}

/** Rows of the journal about an order, as another process finds them on disk. */
function onDisk(at: TestInstallation, orderId: string, sql: string): unknown[] {
  const journal = new DatabaseSync(join(at.data, "journal.db"), { readOnly: true });
  try {
    return journal
      .prepare(sql)
      .all(orderId)
      .map((row) => Object.values(row).join(" "));
  } finally {
    journal.close();
  }
}

const handOffs = (at: TestInstallation, orderId: string): unknown[] =>
  onDisk(
    at,
    orderId,
    `SELECT hand_off.acknowledged, hand_off.delivery
      FROM hand_off JOIN attempt USING (transaction_id) WHERE order_id = ?`,
  );
const deliveries = (at: TestInstallation, orderId: string): unknown[] =>
  onDisk(
    at,
    orderId,
    `SELECT data ->> 'delivery' FROM event
      WHERE name = 'delivery' AND data ->> 'orderId' = ?`,
  );
const kinds = (at: TestInstallation, orderId: string): unknown[] =>
  onDisk(
    at,
    orderId,
    `SELECT kind FROM attempt_event JOIN attempt USING (transaction_id) WHERE order_id = ?`,
  );
const heard = (at: TestInstallation, orderId: string): unknown[] =>
  kinds(at, orderId).filter((kind) => kind === "acknowledged");

/** A payment that the terminal does not end until it is released: its receipt is printed. */
async function printed(at: TestInstallation, orderId: string) {
  await at.arm("hold:at=printed");
  const answer = at.pay(1, orderId);
  await until("the report is on disk", () => kinds(at, orderId).includes("report") || undefined);
  return { answer, release: () => at.disarm() };
}

describe("what the supervisor has of a transaction", () => {
  test("is on disk when tp-manager has stopped right after its answer", async () => {
    const at = await ready(held);
    expect((await at.pay(1, "A-1")).one.notificationGatewaySent).toBe(true);
    expect([handOffs(at, "A-1"), deliveries(at, "A-1")]).toEqual([["0 pending"], []]);
    expect(await at.tpManager?.end("SIGTERM")).toBe(0);
    expect([handOffs(at, "A-1"), deliveries(at, "A-1")]).toEqual([["1 sent"], ["sent"]]);
  });

  test("is on disk when tp-manager was asked to stop before it knew of the answer", async () => {
    const at = await ready(held);
    const { answer, release } = await printed(at, "A-2");
    at.tpManager?.signal("SIGTERM");
    await release();
    expect((await answer).one.notificationGatewaySent).toBe(true);
    expect(await at.tpManager?.exited).toBe(0);
    expect([handOffs(at, "A-2"), deliveries(at, "A-2")]).toEqual([["1 sent"], ["sent"]]);
  });

  test("is on disk a second later when nothing else happens", async () => {
    const at = await ready(running);
    expect((await at.pay(1, "A-3")).one.notificationGatewaySent).toBe(true);
    await until("it is on disk", () => handOffs(at, "A-3")[0] === "1 sent" || undefined);
    expect(deliveries(at, "A-3")).toEqual(["sent"]);
  });
});

describe("that our ACK of a report has arrived", () => {
  test("is on disk a second later while the terminal goes on", async () => {
    const at = await ready(running);
    const { answer, release } = await printed(at, "A-4");
    await until("it is on disk", () => heard(at, "A-4").length > 0 || undefined);
    await release();
    expect((await answer).one.status).toBe("Success");
  });

  test("is on disk when tp-manager has stopped before the second was over", async () => {
    const at = await ready(held);
    const { answer, release } = await printed(at, "A-5");
    at.tpManager?.signal("SIGTERM");
    await release();
    expect((await answer).one.status).toBe("Success");
    expect(await at.tpManager?.exited).toBe(0);
    expect(heard(at, "A-5")).toEqual(["acknowledged"]);
  });
});
