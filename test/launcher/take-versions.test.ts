import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { takeVersions } from "../../src/launcher/commands/foreground.ts";
import { restart, start } from "../../src/launcher/commands/start.ts";
import { update } from "../../src/launcher/commands/update.ts";
import type { CommandContext } from "../../src/launcher/output.ts";
import { findProcesses, programSpec } from "../../src/launcher/processes/process-table.ts";
import { programFile } from "../../src/shared/version-files.ts";
import { forgetReady, writeReady } from "../../src/update/update-state.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { startProcess } from "../support/programs/own-processes.ts";
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

test.skipIf(process.getuid?.() !== 0)("root starts nothing that another user runs", async () => {
  const [dataDirectory, lines] = [temporaryFolder(), [] as string[]];
  const args = ["--eval", "setInterval(() => {}, 1000)", programFile("tp-manager")];
  const node = [process.execPath, ...args, "--data", dataDirectory];
  const other = startProcess("setpriv", ["--reuid", "12345", "--clear-groups", ...node]);
  const spec = programSpec("tp-manager", dataDirectory);
  await until("the program", () => findProcesses(spec)[0]);
  const context = { dataDirectory, clock: new TestClock(), output: recordedOutput(lines) };
  for (const action of ["check", "now", "from", "hold", "unhold", "back", "delivery", "apply"]) {
    const updating = update(context as unknown as CommandContext, { update: action } as never);
    await expect(updating, action).rejects.toThrow("user 12345 runs the programs");
  }
  for (const command of [start, restart]) {
    const starting = command(context as unknown as CommandContext);
    await expect(starting).rejects.toThrow("user 12345 runs the programs");
  }
  expect(readdirSync(dataDirectory)).toEqual([]);
  expect(await update(context as unknown as CommandContext, { update: "show" } as never)).toBe(0);
  other.kill("SIGKILL");
});

test("the state of updates is shown next to a damaged record of a switch", async () => {
  const [dataDirectory, lines] = [temporaryFolder(), [] as string[]];
  mkdirSync(join(dataDirectory, "update"));
  writeFileSync(join(dataDirectory, "update", "under-way.json"), '{"format":2}');
  const context = { dataDirectory, clock: new TestClock(), output: recordedOutput(lines) };
  expect(await update(context as unknown as CommandContext, { update: "show" } as never)).toBe(0);
  expect(lines).toEqual([expect.stringContaining("no update yet")]);
});
