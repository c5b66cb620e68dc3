import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { runToEnd } from "../support/programs/own-processes.ts";

/** The scripts at the root of a delivery, with versions that only say which they are. */
let root: string;
beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), "delivery-")), "ein Kiösk");
  cpSync(join(projectRoot, "scripts", "delivery"), root, { recursive: true });
  for (const version of ["1.9.0", "1.10.0", "1.10.1"]) addVersion(version);
});

function addVersion(version: string): void {
  const folder = join(root, "versions", version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "launch.sh"), 'echo "$version" "$@"\n');
  writeFileSync(join(folder, "complete"), "");
}

const breakVersion = (version: string): void => rmSync(join(root, "versions", version, "complete"));
const put = (file: string, text: string): void => writeFileSync(join(root, file), text);

async function launched(script = "launch.sh", ...args: string[]): Promise<string> {
  const { stdout } = await runToEnd("sh", [join(root, script), ...args]);
  return stdout.trim();
}

describe("the version that is run", () => {
  test("is the one that current names, and gets all arguments unchanged", async () => {
    put("current", "1.9.0\n");
    put("previous", "1.10.1\n");
    expect(await launched("launch.sh", "status", "--data", "a b")).toBe("1.9.0 status --data a b");
    expect(await launched("always-up.sh", "--data", "x")).toBe("1.9.0 keep-alive --data x");
  });

  test("is found through a link, and from any working folder", async () => {
    put("current", "1.9.0\r\n");
    const link = join(root, "..", "link");
    symlinkSync(join(root, "launch.sh"), link);
    const { stdout } = await runToEnd("sh", ["-c", 'cd / && sh -- "$1"', "sh", link]);
    expect(stdout).toBe("1.9.0\n");
  });

  const torn: Array<[string, string | null]> = [
    ["missing", null],
    ["empty", ""],
    ["cut off within its line", "1.10.0"],
    ["naming no version", "3.0.0\n"],
    ["naming a path", "../versions/1.10.0\n"],
    ["naming nothing", "\n"],
    ["full of zero bytes", "\0\0\0\0\0\0"],
    ["another file's content", "#!/bin/sh\nexit 0\n"],
  ];
  test.each(torn)("is the previous one when current is %s", async (_name, text) => {
    if (text !== null) put("current", text);
    put("previous", "1.9.0\n");
    expect(await launched()).toBe("1.9.0");
  });

  test("is the previous one when current names a version that is incomplete", async () => {
    put("current", "1.10.1\n");
    put("previous", "1.10.0\n");
    breakVersion("1.10.1");
    expect(await launched()).toBe("1.10.0");
  });

  test("is the newest complete one when neither current nor previous can be run", async () => {
    put("current", "1.10.1");
    breakVersion("1.10.1");
    expect(await launched()).toBe("1.10.0");
  });

  test("is missing when none is complete, and the error says what helps", async () => {
    for (const version of ["1.9.0", "1.10.0", "1.10.1"]) breakVersion(version);
    await expect(launched()).rejects.toMatchObject({
      code: 69,
      stderr: expect.stringContaining("unpack the delivery again"),
    });
  });
});
