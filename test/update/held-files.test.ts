import fs, { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { namedVersion } from "../../src/launcher/update/versions.ts";
import { clearOldVersions } from "../../src/update/disk-room.ts";
import {
  readLastSwitch,
  readReady,
  readState,
  writeHold,
  writeReady,
} from "../../src/update/update-state.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { dataIn, ledger, payments, run, switchOver } from "./switch-program.ts";

/** docs/updates.md 4.2: on Windows others hold a file for a moment, or as long as it is in use. */

const noFaults = {
  /** Times that each rename and each removal of a path is refused before it is carried out. */
  each: 0,
  /** Of a path that ends so: always. */
  inUse: "no such path",
};
const faults = { ...noFaults, refused: new Map<string, number>() };
const waits = vi.spyOn(Atomics, "wait");
const { platform } = process;
const { renameSync, rmSync } = fs;

beforeEach(() => {
  Object.assign(faults, { ...noFaults, refused: new Map() });
  waits.mockReset().mockReturnValue("timed-out");
  Object.defineProperty(process, "platform", { value: "win32" });
  fs.renameSync = (from, to) => {
    if (String(from).endsWith(faults.inUse)) refuse("rename", String(from));
    refuse("rename", String(to));
    renameSync(from, to);
  };
  fs.rmSync = (path, options) => {
    // Node.js itself has patience with whole folders.
    if (!options?.recursive || String(path).endsWith(faults.inUse)) refuse("remove", String(path));
    rmSync(path, options);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { renameSync, rmSync });
    syncBuiltinESMExports();
    Object.defineProperty(process, "platform", { value: platform });
  });
});
afterAll(() => waits.mockRestore());

function refuse(what: string, path: string): void {
  const times = faults.refused.get(`${what} ${path}`) ?? 0;
  if (times >= faults.each && !path.endsWith(faults.inUse)) return;
  faults.refused.set(`${what} ${path}`, times + 1);
  throw Object.assign(new Error(`${what} ${path} is held`), { code: "EBUSY", path });
}

/** A delivery with both versions, whose older one has sold something. */
function installation(): string {
  const root = temporaryFolder();
  for (const version of ["1.0.0", "2.0.0"]) {
    mkdirSync(join(root, "versions", version), { recursive: true });
    writeFileSync(join(root, "versions", version, "complete"), `${version}\n`);
    writeFileSync(join(root, "versions", version, "runtime"), `of-${version}\n`);
    mkdirSync(join(root, "runtimes", `of-${version}`), { recursive: true });
    writeFileSync(join(root, "runtimes", `of-${version}`, "node.exe"), "");
  }
  writeFileSync(join(root, "current"), "1.0.0\n");
  mkdirSync(dataIn(root));
  run(root, "1.0.0");
  return root;
}

test.each(["works", "fails"])("an update %s also when each file is held", async (how) => {
  const root = installation();
  faults.each = 1;
  writeReady(dataIn(root), "2.0.0", 0);
  expect(readReady(dataIn(root))?.version).toBe("2.0.0");
  await switchOver(root, how === "works");
  const runs = how === "works" ? "2.0.0" : "1.0.0";
  expect(namedVersion(root)).toBe(runs);
  expect(readLastSwitch(dataIn(root))?.step).toBe(how === "works" ? "done" : "undone");
  expect(readState(dataIn(root)).barred).toHaveLength(how === "works" ? 0 : 1);
  expect(readReady(dataIn(root))).toBeUndefined();
  expect(existsSync(join(dataIn(root), "update", "under-way.json"))).toBe(false);
  expect(payments(root, runs)).toEqual(ledger(root));
  const held = [...faults.refused.keys()].map((key) => key.replace(root, ""));
  const also = how === "works" ? [] : ["state.json"];
  for (const name of ["under-way.json", "last.json", "ready.json", ...also]) {
    expect(held).toContain(`rename /data/update/${name}`);
  }
  expect(held).toContain("rename /current");
  expect(held).toContain("remove /data/update/under-way.json");
  expect(held).toContain("remove /data/update/probation");
  if (how === "fails") expect(held).toContain("remove /data/journal.db");
});

test("a file that stays held is tried for 10 seconds, and not longer", () => {
  const root = installation();
  faults.inUse = "hold.json";
  const hold = { who: "an operator", sinceMs: 0, untilMs: null };
  expect(() => writeHold(dataIn(root), hold)).toThrow("is held");
  expect(waits).toHaveBeenCalledTimes(100);
  expect(waits.mock.calls[0]?.[3]).toBe(100);
});

test("a version or a runtime in use stays for the next time, and is never run by half", () => {
  const root = installation();
  faults.inUse = "1.0.0";
  writeFileSync(join(root, "current"), "2.0.0\n");
  clearOldVersions(root, ["2.0.0"]);
  expect(readdirSync(join(root, "versions")).sort()).toEqual(["1.0.0", "2.0.0"]);
  expect(existsSync(join(root, "versions", "1.0.0", "complete"))).toBe(false);
  expect(readdirSync(join(root, "runtimes")).sort()).toEqual(["of-1.0.0", "of-2.0.0"]);
  faults.inUse = "no such path";
  clearOldVersions(root, ["2.0.0"]);
  expect(readdirSync(join(root, "versions"))).toEqual(["2.0.0"]);
  expect(readdirSync(join(root, "runtimes"))).toEqual(["of-2.0.0"]);
});
