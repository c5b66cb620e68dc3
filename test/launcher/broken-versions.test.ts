import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { readState } from "../../src/update/update-state.ts";
import { runToEnd } from "../support/own-processes.ts";
import { Publisher } from "../support/publisher.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeDelivery, migratesAndCrashes, withFirstWords } from "./fixtures/test-delivery.ts";

/*
 * docs/updates.md 4.3 and 4.5: versions that are broken in a way of their own are taken by a
 * running delivery. Each one has to be over by itself, with the version before and its stores.
 */

const isAsked = Boolean(process.env["BROKEN_VERSIONS"]);
const folder = temporaryFolder(afterAll);
const root = join(folder, "kiosk");
const data = join(root, "data", "demo");

const launch = (...words: string[]) =>
  runToEnd("sh", [join(root, "launch.sh"), ...words, "--data", data]);

/** The running version waits for seconds where it would wait for a minute. */
function withShortLimits(at: string): void {
  for (const name of readdirSync(join(at, "programs"))) {
    const file = join(at, "programs", name);
    const text = readFileSync(file, "utf8");
    const short = text
      .replace("READY_WITHIN_MS = 6e4", "READY_WITHIN_MS = 15e3")
      .replace("PROBATION_WITHIN_MS = 6e4", "PROBATION_WITHIN_MS = 15e3");
    if (short !== text) writeFileSync(file, short);
  }
}

const cases: Array<[string, (at: string) => void, "barred" | "put off", RegExp]> = [
  ["crashes at its start", withFirstWords(`throw new Error("no start");`), "barred", /no start/],
  [
    "cannot migrate the stores",
    withFirstWords(`if (process.argv.includes("--check")) throw new Error("no column x");`),
    "barred",
    /no column x/,
  ],
  ["migrates the stores and crashes then", migratesAndCrashes, "barred", /not here/],
  ["hangs", withFirstWords("while (isOnProbation) ;"), "barred", /tp-manager does not answer/],
  [
    "does not reach the terminal",
    withFirstWords(`const { Socket } = process.getBuiltinModule("node:net");
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
      const script = join(at, "programs", "supervisor.js");
      writeFileSync(script, readFileSync(script, "utf8").slice(0, 3_000));
    },
    "barred",
    /supervisor cannot take over/,
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
    await launch("--demo");
  });
  afterAll(() => launch("stop"));

  test.each(cases)("%s is over by itself", async (_, change, end, why) => {
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
});
