import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { takeVersions } from "../../src/launcher/commands/foreground.ts";
import type { CommandContext } from "../../src/launcher/output.ts";
import { forgetReady, writeReady } from "../../src/update/update-state.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordedOutput } from "../support/programs/recorded-output.ts";

// These sources count as a delivery, because a checkout takes no versions.
vi.mock(import("../../src/shared/version-files.ts"), async (original) => ({
  ...(await original()),
  isDelivery: true,
}));

test("a fault that keeps a version from being installed is printed once", async () => {
  const [dataDirectory, clock, lines] = [temporaryFolder(), new TestClock(), [] as string[]];
  const hold = join(dataDirectory, "update", "hold.json");
  writeReady(dataDirectory, "9.9.9", 1);
  mkdirSync(hold);
  const context = { dataDirectory, clock, output: recordedOutput(lines) };
  const over = new AbortController();
  const rounds: boolean[] = [];
  const taking = takeVersions(context as unknown as CommandContext, over.signal, (isOn) => {
    if (isOn) rounds.push(isOn);
  });
  const pass = async (count: number) => {
    const until = rounds.length + count;
    while (rounds.length < until) await clock.advance(5_000);
  };
  await pass(3);
  expect(lines).toEqual([expect.stringContaining("no new version is installed now: EISDIR")]);
  forgetReady(dataDirectory);
  await clock.advance(5_000);
  writeReady(dataDirectory, "9.9.9", 1);
  await pass(2);
  expect(lines).toHaveLength(2);
  rmdirSync(hold);
  writeFileSync(hold, JSON.stringify({ who: "anna", sinceMs: 1, untilMs: null }));
  await pass(2);
  expect(lines).toHaveLength(2);
  over.abort();
  await clock.advance(5_000);
  expect(await taking).toBe(false);
});
