import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import type { ProgramContext } from "../../../src/shared/program/lifecycle.ts";
import { FleetFiles } from "../../../src/supervisor/fleet-files.ts";
import { startFleet } from "../../../src/supervisor/start-fleet.ts";
import { updatesIn } from "../../../src/supervisor/updates/fleet-updates.ts";
import { checkInItsOwnProgram } from "../../../src/supervisor/updates/update-checks.ts";
import { endHold, installationId, readHold, writeHold } from "../../../src/update/update-state.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { recordingLog } from "../../support/house/recording-log.ts";
import { advanceUntil, FLEET_ROUND_MS, openFleet } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

// A rejection that nobody takes ends the supervisor; here it fails the run of the tests.

const full = (): never => {
  throw new Error("database or disk is full");
};

test("a full disk at a refused document ends the connection, and nothing else", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { fleet, clock, tpManager, store, lines } = openFleet({ url: broker.url });
  fleet.start();
  await expect.poll(() => broker.documents("state").length).toBe(1);
  const count = vi.spyOn(store, "count").mockImplementation(full);
  broker.habits.answer = 0x99;
  store.add("payment", clock.now(), { attempt: 1 });
  await clock.advance(FLEET_ROUND_MS);
  await expect.poll(() => lines.some((line) => line.includes("could not use"))).toBe(true);
  await expect.poll(() => broker.documents("state").at(-1)?.["connection"]).toBe("lost");
  await advanceUntil(clock, 1_000, () => broker.connects.length > 4);
  const fromMs = clock.monotonicMs();
  await advanceUntil(clock, 5_000, () => clock.monotonicMs() > fromMs + 3_600_000);
  expect(broker.connects.length).toBeLessThan(25);
  count.mockRestore();
  broker.habits.answer = 0;
  tpManager.payment("charged", { attempt: 2 });
  await advanceUntil(clock, 5_000, () => store.waiting === 0);
});

test("a full disk at an expired document ends no program at the connection", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { fleet, clock, store } = openFleet({ url: broker.url });
  store.add("payment", clock.now(), { attempt: 1 });
  clock.jumpWallClock(8 * 86_400_000);
  const count = vi.spyOn(store, "count").mockImplementation(full);
  fleet.start();
  await advanceUntil(clock, 1_000, () => broker.connects.length > 2);
  count.mockRestore();
  await advanceUntil(clock, 5_000, () => store.waiting === 0);
  expect(store.figure("dropped")).toBe(1);
});

test.each([
  ["of a damaged row", "content = '{\"attempt\":'"],
  ["of a newer version", "name = 'weather'"],
])("a document %s is dropped, and the others are published", async (_, change) => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { fleet, clock, store, path } = openFleet({ url: broker.url });
  for (const attempt of [1, 2, 3]) store.add("payment", clock.now(), { attempt });
  const database = new DatabaseSync(path);
  database.exec(`UPDATE document SET ${change} WHERE sequence = 2`);
  database.close();
  fleet.start();
  await expect.poll(() => store.waiting).toBe(0);
  expect(broker.documents("payment").map(({ attempt }) => attempt)).toEqual([1, 3]);
  expect(store.figure("dropped")).toBe(1);
});

test("a fleet.db that cannot be created does not keep the supervisor from starting", () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  const { log, lines } = recordingLog();
  const context = {
    config: { FLEET_URL: "mqtt://127.0.0.1:1", FLEET_ID: "a", FLEET_PAYMENTS: true },
    installation: { dataDirectory: join(file, "data") },
    runDirectory: file,
    clock: new TestClock(),
    onStop: () => {},
  } as unknown as ProgramContext;
  startFleet(context, log, new FleetFiles({}, context.clock), full, full);
  expect(lines.some((line) => line.includes("the link to the fleet"))).toBe(true);
});

test("without FLEET_ID the kiosk has the name of its installation", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const stops: (() => unknown)[] = [];
  const folder = temporaryFolder();
  const clock = new TestClock();
  const context = {
    config: { FLEET_URL: broker.url, FLEET_PAYMENTS: true, FLEET_COMMANDS: false },
    installation: { dataDirectory: folder },
    runDirectory: folder,
    clock,
    onStop: (_: string, stop: () => unknown) => stops.unshift(stop),
  } as unknown as ProgramContext;
  const { log } = recordingLog();
  startFleet(context, log, new FleetFiles({}, clock), full, full);
  await expect.poll(() => broker.connects[0]?.clientId).toBe(`connector-${installationId(folder)}`);
  const will = JSON.parse(String(broker.connects[0]?.will?.payload));
  expect([will.kiosk, will.installation]).toEqual(Array(2).fill(installationId(folder)));
  await broker.down();
  for (const stop of stops) await stop();
});

test("a check for updates that cannot begin is logged, and the next one may begin", async () => {
  const { log, lines } = recordingLog();
  const check = (folder: string) =>
    checkInItsOwnProgram(folder, log, () => {
      throw new Error("no process can be made");
    });
  const updates = updatesIn("", new TestClock(), log, check);
  expect(updates.checkNow()).toBe("begun");
  expect(updates.checkNow()).toBe("busy");
  await expect.poll(() => lines.some((line) => line.includes("no process can be made"))).toBe(true);
  expect(updates.checkNow()).toBe("begun");
});

test("a hold of an operator stays, and the fleet's request is refused", () => {
  const dataDirectory = temporaryFolder();
  const clock = new TestClock();
  const updates = updatesIn(dataDirectory, clock, recordingLog().log);
  const nowMs = clock.now();
  const ours = { who: "an operator", sinceMs: nowMs, untilMs: nowMs + 1_000 };
  writeHold(dataDirectory, ours);
  expect(updates.holdUntil(nowMs + 9_000)).toBe(false);
  expect(updates.holdUntil(null)).toBe(false);
  expect(readHold(dataDirectory, nowMs)).toEqual(ours);
  endHold(dataDirectory);
  expect(updates.holdUntil(nowMs + 9_000)).toBe(true);
  expect(readHold(dataDirectory, nowMs)).toMatchObject({ untilMs: nowMs + 9_000 });
  expect(updates.holdUntil(null)).toBe(true);
  expect(readHold(dataDirectory, nowMs)).toBeUndefined();
});
