import { expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import type { FleetUpdates } from "../../../src/supervisor/fleet/fleet-requests.ts";
import type { TestClock } from "../../support/clocks/test-clock.ts";
import { advanceUntil, KIOSK, openFleet } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

const topic = `connector/1/${KIOSK}/request`;
const DAY_MS = 86_400_000;

async function commanded(options: Partial<Parameters<typeof openFleet>[0]> = {}) {
  const broker = new ScriptedBroker();
  await broker.up();
  const rig = openFleet({ url: broker.url, commands: true, ...options });
  rig.fleet.start();
  await expect.poll(() => broker.documents("state").length).toBe(1);
  return { broker, ...rig };
}

function requestOf(clock: TestClock, ask: string, more: object = {}) {
  const expires = new Date(clock.now() + 60_000).toISOString();
  return { version: 1, id: newId(), ask, expires, ...more };
}

test("a request for the state is carried out, answered, logged and made an event", async () => {
  const { broker, clock, lines, noted } = await commanded();
  expect(broker.subscribed).toEqual([topic]);
  expect(broker.connects[0]).toMatchObject({
    clean: false,
    properties: { sessionExpiryInterval: 86_400 },
  });
  const request = requestOf(clock, "state");
  broker.request(topic, request);
  await expect.poll(() => broker.documents("reply")).toHaveLength(1);
  expect(broker.documents("reply")[0]).toMatchObject({
    request: request.id,
    ask: "state",
    outcome: "done",
    because: null,
  });
  expect(broker.documents("state")).toHaveLength(2);
  expect(noted).toEqual([`state ${request.id}`]);
  expect(lines.filter((line) => line.includes("the fleet asked for: state"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('"alarm"'))).toEqual([]);
});

test("without FLEET_COMMANDS no request is subscribed to, and each is ignored", async () => {
  const { broker, clock, noted } = await commanded({ commands: false });
  broker.request(topic, requestOf(clock, "state"));
  await advanceUntil(clock, 5_000, () => broker.documents("metrics").length > 0);
  expect(broker.subscribed).toEqual([]);
  expect(broker.documents("reply")).toEqual([]);
  expect(noted).toEqual([]);
});

const ignored: readonly (readonly [string, (clock: TestClock) => readonly [object, boolean]])[] = [
  ["is retained", (clock) => [requestOf(clock, "state"), true]],
  ["has expired", (clock) => [requestOf(clock, "state", { expires: iso(clock, 0) }), false]],
  [
    "is valid for too long",
    (clock) => [requestOf(clock, "state", { expires: iso(clock, 2 * DAY_MS) }), false],
  ],
  ["asks for a payment", (clock) => [requestOf(clock, "payment", { amount: 1 }), false]],
  ["has a member that nobody knows", (clock) => [requestOf(clock, "state", { url: "x" }), false]],
  ["has no id", (clock) => [requestOf(clock, "state", { id: "1" }), false]],
  ["is too large", (clock) => [requestOf(clock, "state", { id: "1".repeat(5_000) }), false]],
];

const iso = (clock: TestClock, inMs: number) => new Date(clock.now() + inMs).toISOString();

test.each(ignored)("a request that %s is ignored", async (_, made) => {
  const { broker, clock } = await commanded();
  broker.request(topic, ...made(clock));
  broker.request(topic, requestOf(clock, "state"));
  await expect.poll(() => broker.documents("reply")).toHaveLength(1);
  expect(broker.documents("state")).toHaveLength(2);
});

test("a repeated request is carried out once, also after a restart", async () => {
  const first = await commanded();
  const { broker, clock } = first;
  const request = requestOf(clock, "state");
  broker.request(topic, request);
  broker.request(topic, request);
  await expect.poll(() => broker.documents("reply")).toHaveLength(1);
  await first.stop();
  const second = openFleet({ url: broker.url, clock, commands: true, path: first.path });
  second.fleet.start();
  await expect.poll(() => broker.connections).toBe(1);
  await expect.poll(() => broker.subscribed.length).toBe(2);
  broker.request(topic, request);
  broker.request(topic, requestOf(clock, "state"));
  await expect.poll(() => broker.documents("reply")).toHaveLength(2);
  expect(broker.documents("reply").filter((one) => one["request"] === request.id)).toHaveLength(1);
});

test("more requests than 30 in an hour are ignored, with one line of the log", async () => {
  const { broker, clock, lines } = await commanded();
  for (let i = 0; i < 35; i++) broker.request(topic, requestOf(clock, "state"));
  await expect.poll(() => broker.documents("reply").length).toBe(30);
  await clock.advance(0);
  expect(lines.filter((line) => line.includes("too many came in an hour"))).toHaveLength(1);
});

test.each(["check-update", "hold-updates"])("%s is not available without updates", async (ask) => {
  const { broker, clock } = await commanded();
  broker.request(topic, requestOf(clock, ask));
  await expect.poll(() => broker.documents("reply")).toMatchObject([{ outcome: "not-available" }]);
});

test("a support bundle goes below the configured address, and nowhere without one", async () => {
  const asked: string[] = [];
  const upload = (id: string) => {
    asked.push(id);
    return Promise.resolve("upload-failed" as const);
  };
  const { broker, clock } = await commanded({ upload });
  const request = requestOf(clock, "support-bundle");
  broker.request(topic, request);
  const failed = { outcome: "failed", because: "upload-failed" };
  await expect.poll(() => broker.documents("reply")).toMatchObject([failed]);
  expect(asked).toEqual([request.id]);
  const bare = await commanded();
  bare.broker.request(topic, requestOf(bare.clock, "support-bundle"));
  const refused = { outcome: "refused", because: "no-upload-address" };
  await expect.poll(() => bare.broker.documents("reply")).toMatchObject([refused]);
});

test("the holds of a version last 14 days in all, and the end of a hold is an alarm", async () => {
  const holds: (number | null)[] = [];
  const updates = {
    offered: "1.2.3" as string | null,
    checkNow: () => "begun" as const,
    holdUntil: (untilMs: number | null) => holds.push(untilMs) > 0,
  } satisfies FleetUpdates;
  const { broker, clock, lines, store } = await commanded({ updates });
  const ask = async (days: number, count: number): Promise<unknown> => {
    broker.request(topic, requestOf(clock, "hold-updates", { days }));
    await expect.poll(() => broker.documents("reply")).toHaveLength(count);
    return broker.documents("reply").at(-1)?.["because"];
  };
  const startMs = clock.now();
  expect(await ask(10, 1)).toBeNull();
  expect(holds).toEqual([startMs + 10 * DAY_MS]);
  clock.jumpWallClock(6 * DAY_MS);
  // Eight days are left, whatever is asked for.
  expect(await ask(14, 2)).toBeNull();
  expect(holds.at(-1)).toBe(startMs + 14 * DAY_MS);
  clock.jumpWallClock(8 * DAY_MS);
  await clock.advance(5_000);
  expect(holds.at(-1)).toBeNull();
  expect(lines.filter((line) => line.includes('"alarm":"update-hold-ended"'))).toHaveLength(1);
  expect(await ask(1, 3)).toBe("hold-used-up");
  expect(store.runningHolds).toEqual([]);
  updates.offered = "1.2.4";
  expect(await ask(1, 4)).toBeNull();
  expect(await ask(0, 5)).toBeNull();
  expect(holds.at(-1)).toBeNull();
});

function heldUpdates() {
  const holds: (number | null)[] = [];
  const updates = {
    offered: "1.2.3",
    takes: true,
    checkNow: () => "begun" as const,
    holdUntil: (untilMs: number | null) => updates.takes && holds.push(untilMs) > 0,
  };
  return { holds, updates: updates satisfies FleetUpdates };
}

test("a hold is refused while an operator holds updates, and uses up no days", async () => {
  const { updates } = heldUpdates();
  updates.takes = false;
  const { broker, clock, store } = await commanded({ updates });
  broker.request(topic, requestOf(clock, "hold-updates", { days: 3 }));
  const refused = { outcome: "refused", because: "held-on-the-spot" };
  await expect.poll(() => broker.documents("reply")).toMatchObject([refused]);
  expect(store.holdOf("1.2.3")).toBeUndefined();
});

test("a request whose event cannot be stored is not carried out", async () => {
  const { holds, updates } = heldUpdates();
  const note = () => {
    throw new Error("database or disk is full");
  };
  const { broker, clock } = await commanded({ updates, note });
  broker.request(topic, requestOf(clock, "hold-updates", { days: 3 }));
  await expect.poll(() => broker.documents("reply")).toMatchObject([{ outcome: "failed" }]);
  expect(holds).toEqual([]);
});

test("a request for no days ends the fleet's hold, although an operator's goes on", async () => {
  const { updates } = heldUpdates();
  const { broker, clock, store, lines } = await commanded({ updates });
  const fromMs = clock.now();
  store.setHold("1.2.3", { usedMs: 0, fromMs, untilMs: fromMs + 3 * DAY_MS });
  updates.takes = false;
  clock.jumpWallClock(DAY_MS);
  broker.request(topic, requestOf(clock, "hold-updates", { days: 0 }));
  const refused = { outcome: "refused", because: "held-on-the-spot" };
  await expect.poll(() => broker.documents("reply")).toMatchObject([refused]);
  expect(store.runningHolds).toEqual([]);
  expect(store.holdOf("1.2.3")?.usedMs).toBe(DAY_MS);
  clock.jumpWallClock(3 * DAY_MS);
  await clock.advance(5_000);
  expect(lines.filter((line) => line.includes("update-hold-ended"))).toEqual([]);
});

test("the alarm of a hold's end says that an operator's hold goes on", async () => {
  const { updates } = heldUpdates();
  const { clock, store, lines } = await commanded({ updates });
  const fromMs = clock.now();
  store.setHold("1.2.3", { usedMs: 0, fromMs, untilMs: fromMs + DAY_MS });
  updates.takes = false;
  clock.jumpWallClock(2 * DAY_MS);
  await clock.advance(5_000);
  const alarms = lines.filter((line) => line.includes('"alarm":"update-hold-ended"'));
  expect(alarms).toHaveLength(1);
  expect(alarms[0]).toContain("an operator still holds updates");
});

test("the end of one version's hold does not end the hold of another version", async () => {
  const { holds, updates } = heldUpdates();
  const { clock, store } = await commanded({ updates });
  const fromMs = clock.now();
  store.setHold("1.2.2", { usedMs: 0, fromMs, untilMs: fromMs + DAY_MS });
  store.setHold("1.2.3", { usedMs: 0, fromMs, untilMs: fromMs + 3 * DAY_MS });
  clock.jumpWallClock(2 * DAY_MS);
  await clock.advance(5_000);
  expect(holds).toEqual([fromMs + 3 * DAY_MS]);
  expect(store.runningHolds.map(({ version }) => version)).toEqual(["1.2.3"]);
});

test.each([0, 2])("a request for %i days ends the holds of other versions", async (days) => {
  const { holds, updates } = heldUpdates();
  const { broker, clock, store } = await commanded({ updates });
  const fromMs = clock.now();
  store.setHold("1.2.2", { usedMs: 0, fromMs, untilMs: fromMs + 9 * DAY_MS });
  clock.jumpWallClock(DAY_MS);
  broker.request(topic, requestOf(clock, "hold-updates", { days }));
  await expect.poll(() => broker.documents("reply")).toMatchObject([{ outcome: "done" }]);
  expect(holds).toEqual([days === 0 ? null : clock.now() + days * DAY_MS]);
  expect(store.runningHolds.map(({ version }) => version)).toEqual(days === 0 ? [] : ["1.2.3"]);
  expect(store.holdOf("1.2.2")?.usedMs).toBe(DAY_MS);
});

test("a request that a kept session brings at the connection is answered", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { clock, fleet } = openFleet({ url: broker.url, commands: true });
  const payload = JSON.stringify(requestOf(clock, "state"));
  const message = { topic, payload, qos: 1, messageId: 9, retain: false, dup: false } as const;
  broker.habits.following = { cmd: "publish", ...message };
  fleet.start();
  await expect.poll(() => broker.documents("reply")).toMatchObject([{ outcome: "done" }]);
});

test("a request whose work has a fault is answered as failed", async () => {
  const upload = () => Promise.reject(new SyntaxError("no JSON"));
  const { broker, clock } = await commanded({ upload });
  broker.request(topic, requestOf(clock, "support-bundle"));
  await expect.poll(() => broker.documents("reply")).toMatchObject([{ outcome: "failed" }]);
  broker.request(topic, requestOf(clock, "support-bundle"));
  await expect.poll(() => broker.documents("reply")).toHaveLength(2);
  expect(broker.documents("reply")[1]).toMatchObject({ outcome: "failed", because: null });
});
