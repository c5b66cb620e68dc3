import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { readState } from "../../src/update/update-state.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { demoFolder } from "../support/programs/demo-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { Publisher } from "../support/programs/publisher.ts";
import { makeDelivery, migratesAndCrashes, startingWith } from "./fixtures/test-delivery.ts";

/*
 * docs/updates.md 4.3 and 4.5: versions that are broken in a way of their own are taken by a
 * running delivery. Each one has to be over by itself, with the version before and its stores.
 */

const isAsked = Boolean(process.env["BROKEN_VERSIONS"]);
const folder = temporaryFolder(afterAll);
const root = join(folder, "kiosk");
const data = join(root, "data", "demo");

const alwaysUp = join(root, "always-up.sh");
const launch = (...args: string[]) =>
  runToEnd("sh", [join(root, "launch.sh"), ...args, "--data", data]);

/** The running version waits for seconds where it would wait for a minute. */
function withShortLimits(at: string): void {
  for (const name of readdirSync(join(at, "programs"))) {
    const file = join(at, "programs", name);
    const text = readFileSync(file, "utf8");
    const short = text
      .replace("READY_WITHIN_MS = 6e4", "READY_WITHIN_MS = 3e4")
      .replace("PROBATION_WITHIN_MS = 6e4", "PROBATION_WITHIN_MS = 3e4");
    if (short !== text) writeFileSync(file, short);
  }
}

const cases: Array<[string, (at: string) => void, "barred" | "put off", RegExp]> = [
  ["crashes at its start", startingWith(`throw new Error("no start");`), "barred", /no start/],
  [
    "cannot migrate the stores",
    startingWith(`if (process.argv.includes("--check")) throw new Error("no column x");`),
    "barred",
    /no column x/,
  ],
  ["migrates the stores and crashes then", migratesAndCrashes, "barred", /not here/],
  ["hangs", startingWith("while (isOnProbation) ;"), "barred", /tp-manager does not answer/],
  [
    "does not reach the terminal",
    startingWith(`const { Socket } = process.getBuiltinModule("node:net");
      if (isOnProbation) Socket.prototype.connect = function () {
        setImmediate(() => this.destroy(new Error("no way")));
        return this;
      };`),
    "put off",
    /the terminal was not reached again/,
  ],
  [
    "is cut off within a program",
    (at) => {
      const script = join(at, "programs", "supervisor.script.js");
      writeFileSync(script, readFileSync(script, "utf8").slice(0, 3_000));
    },
    "barred",
    /supervisor cannot run here/,
  ],
];

describe.skipIf(!isAsked)("BROKEN_VERSIONS=1: a version that", () => {
  const publisher = isAsked ? new Publisher(join(folder, "publisher")) : undefined;
  const make = (version: string, to: string, change: (at: string) => void): string =>
    makeDelivery({ version, to, trustedRoot: publisher?.trustedRoot ?? "", change });

  beforeAll(async () => {
    symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
    make("1.0.0", root, withShortLimits);
    writeFileSync(join(root, "current"), "1.0.0\n");
    await demoFolder(data);
    await launch("--demo");
  });
  afterAll(() => launch("stop"));

  test.each(cases)("%s is given up without an operator", async (_, change, end, why) => {
    const version = `1.1.${cases.findIndex(([, one]) => one === change)}`;
    const bad = make(version, join(folder, version), change);
    const taken = launch("update", "--delivery", bad);
    await expect(taken).rejects.toMatchObject({ code: 69, stderr: expect.stringMatching(why) });
    expect(readFileSync(join(root, "current"), "utf8")).toBe("1.0.0\n");
    expect((await launch("status")).stdout).toMatch(/tp-manager +running .*version 1\.0\.0/);
    const audit = JSON.parse((await launch("audit", "--json")).stdout);
    expect(audit).toMatchObject({ faults: [], attempts: 1 });
    const { barred, putOff } = readState(data);
    const isBarred = barred.some((one) => one.version === version);
    expect(isBarred ? "barred" : putOff?.version === version && "put off").toBe(end);
  });

  interface End {
    readonly code: number;
    readonly words: string;
  }
  const ended = (running: Promise<{ stdout: string; stderr: string }>): Promise<End> =>
    running.then(
      ({ stdout, stderr }) => ({ code: 0, words: `${stdout}${stderr}` }),
      ({ code, stdout, stderr }) => ({ code, words: `${stdout}${stderr}` }),
    );
  const good = (version: string): string => make(version, join(folder, version), withShortLimits);
  const named = (file = "current"): string => readFileSync(join(root, file), "utf8").trim();
  const switches = (output: string): number =>
    output.match(/to \d\.\d\.\d: switching/g)?.length ?? 0;
  const record = (): string => {
    const file = join(data, "update", "under-way.json");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };
  const whole = async (): Promise<void> => {
    const audit = JSON.parse((await launch("audit", "--json")).stdout);
    expect(audit).toMatchObject({ faults: [], attempts: 1 });
  };

  test("is taken by several launchers at once is switched to only once", async () => {
    const delivery = good("1.2.0");
    const takers = [0, 1, 2].map(() => ended(launch("update", "--delivery", delivery)));
    const takes = Promise.all(takers);
    let isOver = false;
    void takes.then(() => (isOver = true));
    const alive: End[] = [];
    while (!isOver) alive.push(await ended(runToEnd("sh", [alwaysUp, "--data", data])));
    const ends = await takes;
    expect(ends.map(({ code }) => code).sort()).toEqual([0, 75, 75]);
    expect(ends.map(({ words: output }) => switches(output)).sort()).toEqual([0, 0, 1]);
    expect(new Set(alive.map(({ words: output }) => output))).toEqual(new Set([""]));
    expect(named()).toBe("1.2.0");
    expect((await launch("status")).stdout).toMatch(/tp-manager +running .*version 1\.2\.0/);
    await whole();
  });

  test("is being switched to delays a stop until the switch has ended", async () => {
    const taker = ended(launch("update", "--delivery", good("1.3.0")));
    await until(
      "the switch",
      () => /"step":"(switching|probation)"/.test(record()) || undefined,
      60_000,
    );
    const [stop, taken] = await Promise.all([ended(launch("stop")), taker]);
    expect(taken, taken.words).toMatchObject({ code: 0 });
    expect(stop).toMatchObject({ code: 0, words: expect.stringContaining("waiting for it") });
    expect(named()).toBe("1.3.0");
    await runToEnd("sh", [alwaysUp, "--data", data]);
    expect((await ended(launch("status"))).words).not.toMatch(/tp-manager +running/);
    await launch("restart");
    await whole();
  });

  test("is left by two commands at once is left once, and the other command says so", async () => {
    const before = named("previous");
    const ends = await Promise.all([0, 1].map(() => ended(launch("update", "--back"))));
    // The other one comes in the middle of the switch, or finds nothing to go back to.
    const codes = ends.map(({ code }) => code).sort();
    expect(codes.join()).toMatch(/^0,(69|75)$/);
    expect(named()).toBe(before);
    await whole();
  });

  test("finds the supervisor dead before the switch, or killed on the probation", async () => {
    const kill = async (): Promise<void> => {
      const { programs } = JSON.parse((await ended(launch("status", "--json"))).words);
      const found = programs.find((one: { program: string }) => one.program === "supervisor");
      process.kill(found.pid, "SIGKILL");
    };
    await kill();
    const first = await ended(launch("update", "--delivery", good("1.4.0")));
    expect(first, first.words).toMatchObject({ code: 0 });
    expect(named()).toBe("1.4.0");
    const taker = ended(launch("update", "--delivery", good("1.5.0")));
    await until(
      "the probation",
      () => record().includes('"step":"probation"') || undefined,
      60_000,
    );
    await until("the supervisor", () =>
      kill()
        .then(() => true)
        .catch(() => undefined),
    );
    expect((await taker).code).toBe(69);
    expect(named()).toBe("1.4.0");
    expect((await launch("status")).stdout).toMatch(/supervisor +running .*version 1\.4\.0/);
    await whole();
  });
});
