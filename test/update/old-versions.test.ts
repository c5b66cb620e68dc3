import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clearOldVersions } from "../../src/update/disk-room.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

test("a half removed runtime does not count, and is removed at the next check", () => {
  const root = temporaryFolder();
  const runtimes = join(root, "runtimes");
  mkdirSync(join(root, "versions", "1.0.0"), { recursive: true });
  writeFileSync(join(root, "versions", "1.0.0", "runtime"), "kept\n");
  for (const name of ["kept", "old"]) {
    mkdirSync(join(runtimes, name), { recursive: true });
    for (const file of ["node", "LICENSE"]) writeFileSync(join(runtimes, name, file), "");
  }
  clearOldVersions(root, ["1.0.0"], [], (path) => {
    rmSync(join(path, "node"));
    throw new Error("cut");
  });
  expect(existsSync(join(runtimes, "old"))).toBe(false);
  expect(readdirSync(runtimes)).toEqual(["kept", "old.removing"]);
  clearOldVersions(root, ["1.0.0"]);
  expect(readdirSync(runtimes)).toEqual(["kept"]);
});
