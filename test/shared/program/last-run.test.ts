import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { beginRun, startedAfter } from "../../../src/shared/program/last-run.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

const now = { version: "1.2.0", boot: "b" };

test.each([
  ["not-known", undefined],
  ["stop", { ...now, isEnded: true }],
  ["died", { ...now, isEnded: false }],
  ["reboot", { ...now, boot: "a", isEnded: true }],
  ["abrupt-reboot", { ...now, boot: "a", isEnded: false }],
  ["update", { ...now, version: "1.1.0", isEnded: true }],
  ["update", { version: "1.3.0", boot: "a", isEnded: false }],
] as const)("a run is named %s after %j", (reason, before) => {
  expect(startedAfter(before, now)).toBe(reason);
});

test("a record of a run that is damaged or cannot be written stops no start", () => {
  const folder = temporaryFolder();
  const begin = () => beginRun(folder, "supervisor", new TestClock());
  expect(begin().startedAfter).toBe("not-known");
  const run = begin();
  expect(run.startedAfter).toBe("died");
  run.end();
  expect(begin().startedAfter).toBe("stop");
  writeFileSync(join(folder, "supervisor.run.json"), '{"vers');
  expect(begin().startedAfter).toBe("not-known");
  mkdirSync(join(folder, "tp-manager.run.json"));
  const other = beginRun(folder, "tp-manager", new TestClock());
  expect(other.startedAfter).toBe("not-known");
  other.end();
});
