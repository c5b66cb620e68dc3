import { expect, onTestFinished, test } from "vitest";
import { startDailyCheck } from "../../src/supervisor/updates/daily-checks.ts";
import { TestClock } from "../support/clocks/test-clock.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const local = (hours: number, minutes = 0): number =>
  new Date(2026, 0, 15, hours, minutes).getTime();

/** A supervisor that checks at 03:40, with the moments of its checks. */
function looking(clock: TestClock, last: number | null, lasts = (): Promise<void> => done) {
  const checks: string[] = [];
  let lastMs = last;
  const daily = startDailyCheck({
    at: "03:40",
    lastMs: () => lastMs,
    clock,
    check: async () => {
      checks.push(new Date(clock.now()).toTimeString().slice(0, 5));
      await lasts();
      lastMs = clock.now();
    },
  });
  onTestFinished(() => daily.stop());
  return checks;
}
const done = Promise.resolve();

test("a check comes each day at its time, once", async () => {
  const clock = new TestClock(local(12));
  const checks = looking(clock, local(3, 41));
  await clock.advance(3 * DAY_MS);
  expect(checks).toEqual(["03:40", "03:40", "03:40"]);
});

test("a machine that was off at the time of its check checks after its start", async () => {
  const clock = new TestClock(local(8));
  const checks = looking(clock, local(3, 41) - DAY_MS);
  await clock.advance(13 * 60_000);
  expect(checks).toEqual([]);
  await clock.advance(DAY_MS);
  expect(checks).toEqual(["08:14", "03:40"]);
});

test("a machine that is off each night, or has never checked, checks after its start", async () => {
  for (const last of [local(8, 30) - DAY_MS, null]) {
    const clock = new TestClock(local(8));
    const checks = looking(clock, last);
    await clock.advance(10 * HOUR_MS);
    expect(checks).toEqual(["08:14"]);
  }
});

test("a machine that slept at the time of its check checks when it is awake", async () => {
  const clock = new TestClock(local(23));
  const checks = looking(clock, local(3, 41));
  await clock.advance(HOUR_MS);
  clock.jumpWallClock(7 * HOUR_MS);
  await clock.advance(HOUR_MS);
  expect(checks).toEqual(["07:01"]);
});

test("a check that a wrong clock dated years ahead does not prevent the next one", async () => {
  const clock = new TestClock(local(12));
  const checks = looking(clock, local(12) + 900 * DAY_MS);
  await clock.advance(2 * HOUR_MS);
  expect(checks).toEqual(["12:14"]);
});

test("no check begins during another, and none is repeated whose record failed", async () => {
  const clock = new TestClock(local(3, 39));
  const checks = looking(clock, local(3, 41) - DAY_MS, () => new Promise(() => {}));
  await clock.advance(2 * DAY_MS);
  expect(checks).toEqual(["03:40"]);
  const second = new TestClock(local(3, 39));
  const failing = looking(second, null, () => Promise.reject(new Error("disk full")).catch(fail));
  await second.advance(HOUR_MS);
  expect(failing).toEqual(["03:40"]);
});

const fail = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
