import { expect, test } from "vitest";
import { printStatus } from "../../../src/launcher/commands/status.ts";
import { conditionsOf } from "../../../src/shared/catalog/conditions.ts";
import type { SupervisorStatus } from "../../../src/supervisor/intake/supervisor-status.ts";
import { advanceUntil, openFleet } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

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

test.each([
  ["of MQTT 3.1.1", { opening: Buffer.from("20020001", "hex") }, /not speak MQTT 5, .*1\)$/, true],
  ["of another version", { refuse: 0x84 }, /not speak MQTT 5, .*132\)$/, true],
  ["that refuses the login", { refuse: 0x87 }, /Not authorized$/, true],
  ["that is busy", { refuse: 0x89 }, /Server busy$/, false],
])("a broker %s is named in log and status, and is a condition if it refuses", async (...row) => {
  const [, habits, why, refused] = row;
  const broker = new ScriptedBroker();
  await broker.up();
  Object.assign(broker.habits, habits);
  const { fleet, clock, lines, status } = openFleet({ url: broker.url });
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
