import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { copiesOf } from "../../../src/shared/store/copies.ts";
import { openStore } from "../../../src/shared/store/put-back.ts";
import { openDatabase, openForReading } from "../../../src/shared/store/sqlite.ts";
import { proofMigration, Store, storeMigration } from "../../../src/shared/store/store.ts";
import { WriteProof } from "../../../src/shared/store/write-proof.ts";
import { ownTimeOf } from "../../support/clocks/own-time.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

const schema = [
  storeMigration,
  proofMigration,
  "CREATE TABLE sale (id INTEGER PRIMARY KEY) STRICT",
];

/** A database with sale 1 in a nightly copy, 2 in its file, 3 only in its log. */
function opened(folder = temporaryFolder()) {
  const path = join(folder, "journal.db");
  const clock = new TestClock();
  const database = openStore(path, schema);
  const proof = new WriteProof(database, path, clock);
  onTestFinished(() => void (database.isOpen && database.close()));
  const store = new Store(database, path, () => salesIn(database).length);
  store.begin(() => {});
  const sell = (id: number) => void database.prepare("INSERT INTO sale VALUES (?)").run(id);
  const copy = join(folder, "nightly.db");
  sell(1);
  database.prepare("VACUUM INTO ?").run(copy);
  store.copied();
  sell(2);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  sell(3);
  const backup = join(folder, "backup");
  const saved = () => copiesOf(backup, "journal", clock.now());
  const savedSales = () => salesAt(join(backup, `journal-${saved().at(-1)}.db`));
  return { folder, path, clock, database, proof, sell, copy, backup, saved, savedSales };
}

function salesIn(database: DatabaseSync): number[] {
  return database
    .prepare("SELECT id FROM sale ORDER BY id")
    .all()
    .map(({ id }) => Number(id));
}

function salesAt(path: string): number[] {
  const database = openForReading(path);
  try {
    return salesIn(database);
  } finally {
    database.close();
  }
}

/** What the next start says of the database, and what is in it. */
function nextStart(path: string) {
  const database = openStore(path, schema);
  try {
    let found = "";
    new Store(database, path, () => salesIn(database).length).begin(({ kind }) => (found = kind));
    const verdict = database.prepare("PRAGMA integrity_check").get();
    expect(verdict).toEqual({ integrity_check: "ok" });
    return [found, salesIn(database)];
  } finally {
    database.close();
  }
}

const remove = ({ path }: { path: string }) => {
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`);
};
const replace = ({ path, copy }: { path: string; copy: string }) => renameSync(copy, path);

const ways: Record<string, [(at: ReturnType<typeof opened>) => void, RegExp]> = {
  "deleted alone": [({ path }) => rmSync(path), /was deleted or moved away/],
  "deleted with its log": [remove, /was deleted or moved away/],
  "moved away": [({ path }) => renameSync(path, `${path}.old`), /was deleted or moved away/],
  "replaced by a copy": [replace, /was replaced by another file/],
};

test.each(Object.entries(ways))(
  "a database that was %s is a fault at once, and its content is saved",
  (_way, [happen, says]) => {
    const at = opened();
    const { proof, path, sell } = at;
    expect([proof.proved, proof.standing]).toEqual([undefined, undefined]);
    happen(at);
    expect(proof.known?.says).toMatch(says);
    expect([at.saved(), existsSync(at.backup)]).toEqual([[], false]); // `known` saves nothing
    expect(proof.proved?.says).toMatch(says);
    const says2 = proof.known?.says;
    const name = `journal-${at.saved()[0]}.db`;
    expect(says2).toContain(`saved as ${join(at.backup, name)}: ./launch.sh stop`);
    expect(name).toMatch(/^journal-2026-01-15-saved-\d{6}\.db$/);
    expect(at.savedSales()).toEqual([1, 2, 3]);
    // What ran ends in the file that nobody can find, and is saved too.
    sell(4);
    expect(() => proof.assertKept()).toThrow(says);
    expect(at.savedSales()).toEqual([1, 2, 3, 4]);
    sell(5);
    proof.close();
    expect(at.savedSales()).toEqual([1, 2, 3, 4, 5]);
    expect(readdirSync(at.backup)).toEqual([name]);
    expect(nextStart(path)[0]).not.toBe("whole");
  },
);

test("the log of a replaced database is not played into the file that replaced it", () => {
  const at = opened();
  const { path, proof, database, sell } = at;
  replace(at);
  expect(proof.standing).toBeDefined();
  for (let id = 10; id < 200; id++) sell(id);
  expect(existsSync(`${path}-wal`)).toBe(false);
  // As after a power cut: nothing is closed.
  expect(nextStart(path)).toEqual(["older", [1]]);
  expect(salesIn(database)).toHaveLength(193);
});

test.skipIf(process.platform === "win32")(
  "a database that a link leads to is watched with the log next to it",
  () => {
    const [folder, disk] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(disk, "journal.db"), "");
    symlinkSync(join(disk, "journal.db"), join(folder, "journal.db"));
    const { path, proof, copy, sell, savedSales } = opened(folder);
    const log = join(disk, "journal.db-wal");
    rmSync(log);
    expect([proof.proved, proof.standing]).toEqual([undefined, undefined]);
    expect(existsSync(log)).toBe(true);
    sell(4);
    renameSync(copy, join(disk, "journal.db"));
    expect(proof.proved?.says).toMatch(/was replaced by another file/);
    expect(savedSales()).toEqual([1, 2, 3, 4]);
    expect(existsSync(log)).toBe(false);
    // As after a power cut: nothing is closed.
    expect(nextStart(path)).toEqual(["older", [1]]);
  },
);

test.each([
  ["copied over", (path: string, copy: string) => copyFileSync(copy, path), ["older", [1]]],
  ["emptied", (path: string) => truncateSync(path), ["older", []]],
] as const)(
  "a database that was %s in its place is a fault, and nothing more is written into it",
  (_way, happen, next) => {
    const { folder, path, proof, database, copy, sell, saved } = opened();
    for (let id = 10; id < 3_000; id++) sell(id);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    expect(proof.proved).toBeUndefined();
    sell(3_001);
    happen(path, copy);
    const held = readFileSync(path);
    expect(proof.known?.says).toMatch(/was cut short or overwritten .* lost: .* restore journal/);
    expect(() => proof.assertKept()).toThrow(/overwritten/);
    for (let id = 4_000; id < 6_000; id++) attempt(() => sell(id));
    proof.close();
    expect(readFileSync(path).equals(held)).toBe(true);
    // The next start is another process; in this one the file is still open.
    const afterwards = temporaryFolder();
    cpSync(folder, afterwards, { recursive: true });
    expect([saved(), nextStart(join(afterwards, "journal.db"))]).toEqual([[], next]);
  },
);

test("a database that another program compacts is no fault, and is still watched", () => {
  const { path, proof, database, sell, saved } = opened();
  for (let id = 10; id < 9_000; id++) sell(id);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  expect(proof.proved).toBeUndefined();
  const before = statSync(path).size;
  database.exec("DELETE FROM sale WHERE id > 3");
  otherProgram(path, 'exec("VACUUM")');
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  expect(statSync(path).size).toBeLessThan(before);
  sell(4);
  expect([proof.known, proof.proved, proof.standing, saved()]).toEqual([
    undefined,
    undefined,
    undefined,
    [],
  ]);
  proof.assertKept();
  sell(5);
  truncateSync(path, 4096);
  expect(proof.known?.says).toMatch(/was cut short or overwritten/);
});

test("a compacted database is whole at the next start", () => {
  const { path, proof, database, sell } = opened();
  for (let id = 10; id < 9_000; id++) sell(id);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  expect(proof.proved).toBeUndefined();
  database.exec("DELETE FROM sale WHERE id > 3");
  otherProgram(path, 'exec("VACUUM")');
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  expect(proof.proved).toBeUndefined();
  sell(4);
  proof.close();
  expect(nextStart(path)).toEqual(["whole", [1, 2, 3, 4]]);
});

function otherProgram(path: string, does: string): string {
  const code = `import("node:sqlite").then(({ DatabaseSync }) => {
    const database = new DatabaseSync(${JSON.stringify(path)});
    console.log(database.${does});
    database.close();
  })`;
  return execFileSync(process.execPath, ["-e", code], { encoding: "utf8" }).trim();
}

/** What runs meanwhile may find its pages gone. */
function attempt(write: () => void): void {
  try {
    write();
  } catch (error) {
    expect((error as Error).message).toMatch(/malformed|disk I\/O/);
  }
}

test("a database that was replaced with its log leaves both alone at the stop", () => {
  const at = opened();
  remove(at);
  replace(at);
  const other = openDatabase(at.path, schema);
  other.exec("INSERT INTO sale VALUES (77)");
  const log = readFileSync(`${at.path}-wal`);
  expect(log.length).toBeGreaterThan(0);
  at.proof.close();
  expect(readFileSync(`${at.path}-wal`)).toEqual(log);
  other.close();
  expect(nextStart(at.path)[1]).toEqual([1, 77]);
});

test("a database that is moved back is no fault any more, and whole at the next start", () => {
  const at = opened();
  const { path, proof, sell } = at;
  renameSync(path, `${path}.old`);
  expect(proof.proved).toBeDefined();
  sell(4);
  renameSync(`${path}.old`, path);
  expect([proof.proved, proof.known, proof.standing]).toEqual([undefined, undefined, undefined]);
  proof.assertKept();
  sell(5);
  proof.close();
  expect(nextStart(path)).toEqual(["whole", [1, 2, 3, 4, 5]]);
});

test("a database that comes back after another lay in its place keeps its log short", () => {
  const { path, copy, database, proof, sell } = opened();
  renameSync(path, `${path}.old`);
  renameSync(copy, path);
  expect(proof.proved?.says).toMatch(/was replaced by another file/);
  sell(4);
  renameSync(`${path}.old`, path);
  expect([proof.proved, proof.standing]).toEqual([undefined, undefined]);
  for (let id = 5; id < 2_500; id++) sell(id);
  expect(statSync(`${path}-wal`).size).toBeLessThan(8 * 1024 * 1024);
  expect(database.prepare("PRAGMA wal_autocheckpoint").get()).toEqual({ wal_autocheckpoint: 1000 });
  proof.close();
  expect(nextStart(path)[1]).toHaveLength(2_499);
});

test.each([["-wal"], ["-shm"], ["-wal", "-shm"]])(
  "a log whose files are gone (%s %s) is made anew, with all its content",
  (...endings) => {
    const { path, proof, sell, saved } = opened();
    const reported: string[] = [];
    proof.onMended = (says) => reported.push(says);
    for (const ending of endings) rmSync(`${path}${ending}`);
    expect(proof.known?.says).toMatch(/the write-ahead log of .* was deleted or replaced/);
    expect(proof.proved).toBeUndefined();
    expect(reported).toEqual([expect.stringMatching(/was made anew with all that it held/)]);
    sell(4);
    expect(salesAt(path)).toEqual([1, 2, 3, 4]);
    expect([proof.standing, saved()]).toEqual([undefined, []]);
    // Another process finds everything: nothing lies in a file without a name.
    const found = otherProgram(path, 'prepare("SELECT max(id) AS n FROM sale").get().n');
    expect(found).toBe("4");
  },
);

test("a lost log stays a fault while another program reads, and delays no write", async () => {
  const { path, proof, sell } = opened();
  const reader = openForReading(path);
  onTestFinished(() => void (reader.isOpen && reader.close()));
  reader.exec("BEGIN");
  expect(salesIn(reader)).toEqual([1, 2, 3]);
  rmSync(`${path}-wal`);
  const tookMs = await ownTimeOf([], () => {
    expect(proof.proved?.says).toMatch(/made anew as soon as nobody else reads/);
  });
  expect(tookMs).toBeLessThan(1_000);
  expect(() => proof.assertKept()).toThrow(/write-ahead log/);
  sell(4);
  reader.close();
  expect(proof.proved).toBeUndefined();
  expect(salesAt(path)).toEqual([1, 2, 3, 4]);
});

test("a copy that cannot be saved is reported with the reason, and is tried again", async () => {
  const { path, proof, backup, clock, savedSales } = opened();
  writeFileSync(backup, "in the way of the folder");
  rmSync(path);
  expect(proof.proved?.says).toMatch(/cannot be saved \(EEXIST.*mend that while it runs/);
  rmSync(backup);
  mkdirSync(backup);
  expect(proof.proved?.says).toMatch(/cannot be saved/);
  await clock.advance(5_000);
  expect(proof.proved?.says).toMatch(/saved as/);
  expect(savedSales()).toEqual([1, 2, 3]);
});

test("a database that is replaced while its log is made anew is a fault, and is saved", () => {
  const { path, proof, database, copy, sell, savedSales } = opened();
  const exec = database.exec.bind(database);
  database.exec = (sql) => {
    exec(sql);
    if (sql === "PRAGMA busy_timeout = 2000" && existsSync(copy)) renameSync(copy, path);
  };
  rmSync(`${path}-wal`);
  void proof.proved;
  sell(4);
  expect(proof.proved?.says).toMatch(/was replaced by another file/);
  expect(savedSales()).toEqual([1, 2, 3, 4]);
});

test("slow copies leave the program most of its time; none is left out at a stop", () => {
  const { path, proof, clock, sell, savedSales } = opened();
  let ms = 0;
  clock.monotonicMs = () => {
    ms += 1_000;
    return ms;
  };
  rmSync(path);
  expect(proof.proved?.says).toMatch(/saved as/);
  const wholeMs = ms;
  sell(4);
  expect(proof.proved?.says).toMatch(/saved as/);
  expect(savedSales()).toEqual([1, 2, 3]);
  ms = wholeMs + 20_000;
  void proof.proved;
  expect(savedSales()).toEqual([1, 2, 3, 4]);
  sell(5);
  proof.close();
  expect(savedSales()).toEqual([1, 2, 3, 4, 5]);
});
