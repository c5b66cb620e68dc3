import { expect, test } from "vitest";
import { printStatus } from "../../../src/launcher/commands/status.ts";
import { conditionsOf } from "../../../src/shared/catalog/conditions.ts";
import { parseConfig } from "../../../src/shared/config/config.ts";
import { takesRequests } from "../../../src/shared/config/schema.ts";
import type { BrokerSettings } from "../../../src/supervisor/fleet/broker.ts";
import type { SupervisorStatus } from "../../../src/supervisor/intake/supervisor-status.ts";
import { setupText } from "../../shared/config/setup-text.ts";
import { advanceUntil, FLEET_ROUND_MS, openFleet } from "./fleet-rig.ts";
import { type BrokerHabits, ScriptedBroker } from "./scripted-broker.ts";

/** What status and conditions make of a connection to the fleet's broker. */
function facesOf(fleet: SupervisorStatus["fleet"]) {
  const outbox = { pending: 0, parked: 0, sent: 0, oldestAgeMs: null, paused: null };
  const status = { program: "supervisor", version: "1", pid: 1, uptimeMs: 1, outbox } as const;
  const supervisor = { ...status, fleet };
  const rows: string[] = [];
  const output = { note: () => {}, row: (...cells: string[]) => void rows.push(cells.join(" ")) };
  const programs = [{ program: "supervisor", state: "running", pid: 1, status: supervisor }];
  const installation = { well: true, stoppedSince: null, programs, troubles: [], simulators: [] };
  printStatus(installation as never, output as never);
  const conditions = conditionsOf({ supervisor, tpManager: undefined });
  return { rows, conditions: conditions.map(({ name, says }) => `${name}: ${says}`) };
}

type Row = readonly [string, Partial<BrokerHabits> & Pick<BrokerSettings, "mqtt">, RegExp, boolean];

test.each<Row>([
  [
    "of MQTT 3.1.1",
    { opening: Buffer.from("20020001", "hex") },
    /not speak MQTT 5 \(CONNACK 1\)$/,
    true,
  ],
  ["of another version", { refuse: 0x84 }, /not speak MQTT 5 \(CONNACK 132\)$/, true],
  ["without 3.1.1", { refuse: 1, mqtt: "3.1.1" }, /not speak MQTT 3\.1\.1 \(CONNACK 1\)$/, true],
  ["that refuses the login", { refuse: 0x87 }, /Not authorized$/, true],
  ["that is busy", { refuse: 0x89 }, /Server busy$/, false],
])("a broker %s is named in log and status, and is a condition if it refuses", async (...row) => {
  const [, { mqtt = "5", ...habits }, why, refused] = row;
  const broker = new ScriptedBroker();
  await broker.up();
  Object.assign(broker.habits, habits);
  const { fleet, clock, lines, status } = openFleet({ url: broker.url, broker: { mqtt } });
  fleet.start();
  const sinceMs = clock.now();
  await expect.poll(status).toEqual({ fault: expect.stringMatching(why), refused, sinceMs });
  expect(lines.at(-1)).toContain(
    `there is no connection to the fleet's broker: ${status()?.fault}`,
  );
  const says = `fleet-refused: The fleet's broker refuses this kiosk: ${status()?.fault}`;
  const { rows, conditions } = facesOf(status());
  expect(conditions).toEqual(refused ? [says] : []);
  expect(rows.at(-1)).toMatch(/^fleet warn not connected .*, since 20/);
  // The next tries do not change since when.
  await advanceUntil(clock, 1_000, () => broker.connects.length > 2);
  expect(status()).toMatchObject({ refused, sinceMs });
  Object.assign(broker.habits, { opening: undefined, refuse: 0 });
  await advanceUntil(clock, 1_000, () => status()?.fault === null);
  const well = facesOf(status());
  expect(well.conditions).toEqual([]);
  expect(well.rows.at(-1)).toMatch(/^fleet good connected since 20/);
});

test("a broker that closes the first three connections without an answer refuses", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  broker.habits.closes = true;
  const { fleet, clock, lines, status } = openFleet({ url: broker.url });
  fleet.start();
  const fault = "the broker closed the connection without an answer, as one without MQTT 5 may do";
  await expect.poll(status).toMatchObject({ fault, refused: false });
  await advanceUntil(clock, 1_000, () => status()?.refused === true);
  expect(broker.connects).toHaveLength(3);
  expect(lines.at(-1)).toContain(fault);
  broker.habits.closes = false;
  await advanceUntil(clock, 1_000, () => status()?.fault === null);
  // It speaks MQTT 5 then: a balancer whose broker is away closes too.
  broker.habits.closes = true;
  broker.drop();
  await advanceUntil(clock, 1_000, () => broker.connects.length > 9);
  expect(status()).toMatchObject({ fault, refused: false });
});

test("a refusal after a failure is logged at once, and counts from its beginning", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  await broker.down();
  const { fleet, clock, lines, status } = openFleet({ url: broker.url });
  fleet.start();
  await expect.poll(() => lines.at(-1)).toContain("ECONNREFUSED");
  broker.habits.refuse = 0x84;
  await broker.up();
  const fromMs = clock.now();
  await advanceUntil(clock, 1_000, () => status()?.refused === true);
  expect(status()?.sinceMs).toBeGreaterThan(fromMs);
  expect(lines.at(-1)).toContain("not speak MQTT 5");
});

async function openOlder(habits: Partial<BrokerHabits> = {}) {
  const broker = new ScriptedBroker();
  await broker.up();
  Object.assign(broker.habits, habits);
  const rig = openFleet({ url: broker.url, broker: { mqtt: "3.1.1" } });
  rig.fleet.start();
  await expect.poll(() => broker.documents("state").length).toBe(1);
  return { broker, ...rig };
}

test("by MQTT 3.1.1 the same documents are sent, without what only MQTT 5 has", async () => {
  const { broker, clock, tpManager, store, stop } = await openOlder();
  const will = { topic: "connector/1/kiosk-7/state", qos: 1, retain: true };
  expect(broker.connects).toMatchObject([{ protocolVersion: 4, clean: true, keepalive: 14, will }]);
  tpManager.payment("charged");
  await clock.advance(FLEET_ROUND_MS);
  await expect.poll(() => broker.documents("payment")).toHaveLength(1);
  await expect.poll(() => store.waiting).toBe(0);
  expect(broker.published.map(({ qos, retain }) => [qos, retain])).toEqual([
    [1, true],
    [1, false],
  ]);
  expect(broker.published.flatMap(({ properties }) => properties ?? [])).toEqual([]);
  expect(broker.subscribed).toEqual([]);
  await stop();
  expect(broker.documents("state").at(-1)).toMatchObject({ connection: "stopped" });
  expect(broker.farewells).toHaveLength(1);
  expect(broker.wills).toEqual([]);
});

test("by MQTT 3.1.1 a twin is noticed, and a forbidden topic is no twin", async () => {
  const twin = await openOlder();
  const isAlarmed = () => twin.lines.some((line) => line.includes('"alarm":"fleet-twin"'));
  for (let births = 1; births <= 3; births++) {
    await expect.poll(() => twin.broker.documents("state").length).toBe(births);
    // The PUBACK of a later document shows that the broker has taken the state.
    twin.tpManager.payment("charged", { attempt: births });
    await twin.clock.advance(FLEET_ROUND_MS);
    await expect.poll(() => twin.broker.documents("payment").length).toBe(births);
    await expect.poll(() => twin.store.waiting).toBe(0);
    expect(isAlarmed()).toBe(false);
    twin.broker.drop();
    await expect.poll(() => twin.status()?.fault).not.toBe(null);
    if (births < 3) await advanceUntil(twin.clock, 1_000, () => twin.status()?.fault === null);
  }
  expect(isAlarmed()).toBe(true);
  const denied = await openOlder({ holdsBack: true });
  for (let births = 1; births <= 4; births++) {
    await expect.poll(() => denied.broker.documents("state").length).toBe(births);
    denied.broker.drop();
    await expect.poll(() => denied.status()?.fault).toMatch(/before it took a message/);
    await advanceUntil(denied.clock, 1_000, () => denied.status()?.fault === null);
  }
  expect(denied.lines.filter((line) => line.includes("fleet-twin"))).toEqual([]);
});

test("requests of the fleet by MQTT 3.1.1 are a warning, and are not accepted", () => {
  const read = (more: Record<string, string>) =>
    parseConfig(setupText({ FLEET_COMMANDS: "yes", ...more }), "supervisor");
  const { config, warnings } = read({ FLEET_MQTT: "3.1.1" });
  expect(warnings).toEqual([
    expect.stringMatching(/^FLEET_COMMANDS has no effect with FLEET_MQTT/),
  ]);
  expect(config && takesRequests(config)).toBe(false);
  const five = read({});
  expect(five.warnings).toEqual([]);
  expect(five.config && takesRequests(five.config)).toBe(true);
});
