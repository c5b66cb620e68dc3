import { join } from "node:path";
import { expect, test } from "vitest";
import { withProgramLocks } from "../../src/launcher/processes/locks.ts";
import { openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { takeExclusiveLock } from "../../src/shared/process/exclusive-lock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

test.each(["tp-manager", "supervisor"])("while %s runs, no program's lock stays taken", (name) => {
  const data = temporaryFolder();
  const lockOf = (program: string) =>
    takeExclusiveLock(join(openRunDirectory(data), `${program}.lock`), 0);
  const running = lockOf(name);
  expect(() => withProgramLocks(data, () => expect.fail())).toThrow(`${name} is already running`);
  const other = lockOf(name === "supervisor" ? "tp-manager" : "supervisor");
  expect(other).toBeDefined();
  other?.release();
  running?.release();
  const locks: unknown[] = [];
  withProgramLocks(data, () => locks.push(lockOf("tp-manager"), lockOf("supervisor")));
  expect(locks).toEqual([undefined, undefined]);
});
