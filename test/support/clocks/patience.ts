import { spawnSync } from "node:child_process";

/** How long a bare Node.js takes to start on an idle machine of a kiosk's kind. */
const NOMINAL_START_MS = 120;
/** No machine counts as slower than this, however long its longest start takes. */
const SLOWNESS_MAX = 20;
/** A wait that fails ends before its test does, so that the failure names what was waited for. */
const PATIENCE_MAX_MS = 10 * 60_000;
/** A test that fails is over within this, however slow the machine is. */
const TEST_LIMIT_MAX_MS = 20 * 60_000;

/**
 * How many times slower than an idle machine this one is, 1 at least: the longest of three first
 * starts. Measured once, in the program that starts the tests; its children get the result.
 */
const slowness = Number(process.env["TEST_SLOWNESS"] ?? measured());
process.env["TEST_SLOWNESS"] = String(slowness);

/**
 * How long a test waits for something that takes moments. Only a test that fails waits so long, and
 * load that comes after the measuring is allowed for.
 */
export const PATIENCE_MS = Math.min(Math.round(60_000 * slowness), PATIENCE_MAX_MS);

/** A test does much of that, one after the other. */
export const TEST_LIMIT_MS = Math.min(8 * PATIENCE_MS, TEST_LIMIT_MAX_MS);

/** For times of the product that a test has made shorter than any customer's. */
export const asSlow = (ms: number, maxMs = Number.POSITIVE_INFINITY): number =>
  Math.min(Math.round(ms * slowness), maxMs);

/** A time of several programs, as it would be on an idle machine: for load that came later. */
export const asIdle = (ms: number): number => ms / measured();

function measured(): number {
  const starts = [1, 2, 3].map(() => {
    const startedMs = performance.now();
    spawnSync(process.execPath, ["-e", ""]);
    return performance.now() - startedMs;
  });
  const times = Math.max(...starts) / NOMINAL_START_MS;
  return Math.round(10 * Math.min(Math.max(times, 1), SLOWNESS_MAX)) / 10;
}
