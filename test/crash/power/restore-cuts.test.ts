import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backupChore } from "../../../src/shared/program/daily.ts";
import { openStore } from "../../../src/shared/store/put-back.ts";
import { Store } from "../../../src/shared/store/store.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { growthOf } from "../../../src/supervisor/stores/supervisor-stores.ts";
import { supervisorMigrations } from "../../../src/supervisor/supervisor-schema.ts";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { Random } from "../../support/inputs/random.ts";
import { ChildProgram } from "../../support/programs/child-program.ts";
import { isWhole } from "../../support/run/scope.ts";
import type { DiskRecord } from "./disk-record.ts";
import { type Files, judgedOnce, RecordedDisk } from "./recorded-disk.ts";
import { Recorder, recordingLibrary } from "./recorder.ts";

const library = recordingLibrary();
const IMAGES_EACH = isWhole ? 2 : 1;

interface OpenStore {
  readonly database: DatabaseSync;
  readonly store: Store;
}

const openers: Readonly<Record<string, (path: string) => OpenStore>> = {
  "journal.db": (path) => new Journal(path),
  "supervisor.db": (path) => {
    const database = openStore(path, supervisorMigrations);
    return { database, store: new Store(database, path, () => growthOf(database)) };
  },
};

/** Below `folder`, by their path there. */
function filesOf(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true }).map(String);
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
}

function writeFiles(folder: string, files: Files): void {
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
}

const mark = (database: DatabaseSync, text: string): void =>
  database.exec(`CREATE TABLE IF NOT EXISTS marker (mark TEXT); INSERT INTO marker
    VALUES ('${text}')`);

/** Two databases as a crash leaves them, each with a nightly copy and with more since. */
async function crashedKiosk(): Promise<Files> {
  const folder = temporaryFolder(afterAll);
  const opened: OpenStore[] = [];
  for (const [name, open] of Object.entries(openers)) {
    const path = join(folder, name);
    const { database, store } = open(path);
    opened.push({ database, store });
    store.begin(() => {});
    mark(database, "copied");
    await backupChore(path, systemClock, () => store.copied()).run();
    mark(database, "since");
  }
  const files = filesOf(folder);
  for (const { database } of opened) database.close();
  return files;
}

/** What a start finds under the name of a database. */
function foundAt(folder: string, name: string, open: (path: string) => OpenStore) {
  const { database, store } = open(join(folder, name));
  try {
    const damage = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
    const known = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'marker'").get();
    const marks = known ? database.prepare("SELECT mark FROM marker").all() : [];
    let finding: Parameters<Parameters<Store["begin"]>[0]>[0] | undefined;
    store.begin((found) => {
      finding = found;
    });
    return {
      damage,
      marks: marks.map(({ mark }) => mark).join("+"),
      kind: finding?.kind,
      because: finding && "because" in finding ? finding.because : "",
    };
  } finally {
    database.close();
  }
}

/** The sentences that a disk breaks on which a restore ended at any place. */
const broken = judgedOnce((files): string[] => {
  const folder = temporaryFolder();
  writeFiles(folder, files);
  return Object.entries(openers).flatMap(([name, open]) => {
    const { damage, marks, kind, because } = foundAt(folder, name, open);
    const facts = `${name}: ${marks || "nothing"}, ${kind} ${because}, ${damage}`;
    const isPresent = marks === "copied+since" && kind === "whole";
    const isCopy = marks === "copied" && kind === "older" && because.includes("restore");
    const kept = !isCopy || keptAside(folder, name, open);
    return [
      ...(damage !== "ok" ? [`a database is whole (${facts})`] : []),
      ...(isPresent || isCopy ? [] : [`the present one or the copy, known for it (${facts})`]),
      ...(kept ? [] : [`the present one is kept aside (${facts})`]),
    ];
  });
});

function keptAside(folder: string, name: string, open: (path: string) => OpenStore): boolean {
  const aside = readdirSync(join(folder, "backup")).filter((each) => each.startsWith("before-"));
  return aside.some((each) => {
    const files = readdirSync(join(folder, "backup", each));
    if (!files.includes(name)) return false;
    return foundAt(join(folder, "backup", each), name, open).marks === "copied+since";
  });
}

describe.skipIf(library === null)("a restore that ends at any place", () => {
  let before: Files = new Map();
  let records: DiskRecord[] = [];

  beforeAll(async () => {
    before = await crashedKiosk();
    const folder = temporaryFolder(afterAll);
    writeFiles(folder, before);
    const recorder = new Recorder(library ?? "", folder);
    const given = ["restore", "--data", folder];
    const restore = new ChildProgram("launcher/main.ts", given, [], recorder.environment);
    expect(await restore.exited).toBe(0);
    const below = (path: string): string => relative(folder, path) || ".";
    records = recorder.take().flatMap((each) => {
      if (each.what === "send" || each.what === "receive") return [];
      const data = each.what === "rename" ? Buffer.from(below(`${each.data}`)) : each.data;
      return { ...each, path: below(each.path), data };
    });
    recorder.close();
  });

  function diskAfter(count: number): RecordedDisk {
    const disk = new RecordedDisk(before);
    for (const record of records.slice(0, count)) disk.apply(record);
    return disk;
  }

  test("by kill -9 leaves whole databases", () => {
    expect(records.length).toBeGreaterThan(10);
    const found = Array.from({ length: records.length + 1 }, (_, count) =>
      broken(diskAfter(count).afterKill()).map((text) => `${count}: ${text}`),
    );
    expect(found.flat()).toEqual([]);
  });

  test("by a power cut leaves whole databases", () => {
    const random = new Random(1);
    const found = records.flatMap(({ what }, count) =>
      what === "write" || what === "create"
        ? []
        : Array.from({ length: IMAGES_EACH }, () =>
            broken(diskAfter(count).afterPowerCut(random)).map((text) => `${count}: ${text}`),
          ),
    );
    expect(found.flat()).toEqual([]);
  });
});
