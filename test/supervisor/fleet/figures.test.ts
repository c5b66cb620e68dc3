import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { TestClock } from "../../support/clocks/test-clock.ts";
import { advanceUntil, FLEET_ROUND_MS, openFleet } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function away(options: Partial<Parameters<typeof openFleet>[0]> = {}) {
  const broker = new ScriptedBroker();
  await broker.up();
  await broker.down();
  const rig = openFleet({ url: broker.url, ...options });
  rig.fleet.start();
  return { broker, ...rig };
}

async function pass(clock: TestClock, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) await clock.advance(MINUTE_MS);
}

type Figures = { number: number; at: string; id: string };

/** The received figures in the order of their measuring, each once. */
function received(broker: ScriptedBroker): Figures[] {
  const all = broker.documents("metrics") as unknown as Figures[];
  const once = new Map(all.map((one) => [one.number, one]));
  expect(new Set(all.map(({ id }) => id)).size).toBe(once.size);
  return [...once.values()].sort((a, b) => a.number - b.number);
}

/** Expects figures of every minute: no number is missing, and no time is a minute off. */
function expectNoGap(figures: readonly Figures[]): void {
  for (const [i, { number, at }] of figures.entries()) {
    const before = figures[i - 1];
    if (!before) continue;
    expect(number).toBe(before.number + 1);
    const passedMs = Date.parse(at) - Date.parse(before.at);
    expect(Math.abs(passedMs - MINUTE_MS), at).toBeLessThanOrEqual(FLEET_ROUND_MS);
  }
}

test("figures and state say how machine and programs are, and carry the labels", async () => {
  const labels = { site: "zurich-hb", floor: "2" };
  const { broker, clock, tpManager } = await away({ labels });
  const buckets = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000];
  const counts = Object.fromEntries(buckets.map((ms) => [ms, 2]));
  const card = { count: 2, sumMs: 700, buckets: counts };
  tpManager.phases = { card };
  tpManager.payment("declined", { error: "PAYMENT_DECLINED" });
  tpManager.payment("cancelled", { error: "CUSTOMER_TIMEOUT" });
  tpManager.payment("declined", { error: "PAYMENT_DECLINED" });
  tpManager.payment("failed", { error: "of Ada" });
  await broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => broker.documents("metrics").length > 0);
  expect(broker.documents("metrics")[0]).toMatchObject({
    number: 1,
    labels,
    diskFreeBytes: expect.any(Number),
    clockAheadSeconds: -3,
    errors: { PAYMENT_DECLINED: 2, CUSTOMER_TIMEOUT: 1 },
    linksLost: { terminal: 2, broker: 0 },
    phases: { card },
  });
  expect(broker.documents("state").at(-1)).toMatchObject({
    labels,
    now: {
      system: { os: "linux", arch: expect.any(String), node: process.versions.node },
      startedAfter: { supervisor: "stop", tpManager: "died" },
      certificates: [{ setting: "FLEET_CA_FILE", ends: "2027-01-15T12:00:00.000Z" }],
      supportEnds: null,
    },
  });
  expect(JSON.parse(String(broker.connects[0]?.will?.payload))).toMatchObject({ labels });
  expect(broker.documents("payment")).toHaveLength(4);
  for (const one of broker.documents("payment")) expect(one).toMatchObject({ labels });
});

test("six hours without a broker leave no gap, and payments go before old figures", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { fleet, clock, tpManager, store } = openFleet({ url: broker.url });
  fleet.start();
  await advanceUntil(clock, FLEET_ROUND_MS, () => broker.documents("metrics").length > 1);
  await broker.down();
  for (let attempt = 0; attempt < 36; attempt++) {
    tpManager.payment("charged", { attempt });
    await pass(clock, 10);
  }
  expect(store.waiting).toBe(36);
  await broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => broker.documents("payment").length === 36);
  const published = () => broker.published.map(({ topic }) => topic.split("/").at(-1));
  const lastPayment = published().lastIndexOf("payment");
  const backMs = clock.monotonicMs();
  await advanceUntil(clock, FLEET_ROUND_MS, () => store.measured(1).length === 0);
  // Gently: at most two old figures in a round of 5 s, next to the present ones.
  expect(clock.monotonicMs() - backMs).toBeGreaterThan((360 / 2 - 10) * FLEET_ROUND_MS);
  const figures = received(broker);
  expect(figures.length).toBeGreaterThan(360);
  expectNoGap(figures);
  const oldest = published().findIndex((name, i) => name === "metrics" && i > 4);
  expect(oldest).toBeGreaterThan(lastPayment);
  const payments = broker.documents("payment");
  expect(payments.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 36 }, (_, i) => i));
  const [late] = broker.published.slice(oldest).filter(({ topic }) => topic.endsWith("metrics"));
  expect(late?.properties?.messageExpiryInterval).toBeGreaterThan(86_400);
});

test("a day's figures are kept, and neither they nor payments displace each other", async () => {
  const { clock, store } = await away();
  store.together(() => {
    for (let i = 0; i < 5_000; i++) store.add("payment", clock.now(), { attempt: i });
  });
  const measured = { atMs: clock.now(), boot: "", upMs: 0, text: "{}" };
  for (let i = 1; i < 1_500; i++) store.keep(measured);
  await pass(clock, 2);
  const kept = store.measured(9_999).map(({ number }) => number);
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([1_440, 62, 1_501]);
  expect(store.waiting).toBe(5_000);
  expect(store.figure("dropped")).toBeUndefined();
});

test.each([
  ["was set back", -3 * HOUR_MS],
  ["was set forward", 2 * HOUR_MS],
  ["began in 2024 and was set at last", 700 * 24 * HOUR_MS],
])("figures of the time away follow each other when the clock %s", async (_, jumpMs) => {
  const { broker, clock, store } = await away();
  await pass(clock, 20);
  clock.jumpWallClock(jumpMs);
  await pass(clock, 20);
  await broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => store.measured(1).length === 0);
  const figures = received(broker);
  expect(figures.length).toBeGreaterThan(40);
  expectNoGap(figures);
  expect(Math.abs(clock.now() - Date.parse(figures.at(-1)?.at ?? ""))).toBeLessThan(MINUTE_MS * 2);
});

test("figures that are older than the machine's boot keep their time", async () => {
  const machine = (boot: string) => ({ machine: { boot } });
  const before = await away(machine("before the power cut"));
  await pass(before.clock, 3);
  const path = before.path;
  await before.stop();
  const { clock } = before;
  clock.jumpWallClock(-HOUR_MS);
  const after = await away({ path, clock, ...machine("after it") });
  await pass(clock, 3);
  await after.broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => after.store.measured(1).length === 0);
  const figures = received(after.broker);
  const turns = figures.filter(({ at }, i) => i > 0 && at < (figures[i - 1]?.at ?? ""));
  expect(turns).toHaveLength(1);
  expect(figures.map(({ number }) => number)).toEqual(figures.map((__, i) => i + 1));
});

test("a fleet.db that a power cut took back loses no later figures", async () => {
  const first = await away();
  const { clock, path } = first;
  await pass(clock, 3);
  await first.stop();
  const before = readFileSync(path);
  const lost = await away({ path, clock });
  await pass(clock, 2);
  await lost.stop();
  writeFileSync(path, before);
  const { broker, store } = await away({ path, clock });
  await pass(clock, 2);
  await broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => store.measured(1).length === 0);
  const numbers = received(broker).map(({ number }) => number);
  expect(numbers).toEqual(numbers.map((__, i) => i + 1));
  expect(numbers.length).toBeGreaterThan(4);
});

test.each([
  ["damaged", 1, "content = '{'"],
  ["with a text of a person", 1, `content = json_set(content, '$.name', 'Ada')`],
  ["two days old", 0, "at_ms = 1, boot = 'another'"],
])("figures that are %s are not sent, and %i is counted", async (_, dropped, change) => {
  const { broker, clock, store, path } = await away();
  await pass(clock, 4);
  const database = new DatabaseSync(path);
  database.exec(`UPDATE measured SET ${change} WHERE number = 2`);
  database.close();
  await broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => store.measured(1).length === 0);
  const numbers = received(broker).map(({ number }) => number);
  expect(numbers.slice(0, 3)).toEqual([1, 3, 4]);
  expect(store.figure("dropped") ?? 0).toBe(dropped);
  expect(JSON.stringify(broker.documents("metrics"))).not.toContain("Ada");
});

test("figures that no disk keeps are sent all the same", async () => {
  const { broker, clock, path } = await away();
  const database = new DatabaseSync(path);
  database.exec("DROP TABLE measured");
  database.close();
  await broker.up();
  await advanceUntil(clock, FLEET_ROUND_MS, () => broker.documents("metrics").length > 0);
  expect(broker.documents("metrics")[0]).not.toHaveProperty("number");
});
