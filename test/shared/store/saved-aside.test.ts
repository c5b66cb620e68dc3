import { once } from "node:events";
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/shared/store/put-back.ts";
import { openForReading } from "../../../src/shared/store/sqlite.ts";
import { proofMigration, storeMigration } from "../../../src/shared/store/store.ts";
import { WriteProof } from "../../../src/shared/store/write-proof.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { until } from "../../support/programs/child-program.ts";
import { startProcess } from "../../support/programs/own-processes.ts";

const schema = [
  storeMigration,
  proofMigration,
  "CREATE TABLE sale (id INTEGER PRIMARY KEY, words TEXT) STRICT",
];

/** A database that is too large to be saved by the way, with its last sale only in its log. */
function large() {
  const folder = temporaryFolder();
  const path = join(folder, "journal.db");
  const database = openStore(path, schema);
  const proof = new WriteProof(database, path, systemClock);
  onTestFinished(() => void (database.isOpen && proof.close()));
  database.exec(`
    INSERT INTO sale (words) WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
      SELECT hex(randomblob(500)) FROM n;
    PRAGMA wal_checkpoint(TRUNCATE)`);
  const sell = (): void => void database.prepare("INSERT INTO sale (words) VALUES ('a')").run();
  sell();
  const backup = join(folder, "backup");
  const sales = (): number =>
    Number(database.prepare("SELECT count(*) AS n FROM sale").get()?.["n"]);
  const saved = (): Promise<string> =>
    until("the copy is reported", () =>
      proof.proved?.says.includes("saved as") ? readdirSync(backup).join() : undefined,
    );
  return { path, database, proof, sell, sales, backup, saved };
}

function salesIn(copy: string): number {
  const database = openForReading(copy);
  try {
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    return Number(database.prepare("SELECT count(*) AS n FROM sale").get()?.["n"]);
  } finally {
    database.close();
  }
}

test("a large database is saved by another program, and payments go on meanwhile", async () => {
  const { path, proof, sell, sales, backup, saved } = large();
  rmSync(path);
  expect(proof.proved?.says).toMatch(/what it holds is being saved: leave the programs running/);
  const before = sales();
  sell();
  expect(proof.known?.says).toMatch(/being saved/);
  const name = await saved();
  expect(name).toMatch(/^journal-[-\d]{10}-saved-\d{6}\.db$/);
  expect(proof.known?.says).toContain(`saved as ${join(backup, name)}`);
  expect(salesIn(join(backup, name))).toBe(before);
  // What was written meanwhile is in the next one, of the same name.
  await until("the next copy", () => {
    void proof.proved;
    return salesIn(join(backup, name)) === before + 1 || undefined;
  });
  sell();
  proof.close();
  expect([salesIn(join(backup, name)), readdirSync(backup)]).toEqual([before + 2, [name]]);
});

test("a stop does not wait for a copy that lacks something: it makes its own", () => {
  const { path, proof, sell, sales, backup } = large();
  renameSync(path, `${path}.old`);
  expect(proof.proved?.says).toMatch(/being saved/);
  sell();
  const all = sales();
  proof.close();
  const [name = "", ...others] = readdirSync(backup);
  expect([salesIn(join(backup, name)), others]).toEqual([all, []]);
});

test("a database that is moved back while it is saved goes on as before", async () => {
  const { path, database, proof, sell, backup, saved } = large();
  renameSync(path, `${path}.old`);
  expect(proof.proved?.says).toMatch(/being saved/);
  renameSync(`${path}.old`, path);
  expect([proof.proved, proof.standing]).toEqual([undefined, undefined]);
  expect(readdirSync(backup)).toEqual([]);
  expect(database.prepare("PRAGMA wal_autocheckpoint").get()).toEqual({ wal_autocheckpoint: 1000 });
  sell();
  // No finding about the abandoned copy is reported for the next one.
  rmSync(path);
  expect(proof.proved?.says).toMatch(/being saved/);
  expect(await saved()).toMatch(/^journal-[-\d]{10}-saved-\d{6}\.db$/);
});

test("a file that another program reads is saved when it is all in one place", async () => {
  const { path, proof, sell, sales, backup, saved } = large();
  const reader = openForReading(path);
  onTestFinished(() => void (reader.isOpen && reader.close()));
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM sale").get();
  sell();
  rmSync(path);
  expect(proof.proved?.says).toMatch(/cannot be saved \(another program is reading the database\)/);
  reader.close();
  const name = await saved();
  expect(salesIn(join(backup, name))).toBe(sales());
});

test("a copy that cannot be made is reported with the reason", () => {
  const { path, proof, backup } = large();
  rmSync(path);
  writeFileSync(backup, "in the way");
  expect(proof.proved?.says).toMatch(/cannot be saved \(EEXIST/);
});

test("a program that is killed while its database is saved does not lose it", async () => {
  const { path, proof, sales, backup } = large();
  const all = sales();
  proof.close();
  const here = (file: string): string => pathToFileURL(join(projectRoot, "src/shared", file)).href;
  const code = `
    const { openDatabase } = await import(${JSON.stringify(here("store/sqlite.ts"))});
    const { WriteProof } = await import(${JSON.stringify(here("store/write-proof.ts"))});
    const { systemClock } = await import(${JSON.stringify(here("time.ts"))});
    const { rmSync } = await import("node:fs");
    const path = ${JSON.stringify(path)};
    const database = openDatabase(path, Array(${schema.length}).fill(""));
    const proof = new WriteProof(database, path, systemClock);
    rmSync(path);
    console.log(proof.proved.says);
    process.kill(process.pid, "SIGKILL");`;
  const program = startProcess(process.execPath, ["--input-type=module", "-e", code]);
  const { stdout } = program;
  if (!stdout) throw new Error("the program has no output");
  const [[output]] = await Promise.all([once(stdout, "data"), once(program, "exit")]);
  expect(String(output)).toMatch(/being saved/);
  expect(existsSync(path)).toBe(false);
  const name = await until("the copy is there", () =>
    readdirSync(backup).find((file) => file.endsWith(".db")),
  );
  expect(salesIn(join(backup, name))).toBe(all);
});
