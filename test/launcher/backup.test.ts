import {
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { backup } from "../../src/launcher/commands/backup.ts";
import { restore } from "../../src/launcher/commands/restore.ts";
import { exitCodes } from "../../src/shared/process/exit-codes.ts";
import { openDatabase, openForReading } from "../../src/shared/store/sqlite.ts";
import { storeMigration } from "../../src/shared/store/store.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { commandAt, runningKiosk } from "../support/house/copied-kiosk.ts";
import { pay, request } from "../support/house/payment-house.ts";
import { managerIn, supervisorIn } from "../support/house/two-stores.ts";

const NAME = /^backup-\d{4}-\d\d-\d\d-\d{6}$/;
const SECOND_MS = 1_000;

let bare: string;
/** The files of two small databases, for tests in which nothing is paid. */
beforeAll(() => {
  bare = temporaryFolder(afterAll);
  for (const [name, table] of [
    ["journal", "attempt"],
    ["supervisor", "outbox"],
  ] as const) {
    const rows = `CREATE TABLE ${table} (id INTEGER) STRICT;
      INSERT INTO store_session VALUES (1, 'first', 0), (2, 'second', 5);`;
    openDatabase(join(bare, `${name}.db`), [storeMigration, rows]).close();
  }
});

function installation() {
  const folder = temporaryFolder();
  for (const name of ["journal.db", "supervisor.db"]) {
    copyFileSync(join(bare, name), join(folder, name));
  }
  const clock = new TestClock();
  return { folder, clock, backups: join(folder, "backup"), ...commandAt(folder, clock) };
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("a copy of both databases is made while they are open, for its owner alone", async () => {
  const { folder, backups, lines, site } = installation();
  const open = openDatabase(join(folder, "journal.db"), [storeMigration, ""]);
  open.exec("INSERT INTO attempt VALUES (1), (2)");
  expect(await backup(site, {})).toBe(0);
  open.close();
  const [name = "", ...others] = readdirSync(backups);
  expect([others, name]).toEqual([[], expect.stringMatching(NAME)]);
  const path = join(backups, name);
  expect(readdirSync(path).sort()).toEqual(["journal.db", "supervisor.db"]);
  const modes = [backups, path, join(path, "journal.db"), join(path, "supervisor.db")].map(modeOf);
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
  const copy = openForReading(join(path, "journal.db"));
  expect(copy.prepare("SELECT count(*) AS n FROM attempt").get()).toEqual({ n: 2 });
  // It lacks the session in which it was made, so that it counts as older wherever it is put.
  expect(copy.prepare("SELECT session FROM store_session").all()).toEqual([{ session: "first" }]);
  copy.close();
  const printed = lines.join("\n");
  expect(printed).toMatch(/^copy good made .*\/backup-[\d-]+ \(0\.\d MB\)$/m);
  // Without the folder the commands would stop and replace the installation in data.
  const data = ` --data ${folder}`;
  expect(printed).toContain(
    `stop${data}, then ./launch.sh restore --from ${path}${data}, then ./launch.sh${data}.`,
  );
});

test("a copy is not removed as the oldest after the clock was set back", async () => {
  const { backups, clock, lines, site } = installation();
  for (const _ of [1, 2]) {
    expect(await backup(site, {})).toBe(0);
    await clock.advance(SECOND_MS);
  }
  for (const name of readdirSync(backups)) {
    const path = join(backups, name);
    const later = new Date(statSync(path).mtimeMs + 3_600 * SECOND_MS);
    utimesSync(path, later, later);
  }
  lines.length = 0;
  expect(await backup(site, { json: true })).toBe(0);
  const { path } = JSON.parse(lines.join(""));
  expect(readdirSync(path)).toContain("journal.db");
});

test("the newest copy is restored by itself, and any of them by its folder", async () => {
  const { folder, backups, clock, lines, site } = installation();
  const stick = temporaryFolder();
  expect(await backup(site, { subject: stick, json: true })).toBe(0);
  const made = JSON.parse(lines.join(""));
  const bytes = ["journal.db", "supervisor.db"]
    .map((name) => statSync(join(made.path, name)).size)
    .reduce((sum, size) => sum + size);
  expect(made).toEqual({ path: expect.stringContaining(stick), madeAt: expect.any(String), bytes });
  await clock.advance(SECOND_MS);
  await backup(site, {});
  for (const [from, named] of [
    [undefined, "from the copy of backup-2026-01-15"],
    [`${made.path}/`, `from the copy of ${made.path}`],
  ] as const) {
    lines.length = 0;
    await clock.advance(SECOND_MS);
    expect(await restore(site, { from })).toBe(0);
    expect(lines.join("\n")).toContain(named);
  }
  const [name = ""] = readdirSync(backups).filter((one) => NAME.test(one));
  rmSync(join(backups, name, "supervisor.db"));
  const before = statSync(join(folder, "journal.db")).ino;
  await expect(restore(site, { from: join(backups, name) })).rejects.toThrow(
    /supervisor\.db is not there/,
  );
  expect(statSync(join(folder, "journal.db")).ino).toBe(before);
});

test("two copies on demand stay, and no other file is removed from any folder", async () => {
  const { backups, site } = installation();
  const stick = temporaryFolder();
  mkdirSync(backups);
  const others = ["backup-mine", "journal-2026-01-01.db", "supervisor-2026-01-01.db"];
  for (const name of others) writeFileSync(join(backups, name), "");
  mkdirSync(join(backups, "backup-2026-01-01-000000.unfinished"));
  for (const name of ["backup-2026-01-13-120000", "backup-2026-01-14-120000"]) {
    mkdirSync(join(backups, name));
    mkdirSync(join(stick, name));
  }
  await backup(site, {});
  await backup(site, { subject: stick });
  const onStick = readdirSync(stick).sort();
  expect(onStick).toHaveLength(3);
  const kept = readdirSync(backups).sort();
  expect(kept.filter((name) => !NAME.test(name))).toEqual(others);
  expect(kept.filter((name) => NAME.test(name))).toEqual(onStick.slice(1));
});

test("a copy that cannot be finished leaves nothing, and says why", async () => {
  const { folder, backups, site } = installation();
  writeFileSync(join(folder, "supervisor.db"), "no database at all, but long enough to be read");
  await expect(backup(site, {})).rejects.toThrow(/no copy was made in .*: file is not a database/);
  expect(readdirSync(backups)).toEqual([]);
  rmSync(join(folder, "supervisor.db"));
  await expect(backup(site, {})).rejects.toThrow(
    /supervisor\.db is not in .*nothing can be copied/,
  );
});

test("an interrupted copy is neither offered nor restored", async () => {
  const { backups, site } = installation();
  const half = join(backups, "backup-2026-01-15-120000.unfinished");
  mkdirSync(half, { recursive: true });
  for (const name of ["journal.db", "supervisor.db"])
    copyFileSync(join(bare, name), join(half, name));
  await expect(restore(site, {})).rejects.toThrow(/there is none/);
});

test("a folder that takes no copy is named with the reason", async () => {
  const { folder, site } = installation();
  const outside = temporaryFolder();
  const file = join(outside, "file");
  writeFileSync(file, "");
  const link = join(outside, "link");
  symlinkSync(folder, link);
  for (const [subject, why] of [
    [join(outside, "missing"), /missing: the folder does not exist/],
    [file, /file: it is not a folder/],
    [folder, /is in the data folder/],
    [mkdtempSync(join(folder, "own-")), /is in the data folder/],
    [link, /is in the data folder/],
    ...(process.platform === "linux" ? [["/sys", /may not write there|read-only/] as const] : []),
  ] as const) {
    const refused = backup(site, { subject });
    await expect(refused, subject).rejects.toThrow(why);
    await expect(refused).rejects.toMatchObject({ exitCode: exitCodes.unavailable });
  }
  expect(await backup(site, { subject: outside })).toBe(0);
});

test("while a copy is being made, a second one is refused", async () => {
  const { backups, site } = installation();
  const first = backup(site, {});
  await expect(backup(site, {})).rejects.toMatchObject({ exitCode: exitCodes.alreadyRunning });
  expect(await first).toBe(0);
  await expect(backup(site, {})).rejects.toThrow(/it holds a copy of this second/);
  expect(readdirSync(backups)).toHaveLength(1);
});

const isRoot = process.getuid?.() === 0;
test.runIf(isRoot)("another user copies to another folder, and leaves nothing here", async () => {
  const { folder, site } = installation();
  const own = ["", "journal.db", "supervisor.db"].map((name) => join(folder, name));
  for (const path of own) chownSync(path, 12_345, 12_345);
  await expect(backup(site, {})).rejects.toThrow(/belongs to user 12345, and this is user 0/);
  expect(await backup(site, { subject: temporaryFolder() })).toBe(0);
  // SQLite gives the files next to the databases to the owner of these.
  expect(readdirSync(folder).filter((name) => !/^(journal|supervisor)\.db/.test(name))).toEqual([]);
  const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
  expect([...new Set(owners)]).toEqual([12_345]);
});

/**
 * A kiosk that sold A, was copied, and sold B and C since; the supervisor was away at C, so that
 * the gateway does not know C. Its disk is lost then.
 */
async function lostKiosk() {
  const old = await runningKiosk();
  const stick = temporaryFolder();
  const { lines, site } = commandAt(old.folder, old.clock);
  await backup(site, { subject: stick, json: true });
  const { path } = JSON.parse(lines.join("")) as { path: string };
  await old.sell("B");
  old.seat.rig = undefined;
  const answer = pay(old.manager, request("C"));
  let status = "";
  void answer.then(({ body }) => (status = body.status));
  await expect.poll(() => old.clock.advance(1_000).then(() => status)).toBe("Success");
  await old.stop();
  return { ...old, copy: path };
}

test("on another machine, an order since the copy is unknown until it was looked up", async () => {
  const { clock, server, seat, sent, copy } = await lostKiosk();
  const folder = temporaryFolder();
  expect(await restore(commandAt(folder, clock).site, { from: copy })).toBe(0);
  const rig = await supervisorIn(folder, { server, clock });
  seat.rig = rig;
  const manager = managerIn(folder, seat, clock);
  expect(manager.guard.open?.because).toContain(`from the copy of ${copy}`);
  expect(rig.losses.isWhole).toBe(false);
  expect((await pay(manager, request("A"))).replayed).toBe(true);
  const asked = manager.orders.lookUp("C").catch((error: unknown) => error);
  await expect.poll(() => server.lookups.at(-1)?.path).toContain("C");
  await clock.advance(100);
  expect(await asked).toMatchObject({ code: "ORDER_NOT_FOUND", charged: "unknown" });
  server.lookUp = () => ({ status: 503 });
  for (const order of ["B", "C"]) {
    const refused = pay(manager, request(order)).catch((error: unknown) => error);
    await expect.poll(() => server.lookups.at(-1)?.path).toContain(order);
    await clock.advance(100);
    expect(await refused).toMatchObject({ code: "STORES_DISAGREE", charged: "unknown" });
  }
  expect(manager.terminal.paid).toEqual([]);
  expect([sent("A"), sent("B"), sent("C")]).toEqual([1, 1, 0]);
});

test("a copy that was put onto another machine by hand is noticed by both programs", async () => {
  const { clock, server, seat, copy } = await lostKiosk();
  const folder = temporaryFolder();
  for (const name of ["journal.db", "supervisor.db"]) {
    copyFileSync(join(copy, name), join(folder, name));
  }
  const rig = await supervisorIn(folder, { server, clock });
  seat.rig = rig;
  const manager = managerIn(folder, seat, clock);
  expect(manager.guard.open).toBeUndefined();
  await manager.meet();
  await manager.meet();
  expect(manager.guard.open).toBeDefined();
  expect(rig.losses.isWhole).toBe(false);
});
