import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { programFile } from "../../src/shared/version-files.ts";
import { lookInItsOwnProgram } from "../../src/supervisor/updates/update-checks.ts";
import { recordingLog } from "../support/recording-log.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { writeConfig } from "./supervisor-process.ts";

/** The log of a look by a program with this text. */
async function lookBy(text: string): Promise<string> {
  const folder = temporaryFolder();
  const script = join(folder, "look.mjs");
  writeFileSync(script, text);
  const { log, lines } = recordingLog();
  await lookInItsOwnProgram(script, folder, log);
  return lines.join("\n");
}

test("a look is told in the log: what was mended is an alarm, a failure a warning", async () => {
  const well = await lookBy(`console.log("1.1.0 is ready"); console.error("alarm: was damaged");`);
  expect(well).toContain("update: 1.1.0 is ready");
  expect(well).toMatch(/"alarm":"update-metadata".*was damaged/);
  const away = await lookBy(`console.error("cannot be read"); process.exitCode = 69;`);
  expect(away).toContain("update: cannot be read");
  expect(away).not.toContain('"alarm"');
  expect(await lookBy("process.exitCode = 75;")).toContain("somebody else is at work");
});

test("the program that looks says why it cannot, and ends", async () => {
  const data = temporaryFolder();
  writeConfig(data, "http://127.0.0.1:1");
  const { log, lines } = recordingLog();
  await lookInItsOwnProgram(programFile("update-check"), data, log);
  expect(lines.join("\n")).toContain("nobody is asked: UPDATE_URL is not set");
});
