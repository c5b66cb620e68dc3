import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { renameSynced, replacePatiently } from "../../src/update/durable-files.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestClock } from "../support/test-clock.ts";

/** docs/updates.md 4.2: a virus scanner of Windows holds a file for a moment. */

function heldFor(times: number, code = "EBUSY") {
  let tries = 0;
  const rename = (from: string, to: string): void => {
    tries += 1;
    if (tries <= times) throw Object.assign(new Error("held"), { code });
    renameSync(from, to);
  };
  return { rename, tries: () => tries };
}

function files() {
  const folder = temporaryFolder();
  const [from, to] = [join(folder, "from"), join(folder, "to")];
  writeFileSync(from, "new");
  return { from, to };
}

test.each(["EPERM", "EACCES", "EBUSY"])(
  "a rename that is held (%s) is tried again",
  async (code) => {
    const { from, to } = files();
    const clock = new TestClock();
    const held = heldFor(3, code);
    const done = renameSynced(from, to, clock, { platform: "win32", rename: held.rename });
    await clock.advance(1_000);
    await done;
    expect(readFileSync(to, "utf8")).toBe("new");
    expect(held.tries()).toBe(4);
  },
);

test("for 10 seconds, and not longer", async () => {
  const { from, to } = files();
  const clock = new TestClock();
  const held = heldFor(Number.MAX_SAFE_INTEGER);
  const done = renameSynced(from, to, clock, { platform: "win32", rename: held.rename });
  const ended = expect(done).rejects.toThrow("held");
  await clock.advance(9_900);
  expect(held.tries()).toBeGreaterThan(95);
  await clock.advance(1_000);
  await ended;
});

test("elsewhere, and for other faults, once", async () => {
  for (const [platform, code] of [
    ["linux", "EBUSY"],
    ["win32", "ENOSPC"],
  ] as const) {
    const { from, to } = files();
    const held = heldFor(1, code);
    const clock = new TestClock();
    await expect(renameSynced(from, to, clock, { platform, rename: held.rename })).rejects.toThrow(
      "held",
    );
    expect(held.tries()).toBe(1);
  }
});

test("the file that names a version has that patience too", async () => {
  const { to } = files();
  writeFileSync(to, "1.0.0\n");
  const clock = new TestClock();
  const held = heldFor(2);
  const how = { platform: "win32" as const, rename: held.rename };
  const done = replacePatiently(to, "2.0.0\n", 0o644, clock, how);
  expect(readFileSync(to, "utf8")).toBe("1.0.0\n");
  await clock.advance(1_000);
  await done;
  expect(readFileSync(to, "utf8")).toBe("2.0.0\n");
});
