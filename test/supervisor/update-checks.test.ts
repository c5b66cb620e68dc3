import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkInItsOwnProgram, timeOfChecks } from "../../src/supervisor/updates/update-checks.ts";
import { supportEnd, updateFacts } from "../../src/supervisor/updates/update-facts.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordingLog } from "../support/house/recording-log.ts";
import { writeConfig } from "./supervisor-process.ts";

/** The log of a check by a program with this text. */
async function checkBy(text: string): Promise<string> {
  const folder = temporaryFolder();
  const script = join(folder, "check.mjs");
  writeFileSync(script, text);
  const { log, lines } = recordingLog();
  await checkInItsOwnProgram(folder, log, () => script);
  return lines.join("\n");
}

test("a check is logged: what was mended is an alarm, a failure a warning", async () => {
  const well = await checkBy(`console.log("1.1.0 is ready"); console.error("alarm: was damaged");`);
  expect(well).toContain("update: 1.1.0 is ready");
  expect(well).toMatch(/"alarm":"update-metadata".*was damaged/);
  const away = await checkBy(`console.error("cannot be read"); process.exitCode = 69;`);
  expect(away).toContain("update: cannot be read");
  expect(away).not.toContain('"alarm"');
  expect(await checkBy("process.exitCode = 75;")).toContain("another program checks for updates");
});

test("the program that checks says why it cannot, and ends", async () => {
  const data = temporaryFolder();
  writeConfig(data, "http://127.0.0.1:1");
  const { log, lines } = recordingLog();
  await checkInItsOwnProgram(data, log);
  expect(lines.join("\n")).toContain("there is no check for an update: UPDATE_URL is not set");
});

test("a file of updates that cannot be read leaves them out of the status, logged once", () => {
  const dataDirectory = temporaryFolder();
  mkdirSync(join(dataDirectory, "update", "hold.json"), { recursive: true });
  const { log, lines } = recordingLog();
  const config = { UPDATE_URL: "https://updates.example", UPDATE_CHANNEL: "stable" as const };
  const clock = new TestClock(0);
  const facts = updateFacts(dataDirectory, config, clock, log, true);
  expect([facts(), facts()]).toEqual([undefined, undefined]);
  expect(lines).toHaveLength(1);
  expect(updateFacts(temporaryFolder(), config, clock, log, true)()).toMatchObject({
    heldBy: null,
  });
});

test("an id that cannot be kept ends no start: the checks come without a spread", () => {
  const data = temporaryFolder();
  writeFileSync(join(data, "update"), "no folder");
  const { log, lines } = recordingLog();
  expect(timeOfChecks("03:30", data, log)).toBe("03:30");
  expect(lines.join()).toContain("could not store");
});

test("the end of support is reported from 180 days before, of test values never", () => {
  const publisher = { contact: "security@example.org", supportedUntil: "2031-12-31" };
  const on = (day: string, of: object = publisher) => supportEnd(of, Date.parse(day));
  expect(on("2031-07-01")).toBeNull();
  expect(on("2032-01-01", { ...publisher, testValues: true })).toBeNull();
  const sinceMs = Date.parse("2031-07-05");
  expect(on("2031-07-06")).toEqual({
    reason: expect.stringMatching(/ends after 2031-12-31$/),
    sinceMs,
  });
  expect(on("2032-01-01")?.reason).toBe("the support of this version ended with 2031-12-31");
});
