import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  failed,
  isCrashLoop,
  isPaused,
  kindWithoutCode,
  noFailure,
  pauseMs,
  readMemory,
  writeMemory,
} from "../../src/launcher/processes/keep-alive-memory.ts";

let run: string;
beforeEach(() => {
  run = mkdtempSync(join(tmpdir(), "memory-"));
});
afterEach(() => rmSync(run, { recursive: true }));

const minutes = (kind: string) =>
  [1, 2, 3, 4, 5, 6, 20].map((failures) => pauseMs(kind, failures) / 60_000);

test("a wrong configuration is tried less and less often, up to every half hour", () => {
  expect(minutes("exit 78")).toEqual([0, 4, 8, 16, 30, 30, 30]);
});

test("any other failure is tried at every check at first, in the end every ten minutes", () => {
  expect(minutes("died")).toEqual([0, 0, 0, 4, 8, 10, 10]);
});

test("only failures of the same kind add up", () => {
  const twice = failed(failed(noFailure, "died", 1_000), "died", 2_000);
  expect(twice).toMatchObject({ kind: "died", failures: 2 });
  expect(failed(twice, "exit 78", 3_000)).toMatchObject({ kind: "exit 78", failures: 1 });
});

test("a pause ends by itself, and when the clock is set back by more than the pause", () => {
  const record = { ...noFailure, kind: "exit 78", failures: 2, notBeforeMs: 10 * 60_000 };
  expect(isPaused(record, 10 * 60_000 - 1)).toBe(true);
  expect(isPaused(record, 10 * 60_000)).toBe(false);
  expect(isPaused(record, 5 * 60_000)).toBe(false);
});

const now = { bootMs: 1_000_000, configMs: 5 };
const record = failed(noFailure, "died", 2_000_000);

test("the next check finds what a check has written; an empty memory has no file", () => {
  writeMemory(run, { ...now, programs: { supervisor: record } });
  expect(readMemory(run, { ...now, bootMs: 1_000_900 }).programs).toEqual({ supervisor: record });
  writeMemory(run, { ...now, programs: {} });
  expect(() => readFileSync(join(run, "keep-alive.json"))).toThrow("ENOENT");
  expect(readMemory(run, now).programs).toEqual({});
});

test("a restart of the machine, a changed setup file and a damaged memory all start afresh", () => {
  writeMemory(run, { ...now, programs: { supervisor: record } });
  expect(readMemory(run, { ...now, bootMs: 5_000_000 }).programs).toEqual({});
  expect(readMemory(run, { ...now, configMs: 6 }).programs).toEqual({});
  writeFileSync(join(run, "keep-alive.json"), '{"bootMs":1000');
  expect(readMemory(run, now).programs).toEqual({});
});

test("a full disk, a wrong setup and another running launcher make no loop of crashes", () => {
  const loops = (kind: string) => isCrashLoop({ ...noFailure, failures: 3, kind });
  const whenFull = (full: boolean) =>
    (["died", "hung", "silent"] as const).map((kind) => loops(kindWithoutCode(kind, full)));
  expect(whenFull(false)).toEqual([true, true, true]);
  expect(whenFull(true)).toEqual([false, false, false]);
  expect([69, 75, 78, 70].map((code) => loops(`exit ${code}`))).toEqual([
    false,
    false,
    false,
    true,
  ]);
});
