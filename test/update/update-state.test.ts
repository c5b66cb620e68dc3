import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { updateFacts } from "../../src/supervisor/updates/update-facts.ts";
import { switchBegins } from "../../src/update/switch-machine.ts";
import {
  BY_OPERATOR,
  checkTime,
  endHold,
  installationId,
  readHold,
  readReady,
  readState,
  rememberEnd,
  type SwitchRecord,
  writeHold,
  writeReady,
  writeSwitch,
} from "../../src/update/update-state.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordingLog } from "../support/house/recording-log.ts";

const NIGHT_MS = 24 * 3_600_000;

function ended(more: Partial<SwitchRecord>): SwitchRecord {
  const record = { format: 1 as const, from: "1.0.0", to: "1.1.0", beganMs: 0, atMs: 0 };
  return { ...record, linkWasUp: true, ...switchBegins, step: "undone", why: "no", ...more };
}

const figures = (data: string) =>
  updateFacts(
    data,
    { UPDATE_URL: "https://x.example", UPDATE_CHANNEL: "stable" },
    new TestClock(0),
    recordingLog().log,
    true,
  )() ?? expect.fail("the files of updates cannot be read");

test("each installation checks within half an hour of UPDATE_TIME, always at the same time", () => {
  const minutes = Array.from({ length: 500 }, (_, i) => checkTime("00:10", `kiosk-${i}`)).map(
    (text) => {
      const [hours = 0, rest = 0] = text.split(":").map(Number);
      return ((hours * 60 + rest + 12 * 60) % (24 * 60)) - 12 * 60 - 10;
    },
  );
  expect([Math.min(...minutes), Math.max(...minutes)]).toEqual([-30, 30]);
  expect(new Set(minutes).size).toBe(61);
  expect(checkTime("03:30", "a")).toBe(checkTime("03:30", "a"));
  const data = temporaryFolder();
  expect(installationId(data)).toBe(installationId(data));
  expect(installationId(temporaryFolder())).not.toBe(installationId(data));
});

test("only a failure of the programs bars a version, and is shown until another is taken", () => {
  const data = temporaryFolder();
  const failed = ended({ bars: true, why: "it crashed", atMs: 5 });
  for (const record of [failed, failed]) rememberEnd(data, record); // once more after a cut
  writeSwitch(data, failed);
  expect(readState(data).barred).toEqual([{ version: "1.1.0", why: "it crashed", atMs: 5 }]);
  expect(figures(data).failed).toEqual({ reason: "1.1.0 failed here: it crashed", sinceMs: 5 });
  const taken = ended({ step: "done", why: null, to: "1.2.0" });
  rememberEnd(data, taken);
  writeSwitch(data, taken);
  expect(figures(data).failed).toBeNull();
  expect(readState(data).barred).toHaveLength(1);
  rememberEnd(data, ended({ step: "done", why: null }));
  expect(readState(data).barred).toEqual([]);
});

test("a terminal that is away puts a version off; an alarm comes with the third night", () => {
  const data = temporaryFolder();
  for (const night of [0, 1, 2]) {
    writeReady(data, "1.1.0", night);
    rememberEnd(data, ended({ why: "the terminal was not reached", atMs: night * NIGHT_MS }));
    expect(readReady(data)).toBeUndefined();
    expect(figures(data).stuck === null, `night ${night}`).toBe(night < 2);
  }
  expect(figures(data).stuck?.reason).toBe("1.1.0 was put off: the terminal was not reached");
  expect(readState(data).barred).toEqual([]);
  rememberEnd(data, ended({ step: "done", why: null }));
  expect(figures(data).stuck).toBeNull();
});

test("a version that an operator has undone is barred, without an alarm", () => {
  const data = temporaryFolder();
  const back = ended({ bars: true, why: BY_OPERATOR });
  rememberEnd(data, back);
  writeSwitch(data, back);
  expect(readState(data).barred).toMatchObject([{ version: "1.1.0" }]);
  expect(figures(data).failed).toBeNull();
});

test("a hold is over when its day has come, or an operator ends it", () => {
  const data = temporaryFolder();
  writeHold(data, { who: "anna", sinceMs: 1, untilMs: 100 });
  expect([readHold(data, 99)?.who, readHold(data, 100)]).toEqual(["anna", undefined]);
  writeHold(data, { who: "ben", sinceMs: 1, untilMs: null });
  expect(readHold(data, 1e15)?.who).toBe("ben");
  endHold(data);
  expect(readHold(data, 1)).toBeUndefined();
});

test("a damaged state counts as none, and the next one replaces it", () => {
  const data = temporaryFolder();
  mkdirSync(join(data, "update"));
  for (const name of ["state.json", "hold.json", "ready.json", "installation.json"]) {
    writeFileSync(join(data, "update", name), '{"format":');
  }
  expect([readHold(data, 0), readReady(data)]).toEqual([undefined, undefined]);
  expect(installationId(data)).toBe(installationId(data));
  rememberEnd(data, ended({ bars: true }));
  expect(readState(data).barred).toHaveLength(1);
});
