import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { finishUpdate } from "../../src/launcher/operate.ts";
import { isYoung } from "../../src/launcher/update/back.ts";
import { carrySwitchOut } from "../../src/launcher/update/switch.ts";
import { namedVersion } from "../../src/launcher/update/versions.ts";
import { beginProbation, receivedOnProbation } from "../../src/shared/probation.ts";
import { copyStores } from "../../src/update/store-copies.ts";
import { switchBegins } from "../../src/update/switch-machine.ts";
import { readLastSwitch, type SwitchRecord, writeSwitch } from "../../src/update/switch-record.ts";
import { readState } from "../../src/update/update-state.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { dataIn, finish, ledger, payments, placeOf, run, siteOf } from "./switch-program.ts";

/** docs/updates.md 4.2: worst moments of an update; in the end programs run. */

const [FROM, TO] = ["1.0.0", "2.0.0"];
const SMALL_DISK = "8m";

/** A delivery whose older version has sold something; `has` are its versions. */
function installation(has = [FROM, TO], prepare: (data: string) => void = () => {}): string {
  const root = temporaryFolder();
  for (const version of has) {
    mkdirSync(join(root, "versions", version), { recursive: true });
    writeFileSync(join(root, "versions", version, "complete"), `${version}\n`);
  }
  writeFileSync(join(root, "current"), `${FROM}\n`);
  mkdirSync(dataIn(root));
  prepare(dataIn(root));
  run(root, FROM);
  return root;
}

const at = (step: SwitchRecord["step"], more: Partial<SwitchRecord> = {}): SwitchRecord => ({
  ...{ format: 1 as const, from: FROM, to: TO, beganMs: 0, atMs: 0, linkWasUp: true },
  ...{ ...switchBegins, step, probations: 1, ...more },
});

const left = (root: string): string[] =>
  ["under-way.json", "probation"].filter((name) => existsSync(join(dataIn(root), "update", name)));

function fill(folder: string): void {
  const bytes = 4096;
  try {
    for (let i = 0; ; i++) writeFileSync(join(folder, `filler-${i}`), Buffer.alloc(bytes));
  } catch {
    // Full.
  }
}

function mountSmall(data: string): boolean {
  const words = ["-t", "tmpfs", "-o", `size=${SMALL_DISK}`, "tmpfs", data];
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || spawnSync("mount", words).status !== 0) return false;
  onTestFinished(() => void execFileSync("umount", ["--lazy", data]));
  return true;
}

describe("a disk that is full", () => {
  test("copies that do not fit take no room from the programs of before", async ({ skip }) => {
    let isMounted = false;
    const root = installation([FROM, TO], (data) => (isMounted = mountSmall(data)));
    if (!isMounted) skip("only root can mount a small disk");
    const journal = new DatabaseSync(join(dataIn(root), "journal.db"));
    journal.exec("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(2500000))");
    journal.close();
    writeFileSync(join(dataIn(root), "of somebody else"), Buffer.alloc(3_800_000));
    writeSwitch(dataIn(root), at("stopping"));
    const end = await carrySwitchOut(siteOf(root), at("stopping"), placeOf(root, true));
    expect(end).toMatchObject({ step: "undone", bars: false });
    expect(readdirSync(join(dataIn(root), "update"))).not.toContain("stores-before");
    expect(payments(root, FROM)).toEqual(ledger(root));
    expect(ledger(root)).toHaveLength(2);
  });

  test("copies that a cut has left half way make room first", async ({ skip }) => {
    let isMounted = false;
    const root = installation([FROM, TO], (data) => (isMounted = mountSmall(data)));
    if (!isMounted) skip("only root can mount a small disk");
    writeSwitch(dataIn(root), at("stopping"));
    const copies = join(dataIn(root), "update", "stores-before");
    mkdirSync(copies);
    fill(copies);
    await finish(root, true);
    expect(left(root)).toEqual([]);
    expect(ledger(root)).toHaveLength(2);
  });

  test("what a failed version looked like is not kept at the cost of going back", async ({
    skip,
  }) => {
    let isMounted = false;
    const root = installation([FROM, TO], (data) => (isMounted = mountSmall(data)));
    if (!isMounted) skip("only root can mount a small disk");
    copyStores(dataIn(root));
    writeFileSync(join(root, "current"), `${TO}\n`);
    beginProbation(dataIn(root));
    run(root, TO);
    writeSwitch(dataIn(root), at("going-back", { withStores: true, why: "it failed", bars: true }));
    const downloads = join(dataIn(root), "update", "downloads");
    mkdirSync(downloads);
    fill(downloads);
    rmSync(join(downloads, "filler-0"));
    rmSync(join(downloads, "filler-1"));
    await finish(root, true);
    expect(left(root)).toEqual([]);
    expect(namedVersion(root)).toBe(FROM);
    expect(payments(root, FROM)).toEqual(ledger(root));
  });
});

test("what was not changed comes back without a lock and without a byte", async () => {
  const root = installation();
  // Nobody can write there.
  mkdirSync(join(root, "previous.unfinished"));
  mkdirSync(join(root, "current.unfinished"));
  writeSwitch(dataIn(root), at("switching"));
  const place = placeOf(root, true);
  const end = await carrySwitchOut(siteOf(root), at("switching"), place);
  expect(end.step).toBe("undone");
  expect(ledger(root)).toHaveLength(2);
  expect(left(root)).toEqual([]);
});

describe("a data folder that was moved to another delivery in the middle of an update", () => {
  const steps = [
    "testing",
    "stopping",
    "switching",
    "probation",
    "giving-up",
    "restarting",
    "staying",
  ] as const;

  test.each(steps)("runs there, with all that was sold: %s", async (step) => {
    const root = installation(["3.0.0"]);
    copyStores(dataIn(root));
    const hasRun = ["probation", "giving-up"].includes(step);
    if (["switching", "probation", "giving-up", "staying"].includes(step)) {
      beginProbation(dataIn(root));
    }
    if (hasRun) run(root, TO);
    writeSwitch(dataIn(root), at(step));
    await finish(root, true);
    expect(left(root)).toEqual([]);
    expect(readLastSwitch(dataIn(root))).toMatchObject({ step: "undone", bars: false });
    expect(readState(dataIn(root)).barred).toEqual([]);
    // Also the older programs can: nothing had come.
    run(root, FROM);
    expect(payments(root, FROM)).toEqual(ledger(root));
  });

  test("stores that were put back by half are put back whole", async () => {
    const root = installation(["3.0.0"]);
    copyStores(dataIn(root));
    rmSync(join(dataIn(root), "journal.db"));
    writeSwitch(dataIn(root), at("going-back", { withStores: true }));
    await finish(root, true);
    expect(payments(root, FROM)).toEqual(ledger(root));
  });

  test("what came on the probation stays", async () => {
    const root = installation(["3.0.0"]);
    copyStores(dataIn(root));
    run(root, TO);
    writeSwitch(dataIn(root), at("giving-up"));
    expect(receivedOnProbation(dataIn(root))).toBe(true);
    await finish(root, true);
    expect(payments(root, TO)).toEqual(ledger(root));
    expect(ledger(root)).toHaveLength(2);
  });
});

test("a new version whose folder was removed goes back, with its stores", async () => {
  const root = installation([FROM]);
  copyStores(dataIn(root));
  beginProbation(dataIn(root));
  run(root, TO);
  writeFileSync(join(root, "current"), `${TO}\n`);
  writeSwitch(dataIn(root), at("probation"));
  await finish(root, true);
  expect(readFileSync(join(root, "current"), "utf8")).toBe(`${FROM}\n`);
  expect(payments(root, FROM)).toEqual(ledger(root));
  expect(ledger(root)).toHaveLength(2);
});

test("a mark of a probation without a record is taken away: it would refuse for ever", async () => {
  const root = installation();
  beginProbation(dataIn(root));
  expect(await finishUpdate(siteOf(root))).toBeUndefined();
  expect(left(root)).toEqual([]);
});

test.each([
  ["1.0.0\n", "1.0.0"],
  ["1.0.0\r\n", "1.0.0"],
  ["1.0.0\nmore\n", "1.0.0"],
  ["1.0.", "2.0.0"],
  ["1.0.0", "2.0.0"],
  ["", "2.0.0"],
  ["9.9.9\n", "2.0.0"],
  [undefined, "2.0.0"],
])("current %j is read as the root scripts read it", (text, expected) => {
  const root = installation();
  writeFileSync(join(root, "previous"), `${TO}\n`);
  rmSync(join(root, "current"));
  if (text !== undefined) writeFileSync(join(root, "current"), text);
  expect(namedVersion(root)).toBe(expected);
  rmSync(join(root, "previous"));
  expect(namedVersion(root)).toBe(expected === FROM ? FROM : undefined);
});

test("a clock that was set back does not make a version old", () => {
  const hour = 3_600_000;
  expect(isYoung(10 * hour, 10 * hour + 1)).toBe(true);
  expect(isYoung(10 * hour, 11 * hour)).toBe(false);
  expect(isYoung(10 * hour, 2 * hour)).toBe(true);
});
