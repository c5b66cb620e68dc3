import fs, { readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { renameSynced, replaceHeld } from "../../src/update/durable-files.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

/** docs/updates.md 4.2: a virus scanner of Windows holds a file for a moment. */

const waits = vi.spyOn(Atomics, "wait").mockReturnValue("timed-out");
const { platform } = process;
const { renameSync } = fs;

afterEach(() => {
  fs.renameSync = renameSync;
  syncBuiltinESMExports();
  Object.defineProperty(process, "platform", { value: platform });
  waits.mockClear();
});
afterAll(() => waits.mockRestore());

/** Each rename fails so often; answers how often it was tried. */
function heldFor(times: number, code = "EBUSY", system = "win32"): () => number {
  let tries = 0;
  Object.defineProperty(process, "platform", { value: system });
  fs.renameSync = (from, to) => {
    tries += 1;
    if (tries <= times) throw Object.assign(new Error("held"), { code });
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  return () => tries;
}

function files() {
  const folder = temporaryFolder();
  const [from, to] = [join(folder, "from"), join(folder, "to")];
  writeFileSync(from, "new");
  return { from, to };
}

test.each(["EPERM", "EACCES", "EBUSY"])("a rename that is held (%s) is tried again", (code) => {
  const { from, to } = files();
  const tries = heldFor(3, code);
  renameSynced(from, to);
  expect(readFileSync(to, "utf8")).toBe("new");
  expect(tries()).toBe(4);
  expect(waits.mock.calls.map(([, , , ms]) => ms)).toEqual([100, 100, 100]);
});

test("a rename that stays held is tried for 10 seconds, and not longer", () => {
  const { from, to } = files();
  const tries = heldFor(Number.MAX_SAFE_INTEGER);
  expect(() => renameSynced(from, to)).toThrow("held");
  expect(tries()).toBe(101);
  expect(waits).toHaveBeenCalledTimes(100);
});

test.each([
  ["linux", "EBUSY"],
  ["win32", "ENOSPC"],
])("on %s a rename that fails with %s is tried once", (system, code) => {
  const { from, to } = files();
  const tries = heldFor(1, code, system);
  expect(() => renameSynced(from, to)).toThrow("held");
  expect(tries()).toBe(1);
});

test("the file that names a version is tried again in the same way", () => {
  const { to } = files();
  writeFileSync(to, "1.0.0\n");
  heldFor(2);
  replaceHeld(to, "2.0.0\n", 0o644);
  expect(waits).toHaveBeenCalledTimes(2);
  expect(readFileSync(to, "utf8")).toBe("2.0.0\n");
});
