import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { afterAll, test as alone, beforeAll, describe, expect } from "vitest";
import { asSlow } from "../support/clocks/patience.ts";
import { isWhole } from "../support/run/scope.ts";
import { completeConfig, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

const AT_ONCE = isWhole ? 20 : 3;
/** Most of the time is waiting for processes, each test with a data folder of its own. */
const test = alone.concurrent;
// All of them share the cores of a machine that others use too.
let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

/** Seconds in which a program that runs answers, and one that does not is waited for. */
const shortly = String(asSlow(1_000) / 1_000);
const quiet = { code: 0, out: "", err: "" };
const pids = (data: string) =>
  ["tp-manager", "supervisor"].map((program) => checkout.running(program, data));

// One installation, on which every test goes on from the one before.
describe("a check of what runs, is stopped and runs again", () => {
  let data: string;

  /** Starts what an earlier test has ended, and lets go on what it has held. */
  async function bothRun(): Promise<void> {
    const running = pids(data);
    for (const pid of running.flat()) process.kill(pid, "SIGCONT");
    if (running.every((found) => found.length === 1)) return;
    await checkout.launch("--data", data);
  }

  alone("says, writes and changes nothing when all is well", async () => {
    data = checkout.dataFolder("well");
    await checkout.launch("--data", data);
    const before = { pids: pids(data), run: readdirSync(join(data, "run")).sort() };
    expect(before.pids.map((found) => found.length)).toEqual([1, 1]);
    expect(await checkout.alwaysUp("--data", data)).toEqual(quiet);
    expect({ pids: pids(data), run: readdirSync(join(data, "run")).sort() }).toEqual(before);
    expect(readdirSync(join(data, "logs"))).not.toContain("keep-alive.log");
  });

  alone("a program that does not answer twice in a row is replaced", async () => {
    await bothRun();
    const [manager, [supervisor]] = pids(data) as [number[], [number]];
    process.kill(supervisor, "SIGSTOP");
    const first = await checkout.alwaysUp("--data", data, "--answer-within", shortly);
    expect(first.code).toBe(69);
    expect(first.out).toMatch(/^supervisor does not answer; /);
    expect(pids(data)).toEqual([manager, [supervisor]]);
    const second = await checkout.alwaysUp("--data", data, "--answer-within", shortly);
    expect(second.code).toBe(0);
    expect(second.out).toMatch(
      /^supervisor was hung \(2 checks without an answer\): relaunched, pid /,
    );
    const after = pids(data);
    expect(after[0]).toEqual(manager);
    expect(after[1]).toHaveLength(1);
    expect(after[1]).not.toContain(supervisor);
  });

  alone("a program that answers again after a failed check is not replaced", async () => {
    await bothRun();
    const before = pids(data);
    const supervisor = before[1]?.[0] as number;
    const check = () => checkout.alwaysUp("--data", data, "--answer-within", shortly);
    process.kill(supervisor, "SIGSTOP");
    expect((await check()).code).toBe(69);
    process.kill(supervisor, "SIGCONT");
    expect(await check()).toEqual(quiet);
    process.kill(supervisor, "SIGSTOP");
    expect((await check()).code).toBe(69);
    process.kill(supervisor, "SIGCONT");
    expect(pids(data)).toEqual(before);
  });

  alone("relaunches what is dead, says so once, and is quiet again", async () => {
    await bothRun();
    const [[manager], supervisor] = pids(data) as [[number], number[]];
    const log = join(data, "logs/keep-alive.log");
    rmSync(log, { force: true });
    process.kill(manager, "SIGKILL");
    const check = await checkout.alwaysUp("--data", data);
    const [[replacement]] = pids(data) as [[number]];
    expect(check).toEqual({
      code: 0,
      out: `tp-manager was not running: relaunched, pid ${replacement}\n`,
      err: "",
    });
    expect(replacement).not.toBe(manager);
    expect(checkout.running("supervisor", data)).toEqual(supervisor);
    expect(readFileSync(log, "utf8")).toMatch(
      /^\d{4}-\S+Z tp-manager was not running: relaunched, pid \d+\n$/,
    );
    expect(await checkout.alwaysUp("--data", data)).toEqual(quiet);
  });

  alone("respects a deliberate stop, also after a reboot", async () => {
    await checkout.launch("stop", "--data", data);
    expect(await checkout.alwaysUp("--data", data)).toEqual(quiet);
    expect(pids(data)).toEqual([[], []]);
    const memory = { bootMs: 1, configMs: 1, programs: {} };
    writeFileSync(join(data, "run/keep-alive.json"), JSON.stringify(memory));
    expect(await checkout.alwaysUp("--data", data)).toEqual(quiet);
    expect(pids(data)).toEqual([[], []]);
  });

  // After a reboot (below) more is left than after this start.
  alone.skipIf(!isWhole)(
    "starts both after the next start, whatever sockets and records were left",
    async () => {
      await checkout.launch("start", "--data", data);
      for (const pid of pids(data).flat()) process.kill(pid, "SIGKILL");
      expect((await checkout.alwaysUp("--data", data)).code).toBe(0);
      expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
    },
  );

  alone("after a reboot starts both programs, whatever files were left", async () => {
    const run = (name: string) => join(data, "run", name);
    await bothRun();
    for (const pid of pids(data).flat()) process.kill(pid, "SIGKILL");
    // A file half-written by the power cut; a socket in a temporary folder that the boot has
    // emptied; a pause from before the boot, and process ids that belong to other processes by now.
    for (const lock of ["tp-manager.lock", "launcher.lock"]) writeFileSync(run(lock), "\0x4711");
    writeFileSync(run("supervisor.address"), "/tmp/utc-gone-since/supervisor.sock");
    writeFileSync(run("tp-manager.address"), "");
    writeFileSync(run("tp-manager.1.alive"), "");
    const hourMs = 3_600_000;
    const failing = { missed: 1, failures: 9, kind: "died", launchedMs: 0 };
    const paused = { ...failing, notBeforeMs: Date.now() + 9 * 60_000 };
    const memory = {
      configMs: statSync(join(data, "config.txt")).mtimeMs,
      programs: {} as object,
    };
    memory.programs = { "tp-manager": paused, supervisor: paused };
    const bootMs = Math.round(Date.now() - uptime() * 1_000);
    writeFileSync(run("keep-alive.json"), JSON.stringify({ ...memory, bootMs }));
    expect(await checkout.alwaysUp("--data", data)).toEqual({ code: 69, out: "", err: "" });
    writeFileSync(run("keep-alive.json"), JSON.stringify({ ...memory, bootMs: bootMs - hourMs }));
    const check = await checkout.alwaysUp("--data", data);
    expect(check.out.match(/was not running: relaunched/g)).toHaveLength(2);
    expect(check.code).toBe(0);
    expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
    expect(await checkout.alwaysUp("--data", data)).toEqual(quiet);
  });
});

test("respects a stop that an older version wrote, until the next start", async () => {
  const data = checkout.dataFolder("old-stop");
  mkdirSync(join(data, "run"));
  writeFileSync(join(data, "run/stopped"), "2026-01-01T00:00:00.000Z");
  expect(await checkout.alwaysUp("--data", data)).toEqual(quiet);
  expect(pids(data)).toEqual([[], []]);
  const status = await checkout.launch("status", "--data", data);
  expect(status.out).toContain("An operator stopped the programs at 2026-01-01T00:00:00.000Z");
  await checkout.launch("start", "--data", data);
  expect(existsSync(join(data, "run/stopped"))).toBe(false);
});

alone("many checks at once start one copy of each program", async () => {
  const data = checkout.dataFolder("twenty");
  const checks = await Promise.all(
    Array.from({ length: AT_ONCE }, () => checkout.alwaysUp("--data", data)),
  );
  expect(checks.map(({ code, err }) => ({ code, err }))).toEqual(
    Array.from({ length: AT_ONCE }, () => ({ code: 0, err: "" })),
  );
  expect(checks.flatMap(({ out }) => out.match(/relaunched/g) ?? [])).toHaveLength(2);
  expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
});

test("a wrong setup file is tried with pauses, and at once when it is corrected", async () => {
  const data = checkout.dataFolder("wrong", completeConfig.replace("8765", "none"));
  const attempts = () =>
    readFileSync(join(data, "logs/tp-manager.log"), "utf8").match(/"level":"fatal"/g)?.length;
  const first = await checkout.alwaysUp("--data", data);
  expect(first.code).toBe(78);
  expect(first.out).toMatch(/LOCAL_PORT must be a whole number.*\(found "none"\)/);
  expect(first.out).toContain("tried again at the next check");
  const second = await checkout.alwaysUp("--data", data);
  expect(second.out).toContain("(2 in a row), tried again in 4 min");
  expect(attempts()).toBe(2);
  const third = await checkout.alwaysUp("--data", data);
  expect(third).toEqual({ code: 69, out: "", err: "" });
  expect(attempts()).toBe(2);
  writeFileSync(join(data, "config.txt"), completeConfig);
  utimesSync(join(data, "config.txt"), new Date(), new Date(Date.now() + 5_000));
  expect((await checkout.alwaysUp("--data", data)).code).toBe(0);
  expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
});

test("a check during a start or stop leaves the work to the running command", async () => {
  const data = checkout.dataFolder("meanwhile");
  const [started, ...checks] = await Promise.all([
    checkout.launch("--data", data),
    checkout.alwaysUp("--data", data),
    checkout.alwaysUp("--data", data),
  ]);
  expect([started, ...checks].map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
});
