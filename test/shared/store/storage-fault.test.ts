import { chmodSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { storageFault } from "../../../src/shared/store/storage-fault.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

function faultOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

test("a full disk is reported as one, by the file system and by SQLite", () => {
  const full = /^the disk of \/data is full: make room/;
  const full2 = faultOf(() => writeFileSync("/dev/full", "x"));
  expect(storageFault(full2, "/data")).toMatch(full);
  const database = new DatabaseSync(join(temporaryFolder(), "small.db"));
  database.exec("PRAGMA max_page_count = 2; CREATE TABLE t (x)");
  const insert = () => database.exec(`INSERT INTO t VALUES (zeroblob(100000))`);
  expect(storageFault(faultOf(insert), "/data")).toMatch(full);
  database.close();
});

test("a folder that belongs to others is reported with its path", (context) => {
  if (process.getuid?.() === 0) context.skip("root may write everywhere");
  const folder = join(temporaryFolder(), "theirs");
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  const fault = faultOf(() => openSync(join(folder, "log"), "w"));
  expect(storageFault(fault, folder)).toBe(
    `not allowed to use ${folder}/log: ` +
      "run this as the user to whom the data folder belongs, or give that user all of it " +
      `(sudo chown -R USER ${folder})`,
  );
});

test("a database that cannot be opened, or not be written, is reported", () => {
  const missing = join(temporaryFolder(), "missing", "x.db");
  expect(
    storageFault(
      faultOf(() => new DatabaseSync(missing)),
      "/data",
    ),
  ).toMatch(/^not allowed to use \/data: run this as/);
  const file = join(temporaryFolder(), "x.db");
  new DatabaseSync(file).close();
  const readOnly = new DatabaseSync(file, { readOnly: true });
  expect(
    storageFault(
      faultOf(() => readOnly.exec("CREATE TABLE t (x)")),
      "/data",
    ),
  ).toMatch(/^\/data cannot be written/);
  readOnly.close();
});

test("an error that has nothing to do with a disk is no storage fault", async () => {
  expect(storageFault(new Error("something"), "/data")).toBeUndefined();
  expect(storageFault("text", "/data")).toBeUndefined();
  const server = createServer();
  const refused = await new Promise((resolve) =>
    server.once("error", resolve).listen({ path: "/proc/no-socket-here" }),
  );
  expect(storageFault(refused, "/data")).toBeUndefined();
});
