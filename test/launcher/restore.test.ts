import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readArguments } from "../../src/launcher/arguments.ts";
import { restore } from "../../src/launcher/commands/restore.ts";
import { stageCopy } from "../../src/shared/store/put-back.ts";
import { openForReading } from "../../src/shared/store/sqlite.ts";
import { declareRestored } from "../../src/shared/store/store-file.ts";
import { SupervisorProcess, writeConfig } from "../supervisor/supervisor-process.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { commandAt, kiosk } from "../support/house/copied-kiosk.ts";
import { pay, request } from "../support/house/payment-house.ts";
import { managerIn, supervisorIn } from "../support/house/two-stores.ts";

const made = temporaryFolder(afterAll);
let first: ReturnType<typeof kiosk> | undefined;

/** Of one such kiosk the files alone, for tests in which nothing is paid. */
async function filesOfKiosk() {
  first ??= kiosk(made);
  const { clock } = await first;
  const folder = temporaryFolder();
  cpSync(made, folder, { recursive: true, preserveTimestamps: true });
  return { folder, ...commandAt(folder, clock) };
}

test("a restored journal imports what was paid since, and says so", async () => {
  const { folder, clock, server, seat, site, lines } = await kiosk();
  expect(await restore(site, { subject: "journal", from: undefined })).toBe(0);
  expect(lines.join("\n")).toMatch(/journal.db good restored from the copy of 2026-01-15/);
  const [aside = ""] = readdirSync(join(folder, "backup")).filter((name) =>
    name.startsWith("before-restore-"),
  );
  expect(existsSync(join(folder, "backup", aside, "journal.db"))).toBe(true);
  seat.rig = await supervisorIn(folder, { server, clock });
  const manager = managerIn(folder, seat, clock);
  expect(manager.guard.open?.because).toContain("put back by ./launch.sh restore");
  for (const orderId of ["A", "B"]) {
    expect((await pay(manager, request(orderId))).replayed).toBe(true);
  }
  expect(manager.terminal.paid).toEqual([]);
});

test("after both were restored, the gateway is asked before anything is paid or sent", async () => {
  const { folder, clock, server, seat, site, sent } = await kiosk();
  expect(await restore(site, { subject: undefined, from: "2026-01-15" })).toBe(0);
  const rig = await supervisorIn(folder, { server, clock });
  seat.rig = rig;
  expect(rig.losses.isWhole).toBe(false);
  expect(rig.alarms()).toContain("outbox-lost");
  const manager = managerIn(folder, seat, clock);
  server.lookUp = () => ({ status: 503 });
  const refused = pay(manager, request("B")).catch((error: unknown) => error);
  await expect.poll(() => server.lookups.length).toBeGreaterThan(0);
  await clock.advance(100);
  expect(await refused).toMatchObject({ code: "STORES_DISAGREE", charged: "unknown" });
  expect(manager.terminal.paid).toEqual([]);
  expect([sent("A"), sent("B")]).toEqual([1, 1]);
});

test("a restore after an unfinished one keeps the files from before each of them", async () => {
  const { folder, site } = await filesOfKiosk();
  const target = join(folder, "journal.db");
  stageCopy(target, join(folder, "backup", "journal-2026-01-15.db"), "earlier");
  declareRestored(target, "it was put back", "earlier");
  expect(await restore(site, { subject: "journal", from: undefined })).toBe(0);
  const kept = readdirSync(join(folder, "backup"))
    .filter((name) => name.startsWith("before-restore-"))
    .sort();
  expect(kept).toHaveLength(2);
  const sales = (path: string): number => {
    const database = openForReading(path);
    const count = database.prepare("SELECT count(*) AS n FROM attempt").get()?.["n"];
    database.close();
    return Number(count);
  };
  const found = kept.map((name) => sales(join(folder, "backup", name, "journal.db")));
  expect([...found, sales(target)]).toEqual([1, 2, 1]);
  expect(readdirSync(folder).filter((name) => name.includes(".restore-"))).toEqual([]);
});

test("no file is touched without a whole copy of that day", async () => {
  const { folder, site } = await filesOfKiosk();
  const before = readdirSync(folder).sort();
  await expect(restore(site, { subject: "journal", from: "2026-01-01" })).rejects.toThrow(
    /there are 2026-01-15/,
  );
  writeFileSync(join(folder, "backup", "journal-2026-01-16.db"), "no database");
  await expect(restore(site, { subject: undefined, from: undefined })).rejects.toThrow(/damaged/);
  expect(
    readdirSync(folder)
      .filter((name) => name !== "run")
      .sort(),
  ).toEqual(before.filter((name) => name !== "run"));
});

test("without a copy, the time of the next one and the command for one are named", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "config.txt"), "UPDATE_TIME=03:30\n");
  const { site } = commandAt(folder, new TestClock());
  await expect(restore(site, {})).rejects.toThrow(
    /there is none\. The nightly copy is made at 03:30 .*\.\/launch\.sh backup makes one now/,
  );
});

test("neither an empty file nor the copy of the other database is restored", async () => {
  const { folder, site } = await filesOfKiosk();
  const backups = join(folder, "backup");
  writeFileSync(join(backups, "journal-2026-01-16.db"), "");
  await expect(restore(site, {})).rejects.toThrow(/01-16\.db is damaged: it holds no journal\.db/);
  copyFileSync(join(backups, "supervisor-2026-01-15.db"), join(backups, "journal-2026-01-16.db"));
  await expect(restore(site, {})).rejects.toThrow(/it holds no journal\.db/);
});

test("no file is touched while a program runs", async () => {
  const { folder, site, server } = await kiosk();
  writeConfig(folder, server.url);
  const supervisor = new SupervisorProcess(folder);
  await supervisor.ready();
  const copies = readdirSync(join(folder, "backup")).sort();
  for (const store of [undefined, "journal", "supervisor"] as const) {
    await expect(restore(site, { subject: store, from: undefined })).rejects.toThrow(
      "supervisor runs: first run ./launch.sh stop",
    );
  }
  expect(readdirSync(join(folder, "backup")).sort()).toEqual(copies);
  await supervisor.ended("SIGTERM");
  expect(await restore(site, { subject: undefined, from: undefined })).toBe(0);
});

test("a saved copy is the newest of its day, and any copy can be named", async () => {
  const { folder, site, lines } = await filesOfKiosk();
  const nightly = join(folder, "backup", "journal-2026-01-15.db");
  copyFileSync(nightly, join(folder, "backup", "journal-2026-01-15-saved-130507.db"));
  for (const from of ["2026-01-15-saved-130507", undefined, "2026-01-15"]) {
    expect(await restore(site, { subject: "journal", from })).toBe(0);
    const taken = from ?? "2026-01-15-saved-130507";
    expect(lines.join("\n")).toContain(`restored from the copy of ${taken}\n`);
    lines.length = 0;
  }
  const args = ["restore", "journal", "--from", "2026-01-15-saved-130507"];
  expect(readArguments(args)).toMatchObject({ from: "2026-01-15-saved-130507" });
});

test("files are said to be kept only where there were some", async () => {
  for (const isEmpty of [false, true]) {
    const { folder, site, lines } = await filesOfKiosk();
    const files = readdirSync(folder).filter((name) => name.startsWith("journal.db"));
    if (isEmpty) for (const name of files) rmSync(join(folder, name));
    expect(await restore(site, { subject: "journal" })).toBe(0);
    expect(lines.join("\n").includes("present files")).toBe(!isEmpty);
  }
});

test("a nightly copy made after a saved one of the same day is the newest", async () => {
  const { folder, site, lines } = await filesOfKiosk();
  const nightly = join(folder, "backup", "journal-2026-01-15.db");
  const saved = join(folder, "backup", "journal-2026-01-15-saved-010507.db");
  copyFileSync(nightly, saved);
  const night = new Date(Date.UTC(2026, 0, 15, 3));
  utimesSync(saved, night, new Date(Date.UTC(2026, 0, 15, 1)));
  utimesSync(nightly, night, night);
  expect(await restore(site, { subject: "journal", from: undefined })).toBe(0);
  expect(lines.join("\n")).toContain("restored from the copy of 2026-01-15\n");
});

test("the arguments of restore and stores are read, and no others", () => {
  expect(readArguments(["restore", "journal", "--from", "2026-01-15"])).toMatchObject({
    command: "restore",
    subject: "journal",
    from: "2026-01-15",
  });
  for (const from of ["/media/stick/backup-2026-01-15-120000", "backup-2026-01-15-120000"]) {
    expect(readArguments(["restore", "--from", from])).toMatchObject({ from });
  }
  expect(readArguments(["backup", "/media/stick"])).toMatchObject({ subject: "/media/stick" });
  expect(readArguments(["stores", "accept"])).toMatchObject({ subject: "accept" });
  for (const wrong of [
    ["restore", "accept"],
    ["stores", "journal"],
    ["stop", "journal"],
    ["restore", "--from", "yesterday"],
    ["restore", "--from", "/media/stick/backup-2026-01-15-120000.unfinished"],
    ["restore", "--from", "/media/stick"],
    ["backup", "a", "b"],
    ["backup", ""],
    ["start", "--from", "2026-01-15"],
  ]) {
    expect(() => readArguments(wrong)).toThrow();
  }
});
