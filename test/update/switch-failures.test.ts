import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { finishUpdate } from "../../src/launcher/commands/start.ts";
import { carrySwitchOut } from "../../src/launcher/update/switch.ts";
import { isYoung } from "../../src/launcher/update/take-version.ts";
import { leaveToReader, namedVersion } from "../../src/launcher/update/versions.ts";
import { beginProbation, receivedOnProbation } from "../../src/shared/program/probation.ts";
import { copyStores } from "../../src/update/store-copies.ts";
import { switchBegins } from "../../src/update/switch-machine.ts";
import {
  readLastSwitch,
  readState,
  type SwitchRecord,
  writeSwitch,
} from "../../src/update/update-state.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { dataIn, finish, ledger, payments, run, siteOf, switchSiteOf } from "./switch-program.ts";

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
  format: 1 as const,
  from: FROM,
  to: TO,
  beganMs: 0,
  atMs: 0,
  linkWasUp: true,
  ...switchBegins,
  step,
  probations: 1,
  ...more,
});

const left = (root: string): string[] =>
  ["under-way.json", "probation"].filter((name) => existsSync(join(dataIn(root), "update", name)));

/** A site that keeps its faults. */
function reportsOf(root: string) {
  const faults: string[] = [];
  const site = siteOf(root);
  const output = { ...site.output, fault: (text: string) => void faults.push(text) };
  return { site: { ...site, output }, words: faults };
}

function fill(folder: string): void {
  const bytes = 4096;
  try {
    for (let i = 0; ; i++) writeFileSync(join(folder, `filler-${i}`), Buffer.alloc(bytes));
  } catch {
    // Full.
  }
}

function mountSmall(data: string): boolean {
  const faults = ["-t", "tmpfs", "-o", `size=${SMALL_DISK}`, "tmpfs", data];
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || spawnSync("mount", faults).status !== 0) return false;
  onTestFinished(() => void execFileSync("umount", ["--lazy", data]));
  return true;
}

describe("a disk that is full", () => {
  test("copies that do not fit take no room from the previous programs", async ({ skip }) => {
    let isMounted = false;
    const root = installation([FROM, TO], (data) => (isMounted = mountSmall(data)));
    if (!isMounted) skip("only root can mount a small disk");
    const journal = new DatabaseSync(join(dataIn(root), "journal.db"));
    journal.exec("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(2500000))");
    journal.close();
    writeFileSync(join(dataIn(root), "of another program"), Buffer.alloc(3_800_000));
    writeSwitch(dataIn(root), at("stopping"));
    const end = await carrySwitchOut(switchSiteOf(root, true), at("stopping"));
    expect(end).toMatchObject({ step: "undone", bars: false });
    expect(readdirSync(join(dataIn(root), "update"))).not.toContain("stores-before");
    expect(payments(root, FROM)).toEqual(ledger(root));
    expect(ledger(root)).toHaveLength(2);
  });

  test("copies that a cut has left unfinished are removed to make room first", async ({ skip }) => {
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

  test("the files of a failed version are not kept when that would prevent going back", async ({
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

test.each(["it works", "it fails"])(
  "a payment between the check for an idle moment and the stop is kept: %s",
  async (how) => {
    const root = installation();
    writeSwitch(dataIn(root), at("stopping"));
    const works = switchSiteOf(root, how === "it works");
    // The kiosk was idle; the payment comes, and is brought to its end by the stop.
    let isSold = false;
    const stop = (): Promise<void> => {
      if (!isSold) run(root, FROM);
      isSold = true;
      return Promise.resolve();
    };
    const switchSite = { ...works, stop };
    const { step } = await carrySwitchOut(switchSite, at("stopping"));
    const runs = how === "it works" ? TO : FROM;
    expect([step, namedVersion(root)]).toEqual([how === "it works" ? "done" : "undone", runs]);
    expect(ledger(root)).toEqual([1, 2, 3]);
    expect(payments(root, runs)).toEqual([1, 2, 3]);
  },
);

test("an update that changed nothing is undone without a lock and without a byte", async () => {
  const root = installation();
  // Nobody can write there.
  mkdirSync(join(root, "previous.unfinished"));
  mkdirSync(join(root, "current.unfinished"));
  writeSwitch(dataIn(root), at("switching"));
  const switchSite = switchSiteOf(root, true);
  const end = await carrySwitchOut(switchSite, at("switching"));
  expect(end.step).toBe("undone");
  expect(ledger(root)).toHaveLength(2);
  expect(left(root)).toEqual([]);
});

describe("an update folder that cannot be written any more", () => {
  /** Reads as before, and takes nothing new. */
  function closeUpdateFolder(root: string): void {
    mkdirSync(join(dataIn(root), "update"), { recursive: true });
    for (const name of ["under-way", "state", "last"]) {
      mkdirSync(join(dataIn(root), "update", `${name}.json.unfinished`));
    }
  }

  test("from the stop on: the previous programs run, and the output says why", async () => {
    const root = installation();
    writeSwitch(dataIn(root), at("stopping"));
    const { site, words: faults } = reportsOf(root);
    const works = switchSiteOf(root, true);
    const stop = () => Promise.resolve(closeUpdateFolder(root));
    const switchSite = { ...works, stop };
    expect(await carrySwitchOut({ ...switchSite, ...site }, at("stopping"))).toMatchObject({
      step: "undone",
    });
    expect(faults.join()).toMatch(/could not record the step stopping: EISDIR/);
    expect(namedVersion(root)).toBe(FROM);
    expect(ledger(root)).toHaveLength(2);
    // Each launcher that comes says so, and lets them run.
    await finish(root, true);
    expect(ledger(root)).toHaveLength(3);
    for (const name of ["under-way", "state", "last"]) {
      rmSync(join(dataIn(root), "update", `${name}.json.unfinished`), { recursive: true });
    }
    await finish(root, true);
    expect(left(root)).toEqual([]);
    expect(namedVersion(root)).toBe(FROM);
    expect(payments(root, FROM)).toEqual(ledger(root));
    expect(readState(dataIn(root))).toMatchObject({ barred: [], putOff: { version: TO } });
  });

  test.each(["testing", "restarting"] as const)("after a cut in the step %s", async (step) => {
    const root = installation();
    writeSwitch(dataIn(root), at(step));
    closeUpdateFolder(root);
    await finish(root, true);
    expect(namedVersion(root)).toBe(FROM);
    expect(payments(root, FROM)).toEqual(ledger(root));
  });

  test("stores that were to be restored are not run on before that is recorded", async () => {
    const root = installation();
    copyStores(dataIn(root));
    writeSwitch(dataIn(root), at("going-back", { withStores: true }));
    closeUpdateFolder(root);
    await expect(finish(root, true)).rejects.toThrow("EISDIR");
    expect(ledger(root)).toHaveLength(1);
  });

  test("on a disk that became read-only: the previous version is started", async ({ skip }) => {
    let isMounted = false;
    const root = installation([FROM, TO], (data) => (isMounted = mountSmall(data)));
    if (!isMounted) skip("only root can mount a disk");
    writeSwitch(dataIn(root), at("stopping"));
    const works = switchSiteOf(root, true);
    const remount = (how: string): void =>
      void execFileSync("mount", ["-o", `remount,${how}`, dataIn(root)]);
    const started: string[] = [];
    const start = (version: string) => Promise.resolve(started.push(version));
    const switchSite = { ...works, stop: async () => remount("ro"), start };
    const { site, words: faults } = reportsOf(root);
    await carrySwitchOut({ ...switchSite, ...site }, at("stopping"));
    remount("rw");
    expect(faults.join()).toMatch(/EROFS|read-?only/);
    expect(started).toEqual([FROM]);
    await finish(root, true);
    expect(left(root)).toEqual([]);
    expect(payments(root, FROM)).toEqual(ledger(root));
  });
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

  test("stores that were restored by half are restored whole", async () => {
    const root = installation(["3.0.0"]);
    copyStores(dataIn(root));
    rmSync(join(dataIn(root), "journal.db"));
    writeSwitch(dataIn(root), at("going-back", { withStores: true }));
    await finish(root, true);
    expect(payments(root, FROM)).toEqual(ledger(root));
  });

  test("payments that came on the probation stay", async () => {
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

test("an update that a keep-alive has ended leaves two versions", async () => {
  const root = installation(["0.9.0", FROM, TO]);
  beginProbation(dataIn(root));
  writeFileSync(join(root, "current"), `${TO}\n`);
  writeFileSync(join(root, "previous"), `${FROM}\n`);
  writeSwitch(dataIn(root), at("staying"));
  await finish(root, true);
  expect(readdirSync(join(root, "versions"))).toEqual([FROM, TO]);
});

test("a mark of a probation without a record is removed: it would refuse for ever", async () => {
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

describe("with the file current lost, the launcher", () => {
  const NEWER = "3.0.0";
  /** The update to TO is done; the stores are as TO has left them, which FROM cannot read. */
  function updated(readers: Readonly<Record<string, number>>, versions: readonly string[]): string {
    const root = installation([FROM, ...versions]);
    for (const version of [FROM, ...versions]) {
      const known = readers[version];
      if (known === undefined) continue;
      const schemas = { "journal.db": known, "supervisor.db": known };
      const delivery = JSON.stringify({ version, platform: "linux-x64", schemas });
      writeFileSync(join(root, "versions", version, "delivery.json"), delivery);
    }
    run(root, TO);
    writeSwitch(dataIn(root), at("done"));
    writeFileSync(join(root, "current"), TO);
    writeFileSync(join(root, "previous"), `${FROM}\n`);
    return root;
  }
  test.each([
    ["the one of the last update", [TO, NEWER], TO],
    ["the newest that can, without that one", [NEWER], NEWER],
  ] as const)("lets a version run that can read the stores: %s", async (_name, whole, runs) => {
    const root = updated({ [FROM]: 1, [TO]: 2, [NEWER]: 2 }, whole);
    const before = readFileSync(join(dataIn(root), "journal.db"));
    const { site, words: faults } = reportsOf(root);
    const started: string[] = [];
    const works = switchSiteOf(root, true);
    const start = (version: string) => Promise.resolve(started.push(version));
    const switchSite = { ...works, start };
    expect(namedVersion(root)).toBe(FROM);
    expect(await leaveToReader({ ...switchSite, ...site }, FROM)).toBe(0);
    expect(namedVersion(root)).toBe(runs);
    expect(started).toEqual([runs]);
    expect(faults.join()).toContain(`${FROM} cannot read these stores: ${runs} is named`);
    expect(readFileSync(join(dataIn(root), "journal.db"))).toEqual(before);
    expect(await leaveToReader({ ...switchSite, ...site }, runs)).toBeUndefined();
  });

  test("lets no version run that was never tried here, when both files are lost", async () => {
    const root = updated({ [FROM]: 1, [TO]: 2, [NEWER]: 3 }, [TO, NEWER]);
    rmSync(join(root, "previous"));
    expect(await leaveToReader(switchSiteOf(root, true), NEWER)).toBe(0);
    expect(namedVersion(root)).toBe(TO);
  });

  test.each([
    ["nobody else can read them", { [FROM]: 1, [TO]: 1 }],
    ["it has not said what it reads", { [TO]: 2 }],
    ["it reads them", { [FROM]: 2, [TO]: 2 }],
  ] as const)(
    "leaves the previous programs, which refuse what they cannot read: %s",
    async (_name, readers) => {
      const root = updated(readers, [TO]);
      expect(await leaveToReader(switchSiteOf(root, true), FROM)).toBeUndefined();
      expect(namedVersion(root)).toBe(FROM);
      expect(() => run(root, FROM)).toThrow("start the newer program that wrote it");
      expect(payments(root, TO)).toEqual(ledger(root));
    },
  );

  test("does not replace a version that a person has named", async () => {
    const root = updated({ [FROM]: 1, [TO]: 2 }, [TO]);
    writeFileSync(join(root, "current"), `${FROM}\n`);
    expect(await leaveToReader(switchSiteOf(root, true), FROM)).toBeUndefined();
    expect(namedVersion(root)).toBe(FROM);
  });
});

test("a clock that was set back does not make a version old", () => {
  const hour = 3_600_000;
  expect(isYoung(10 * hour, 10 * hour + 1)).toBe(true);
  expect(isYoung(10 * hour, 11 * hour)).toBe(false);
  expect(isYoung(10 * hour, 2 * hour)).toBe(true);
});
