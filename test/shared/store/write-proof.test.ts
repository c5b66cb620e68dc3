import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../src/shared/store/sqlite.ts";
import { proofMigration, storeMigration } from "../../../src/shared/store/store.ts";
import { WriteProof } from "../../../src/shared/store/write-proof.ts";
import { ownTimeOf } from "../../support/clocks/own-time.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { countLog } from "../../support/files/write-ahead-log.ts";

const MINUTE = 60_000;
const schema = [storeMigration, proofMigration, "CREATE TABLE t (x INT UNIQUE) STRICT"];

function proving(folder = temporaryFolder()) {
  const path = join(folder, "x.db");
  const clock = new TestClock();
  const database = openDatabase(path, schema);
  onTestFinished(() => database.close());
  const proof = new WriteProof(database, path, clock);
  database.exec("INSERT INTO t VALUES (0)"); // the log begins anew
  return { path, clock, database, proof };
}

const seal = (how: 0 | 1): string => `PRAGMA query_only = ${how}`;

test("a proof is one small commit each minute, however often it is asked for", async () => {
  const { path, clock, proof } = proving();
  const before = countLog(path);
  for (let asked = 0; asked < 30; asked++) {
    expect(proof.proved).toBeUndefined();
    await clock.advance(MINUTE / 15);
  }
  const after = countLog(path);
  expect([after.commits - before.commits, after.pages - before.pages]).toEqual([2, 2]);
  await clock.advance(MINUTE);
  expect([proof.known, proof.standing, countLog(path)]).toEqual([undefined, undefined, after]);
});

test("a disk that takes nothing is reported within a minute, its end within seconds", async () => {
  const { clock, database, proof } = proving();
  expect(proof.proved).toBeUndefined();
  database.exec(seal(1));
  await clock.advance(MINUTE);
  const fault = { says: expect.stringContaining("read-only"), sinceMs: clock.now() };
  expect(proof.proved).toEqual(fault);
  await clock.advance(MINUTE);
  expect([proof.proved, proof.known, proof.standing]).toEqual([fault, fault, fault]);
  database.exec(seal(0));
  expect([proof.known, proof.proved]).toEqual([fault, fault]);
  await clock.advance(5_000);
  expect(proof.proved).toBeUndefined();
});

test("a failed write is reported at once, and the next good one has the disk proved again", () => {
  const { database, proof } = proving();
  const insert = () => proof.watch(() => database.exec("INSERT INTO t VALUES (1)"));
  expect(proof.proved).toBeUndefined();
  insert();
  expect(insert).toThrow("UNIQUE");
  expect(proof.known).toBeUndefined(); // the row was refused, not the disk
  database.exec(seal(1));
  expect(insert).toThrow("readonly");
  expect(proof.known?.says).toContain("read-only");
  proof.watch(() => database.exec("SELECT 1")); // what writes nothing proves nothing
  expect(proof.proved?.says).toContain("read-only");
  database.exec(seal(0));
  proof.watch(() => database.exec("INSERT INTO t VALUES (3)"));
  expect(proof.proved).toBeUndefined();
});

test("a caller that is about to write is refused only for what is so now", () => {
  const { database, proof } = proving();
  database.exec(seal(1));
  expect(proof.standing).toBeUndefined(); // the write itself will show it
  expect(proof.proved).toBeDefined();
  expect(proof.standing).toBeDefined();
  database.exec(seal(0));
  expect(proof.standing).toBeUndefined();
});

test("a program with the write lock delays no caller, and is a fault when it lasts", async () => {
  const { path, clock, database, proof } = proving();
  const other = openDatabase(path, schema);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  const tookMs = await ownTimeOf([], async () => {
    expect([proof.proved, proof.known, proof.standing]).toEqual([undefined, undefined, undefined]);
    await clock.advance(5_000);
    expect(proof.proved).toBeUndefined();
    await clock.advance(5_000);
    expect(proof.proved?.says).toMatch(/another program keeps .* locked/);
    expect(proof.standing?.says).toMatch(/another program/);
  });
  expect(tookMs).toBeLessThan(1_000); // SQLite waits 2 s for each
  other.exec("ROLLBACK");
  expect(proof.standing).toBeUndefined();
  // A write waits for the lock as before.
  expect(database.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 2_000 });
});

test("a write that met another program is proved again within seconds", async () => {
  const { path, clock, database, proof } = proving();
  database.exec("PRAGMA busy_timeout = 0");
  const other = openDatabase(path, schema);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  const insert = () => proof.watch(() => database.exec("INSERT INTO t VALUES (1)"));
  expect(insert).toThrow("database is locked");
  expect(proof.known).toBeUndefined();
  other.exec("ROLLBACK");
  const before = countLog(path).commits;
  await clock.advance(5_000);
  expect(proof.proved).toBeUndefined();
  expect(countLog(path).commits - before).toBe(1);
  insert();
});

test("a full disk is reported before a write fails, and is over when there is room", ({ skip }) => {
  const folder = join(temporaryFolder(), "small");
  mkdirSync(folder);
  const options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder];
  if (process.getuid?.() !== 0 || spawnSync("mount", options).status !== 0) {
    skip("only root can mount a small disk");
  }
  onTestFinished(() => void spawnSync("umount", ["--lazy", folder]));
  const { proof } = proving(folder);
  expect(proof.proved).toBeUndefined();
  const filler = join(folder, "filler");
  writeFileSync(filler, Buffer.alloc(800_000));
  expect(proof.known?.says).toMatch(/is full: make room/);
  expect(proof.standing).toBeDefined();
  rmSync(filler);
  expect([proof.known, proof.standing, proof.proved]).toEqual([undefined, undefined, undefined]);
});

test("a closed database is reported as one that cannot be written", () => {
  const { database, proof } = proving();
  database.close();
  expect(proof.proved?.says).toMatch(/cannot be written: .*not open/);
  database.open();
});
