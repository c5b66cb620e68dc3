import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tarGz } from "../../../src/launcher/doctor/bundle.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

test("tar unpacks what was put in, whatever its length", () => {
  const folder = temporaryFolder();
  const lengths = [0, 1, 511, 512, 513, 100_000];
  const files = lengths.map((length) => ({
    name: `logs/${length}.log`,
    content: Buffer.alloc(length, "é"),
  }));
  writeFileSync(join(folder, "a.tar.gz"), tarGz(files, Date.UTC(2026, 10, 21)));
  execFileSync("tar", ["-xzf", "a.tar.gz"], { cwd: folder });
  for (const { name, content } of files) {
    expect(readFileSync(join(folder, name)).equals(content)).toBe(true);
  }
  const listed = execFileSync("tar", ["-tvzf", "a.tar.gz"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, TZ: "UTC" },
  });
  expect(listed.split("\n")[0]).toMatch(/^-rw------- .* 2026-11-21 00:00 logs\/0\.log$/);
});

test("a name that the format cannot hold is refused", () => {
  for (const name of ["", "ü", "a".repeat(101)]) {
    expect(() => tarGz([{ name, content: Buffer.alloc(0) }], 0)).toThrow("cannot archive a file");
  }
});
