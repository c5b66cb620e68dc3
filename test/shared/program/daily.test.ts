import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { getTasks } from "node-cron";
import { expect, onTestFinished, test, vi } from "vitest";
import { openLogFile } from "../../../src/shared/process/log-file.ts";
import {
  backupChore,
  type MayGoOn,
  oldLogsChore,
  runChores,
  startDaily,
} from "../../../src/shared/program/daily.ts";
import { daysOfCopies } from "../../../src/shared/store/copies.ts";
import { openDatabase } from "../../../src/shared/store/sqlite.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { recordingLog } from "../../support/house/recording-log.ts";

const DAY_MS = 24 * 3_600_000;

const nothing = (): void => {};

function database(folder: string) {
  const path = join(folder, "journal.db");
  const opened = openDatabase(path, ["CREATE TABLE sale (id INTEGER) STRICT"]);
  onTestFinished(() => opened.close());
  return { path, opened };
}

test("a backup is a whole database, made while the original is in use", async () => {
  const folder = temporaryFolder();
  const { path, opened } = database(folder);
  opened.exec("INSERT INTO sale VALUES (1)");
  const copied = backupChore(path, new TestClock(), nothing).run();
  opened.exec("INSERT INTO sale VALUES (2)");
  await copied;
  const copy = new DatabaseSync(join(folder, "backup", "journal-2026-01-15.db"));
  onTestFinished(() => copy.close());
  expect(copy.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  expect(Number(copy.prepare("SELECT count(*) AS n FROM sale").get()?.["n"])).toBeGreaterThan(0);
});

test("a copy keeps the numbers of rows, the schema and the mode of its file", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "journal.db");
  const opened = openDatabase(path, ["CREATE TABLE sale (id TEXT PRIMARY KEY) STRICT"]);
  onTestFinished(() => opened.close());
  opened.exec("INSERT INTO sale VALUES ('a'), ('b'), ('c'); DELETE FROM sale WHERE id <> 'c'");
  await backupChore(path, new TestClock(), nothing).run();
  const file = join(folder, "backup", "journal-2026-01-15.db");
  const copy = new DatabaseSync(file);
  onTestFinished(() => copy.close());
  expect(copy.prepare("SELECT rowid AS number, id FROM sale").all()).toEqual([
    { number: 3, id: "c" },
  ]);
  expect(copy.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("what is written while a copy is made is in the database and not in the copy", async () => {
  const folder = temporaryFolder();
  const { path, opened } = database(folder);
  const numbers = "SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < 200000";
  opened.exec(`INSERT INTO sale WITH RECURSIVE row (i) AS (${numbers}) SELECT i FROM row`);
  let copied = false;
  const copying = Promise.resolve(backupChore(path, new TestClock(), nothing).run());
  void copying.then(() => (copied = true));
  const insert = opened.prepare("INSERT INTO sale VALUES (0)");
  let written = 0;
  while (!copied) {
    insert.run();
    written += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const count = (from: DatabaseSync): number =>
    Number(from.prepare("SELECT count(*) AS n FROM sale").get()?.["n"]);
  const copy = new DatabaseSync(join(folder, "backup", "journal-2026-01-15.db"));
  onTestFinished(() => copy.close());
  expect(count(opened)).toBe(200_000 + written);
  expect(count(copy)).toBeGreaterThanOrEqual(200_000);
  expect(count(copy)).toBeLessThan(200_000 + written);
});

test("a database that cannot be copied leaves the former copies and says why", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "journal.db");
  writeFileSync(path, "no database at all, but long enough to be looked at");
  mkdirSync(join(folder, "backup"));
  writeFileSync(join(folder, "backup", "journal-2026-01-01.db"), "former");
  await expect(backupChore(path, new TestClock(), nothing).run()).rejects.toThrow(/not a database/);
  expect(readdirSync(join(folder, "backup"))).toEqual(["journal-2026-01-01.db"]);
});

test("a copy that is damaged is not kept, and leaves the former ones", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "journal.db");
  const opened = openDatabase(path, ["CREATE TABLE sale (id INTEGER) STRICT"]);
  opened.exec("INSERT INTO sale VALUES (0x4145414541454145)");
  opened.close();
  // One bit of the disk turns the whole number into a fraction, which SQLite copies as it is.
  const bytes = readFileSync(path);
  const typeAt = bytes.indexOf("AEAEAEAE") - 1;
  expect(bytes[typeAt]).toBe(6);
  bytes[typeAt] = 7;
  writeFileSync(path, bytes);
  mkdirSync(join(folder, "backup"));
  for (const day of ["01", "02"]) {
    writeFileSync(join(folder, "backup", `journal-2026-01-${day}.db`), "former");
  }
  const copied = vi.fn();
  const copying = backupChore(path, new TestClock(), copied).run();
  await expect(copying).rejects.toThrow(/damaged: .*non-INTEGER value in sale\.id/);
  expect(copied).not.toHaveBeenCalled();
  const kept = readdirSync(join(folder, "backup"));
  expect(kept.sort()).toEqual(["journal-2026-01-01.db", "journal-2026-01-02.db"]);
});

test("the files of a copy that was cut off are removed at the next start", async () => {
  const folder = temporaryFolder();
  const { path } = database(folder);
  mkdirSync(join(folder, "backup"));
  for (const name of ["journal.unfinished", "journal.unfinished-journal", "journal-mine.db"]) {
    writeFileSync(join(folder, "backup", name), "half");
  }
  const clock = new TestClock();
  const stuck = { name: "stuck", run() {}, clear: () => expect.fail("stuck") };
  const { log } = recordingLog();
  const chores = [stuck, backupChore(path, clock, nothing)];
  const daily = startDaily({ at: "04:00", idle: () => true, chores, clock, log });
  expect(readdirSync(join(folder, "backup"))).toEqual(["journal-mine.db"]);
  await daily.stop();
});

test("two backups are kept, and other files are left alone", async () => {
  const folder = temporaryFolder();
  const { path } = database(folder);
  const clock = new TestClock();
  mkdirSync(join(folder, "backup"));
  writeFileSync(join(folder, "backup", "journal-mine.db"), "");
  for (let day = 0; day < 4; day++) {
    await backupChore(path, clock, nothing).run();
    clock.jumpWallClock(DAY_MS);
  }
  const kept = readdirSync(join(folder, "backup")).sort();
  expect(kept).toHaveLength(3);
  expect(kept[0]).toBe("journal-2026-01-17.db");
  expect(kept).toContain("journal-mine.db");
});

test("a clock that was wrong neither keeps its copies nor drops the later ones", async () => {
  const folder = temporaryFolder();
  const { path } = database(folder);
  const clock = new TestClock();
  const nights = async (count: number) => {
    for (let night = 0; night < count; night++) {
      await backupChore(path, clock, nothing).run();
      clock.jumpWallClock(DAY_MS);
    }
    return daysOfCopies(join(folder, "backup"), "journal", clock.now() - DAY_MS);
  };
  clock.jumpWallClock(4_000 * DAY_MS);
  expect(await nights(2)).toEqual(["2036-12-28", "2036-12-29"]);
  clock.jumpWallClock(-4_002 * DAY_MS);
  expect(await nights(1)).toEqual(["2036-12-29", "2026-01-15"]);
  expect(await nights(2)).toEqual(["2026-01-16", "2026-01-17"]);
});

test("a log begins anew each day, and the old ones go after their days", () => {
  const folder = temporaryFolder();
  const path = join(folder, "tp-manager.log");
  const clock = new TestClock();
  const file = openLogFile(path, clock);
  file.write("first day\n");
  clock.jumpWallClock(DAY_MS);
  file.write("second day\n");
  expect(readFileSync(path, "utf8")).toBe("second day\n");
  const [aside = ""] = readdirSync(folder).filter((name) => name !== "tp-manager.log");
  expect(readFileSync(join(folder, aside), "utf8")).toBe("first day\n");
  const old = (clock.now() - 31 * DAY_MS) / 1000;
  utimesSync(join(folder, aside), old, old);
  void oldLogsChore(path, 30, clock).run();
  expect(readdirSync(folder)).toEqual(["tp-manager.log"]);
});

test("chores wait for an idle moment, and a chore that fails delays no other", async () => {
  const clock = new TestClock();
  const { log, lines } = recordingLog();
  const done: string[] = [];
  let idle = false;
  const chores = [
    {
      name: "broken",
      run() {
        throw new Error("disk full");
      },
    },
    { name: "good", run: () => void done.push("good") },
  ];
  const running = runChores({ at: "03:30", idle: () => idle, chores, clock, log });
  await clock.advance(60_000);
  expect(done).toEqual([]);
  idle = true;
  await clock.advance(15_000);
  await running;
  expect(done).toEqual(["good"]);
  expect(lines.filter((line) => line.includes("daily-chore"))).toHaveLength(1);
});

test("a chore takes its steps in idle moments, and none after a stop", async () => {
  const clock = new TestClock();
  const { log, lines } = recordingLog();
  let [steps, idle, stopped] = [0, true, false];
  const steady = {
    name: "steady",
    async run(mayGoOn: MayGoOn) {
      while (await mayGoOn()) steps += 1;
    },
  };
  const later = { name: "later", run: () => expect.fail("begun after the stop") };
  const options = { at: "03:30", idle: () => idle, chores: [steady, later], clock, log };
  const running = runChores(options, () => stopped);
  await clock.advance(70);
  expect(steps).toBe(3);
  idle = false;
  await clock.advance(60_000);
  expect(steps).toBe(3);
  idle = true;
  await clock.advance(1_000);
  expect(steps).toBeGreaterThan(3);
  [steps, stopped] = [0, true];
  await clock.advance(2_000);
  await running;
  expect([steps, lines]).toEqual([0, []]);
});

test("every time of day can be scheduled and stopped again", async () => {
  const clock = new TestClock();
  const { log } = recordingLog();
  for (const at of ["00:00", "03:30", "23:59"]) {
    const daily = startDaily({ at, idle: () => true, chores: [], clock, log });
    await clock.advance(1_000);
    await daily.stop();
  }
  await startDaily({ at: "12:00", idle: () => true, chores: [], clock, log }).stop();
  await clock.advance(1_000);
  expect(getTasks().size).toBe(0);
});

test("the task of the chores is started when their time is near", async () => {
  const clock = new TestClock(new Date(2026, 0, 15, 12, 0).getTime());
  const { log } = recordingLog();
  const daily = startDaily({ at: "15:00", idle: () => true, chores: [], clock, log });
  await clock.advance(1_000);
  await expect.poll(() => getTasks().size).toBe(1);
  const [task] = getTasks().values();
  await clock.advance(50 * 60_000);
  expect(task?.getStatus()).toBe("stopped");
  await clock.advance(20 * 60_000);
  expect(task?.getStatus()).toBe("idle");
  await daily.stop();
  expect([getTasks().size, clock.running]).toEqual([0, []]);
});

test("a stop ends the wait for the time of the chores", async () => {
  const clock = new TestClock(new Date(2026, 0, 15, 12, 0).getTime());
  const { log } = recordingLog();
  const daily = startDaily({ at: "03:30", idle: () => true, chores: [], clock, log });
  await clock.advance(1_000);
  await daily.stop();
  await clock.advance(3_600_000);
  expect([getTasks().size, clock.running]).toEqual([0, []]);
});
