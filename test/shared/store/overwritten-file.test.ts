import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/shared/store/put-back.ts";
import { openForReading } from "../../../src/shared/store/sqlite.ts";
import { proofMigration, Store, storeMigration } from "../../../src/shared/store/store.ts";
import { WriteProof } from "../../../src/shared/store/write-proof.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { until } from "../../support/programs/child-program.ts";
import { startProcess } from "../../support/programs/own-processes.ts";

const schema = [
  storeMigration,
  proofMigration,
  "CREATE TABLE sale (id INTEGER PRIMARY KEY, words TEXT) STRICT",
];

/** A database with so many sales, all of them in its file. */
function opened(sales: number, folder = temporaryFolder()) {
  const path = join(folder, "journal.db");
  const database = openStore(path, schema);
  const count = (): number =>
    Number(database.prepare("SELECT max(id) AS n FROM sale").get()?.["n"] ?? 0);
  new Store(database, path, count).begin(() => {});
  const proof = new WriteProof(database, path, new TestClock());
  onTestFinished(() => void (database.isOpen && database.close()));
  const sell = (): void => void database.prepare("INSERT INTO sale (words) VALUES ('a')").run();
  for (let i = 0; i < sales; i++) sell();
  const checkpoint = (): void => database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  checkpoint();
  return { folder, path, database, proof, sell, checkpoint, bytes: () => statSync(path).size };
}

/** As a hand would do it with cp: into the file that is there. */
const overwrite = (path: string, by: string): void => writeFileSync(path, readFileSync(by));

function otherKiosk(sales: number): string {
  const { path, proof } = opened(sales);
  proof.close();
  return path;
}

const ways: Record<string, (at: ReturnType<typeof opened>, older: string) => void> = {
  "an older copy of it": ({ path }, older) => overwrite(path, older),
  "an older copy that was smaller": ({ path, folder, bytes }) => {
    const smaller = join(folder, "smaller.db");
    copyFileSync(otherKiosk(1), smaller);
    truncateSync(smaller, bytes());
    overwrite(path, smaller);
  },
  "the database of another kiosk": ({ path }) => overwrite(path, otherKiosk(60)),
  "a larger one of another kiosk": ({ path }) => overwrite(path, otherKiosk(3_000)),
  "what is no database": ({ path, bytes }) => writeFileSync(path, "x".repeat(bytes())),
};

test.each(Object.entries(ways))(
  "a database file that is overwritten by %s is a fault at the next check",
  (_way, happen) => {
    const at = opened(50);
    const { path, folder, proof, sell, checkpoint, bytes } = at;
    const older = join(folder, "older.db");
    copyFileSync(path, older);
    sell();
    expect([proof.known, proof.proved, proof.standing]).toEqual([undefined, undefined, undefined]);
    checkpoint();
    sell();
    expect([proof.known, proof.proved, proof.standing]).toEqual([undefined, undefined, undefined]);
    expect(bytes()).toBe(statSync(older).size);
    happen(at, older);
    const held = readFileSync(path);
    const says = /was cut short or overwritten .* what it held is lost: .* restore journal/;
    expect(proof.known?.says).toMatch(says);
    expect(proof.standing?.says).toMatch(says);
    expect(() => proof.assertKept()).toThrow(says);
    proof.close();
    expect(readFileSync(path).equals(held)).toBe(true);
  },
);

function otherProgram(path: string, ...does: string[]): void {
  execFileSync(process.execPath, ["-e", programOf(path, does)]);
}

function programOf(path: string, does: readonly string[]): string {
  return `const { DatabaseSync } = require("node:sqlite");
    const database = new DatabaseSync(${JSON.stringify(path)}, { timeout: 5000 });
    for (const sql of ${JSON.stringify(does)}) database.prepare(sql).all();
    database.close();`;
}

const harmless: Record<string, (at: ReturnType<typeof opened>) => void> = {
  "only reads": ({ path }) => otherProgram(path, "SELECT * FROM sale"),
  "copies the log into it": ({ path }) => otherProgram(path, "PRAGMA wal_checkpoint(TRUNCATE)"),
  "compacts it": ({ path }) => otherProgram(path, "VACUUM"),
  "compacts it and copies the log into it": ({ path }) =>
    otherProgram(path, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"),
  "compacts it before it grows again": ({ path, database }) => {
    otherProgram(path, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)");
    database.exec(`BEGIN; ${"INSERT INTO sale (words) VALUES ('a');".repeat(4_000)} COMMIT`);
  },
  "makes an index": ({ path }) =>
    otherProgram(path, "DROP INDEX IF EXISTS i", "CREATE INDEX i ON sale (words)"),
  "gathers statistics": ({ path }) => otherProgram(path, "ANALYZE"),
  "copies it": ({ path }) => otherProgram(path, `VACUUM INTO '${path}.${Math.random()}'`),
  "touches it": ({ path }) => utimesSync(path, 1, 1),
  "writes the same into it": ({ path }) => overwrite(path, path),
};

test.each(Object.entries(harmless))("another program that %s is no fault", (_way, happen) => {
  const at = opened(3_000);
  const { proof, sell, checkpoint, database, path } = at;
  database.exec("DELETE FROM sale WHERE id > 9");
  for (let round = 0; round < 3; round++) {
    sell();
    happen(at);
    expect([proof.known, proof.proved, proof.standing]).toEqual([undefined, undefined, undefined]);
    sell();
    checkpoint();
    expect([proof.known, proof.proved, proof.standing]).toEqual([undefined, undefined, undefined]);
  }
  // It is still watched.
  overwrite(path, otherKiosk(60));
  expect(proof.known?.says).toMatch(/cut short or overwritten/);
});

test("a file that is older than its log for a reader is no fault, nor when it catches up", () => {
  const { path, proof, sell, checkpoint, database } = opened(10);
  for (let round = 0; round < 20; round++) {
    const reader = openForReading(path);
    reader.exec("BEGIN");
    reader.prepare("SELECT * FROM sale").all();
    for (let i = 0; i < 200; i++) sell();
    checkpoint();
    expect(proof.standing).toBeUndefined();
    if (round % 3 === 0) database.exec(`CREATE TABLE t${round} (x); DELETE FROM sale WHERE id > 9`);
    if (round % 5 === 0) otherProgram(path, "VACUUM");
    checkpoint();
    expect(proof.standing).toBeUndefined();
    reader.close();
    checkpoint();
    expect(proof.standing).toBeUndefined();
  }
});

/** Whatever a program does that has the right to write, again and again, until it is killed. */
const busy = `const { DatabaseSync } = require("node:sqlite");
  const pick = (list) => list[Math.floor(Math.random() * list.length)];
  const sql = ["VACUUM", "ANALYZE", "CREATE INDEX IF NOT EXISTS i ON sale (words)",
    "DROP INDEX IF EXISTS i", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(PASSIVE)",
    "PRAGMA wal_checkpoint(RESTART)", "SELECT count(*) FROM sale"];
  for (let n = 1; ; n++) {
    const database = new DatabaseSync(process.argv[1], { timeout: 1000 });
    try {
      for (let i = 0; i < 5; i++) database.prepare(pick(sql)).all();
    } catch {}
    database.close();
    if (n === 1) console.log("busy");
  }`;

test("no check of a file finds a fault because other writers of it are killed", async () => {
  const { path, proof, sell, database } = opened(2_000);
  let checks = 0;
  for (let round = 0; round < 3; round++) {
    const others = [1, 2].map(() => startProcess(process.execPath, ["-e", busy, path]));
    await Promise.all(others.map((other) => other.stdout && once(other.stdout, "data")));
    const enough = checks + 500;
    await until("many checks", () => {
      for (let i = 0; i < 25; i++) {
        expect(proof.known).toBeUndefined();
        checks += 1;
      }
      patiently(sell);
      if (checks % 500 === 0) patiently(() => database.exec("DELETE FROM sale WHERE id % 2 = 0"));
      return checks >= enough || undefined;
    });
    await Promise.all(others.map(killed));
    expect(proof.known).toBeUndefined();
  }
});

/** Who has the write lock for longer than a statement waits is met in this test alone. */
function patiently(write: () => void): void {
  try {
    write();
  } catch (error) {
    expect((error as Error).message).toMatch(/locked/);
  }
}

async function killed(program: ChildProcess): Promise<void> {
  program.kill("SIGKILL");
  await once(program, "exit");
}
