import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inDays, TestRepository } from "./test-repository.ts";
import { kioskAt, TufKiosk } from "./tuf-kiosk.ts";

/** A kiosk that has seen two versions, so that there is a copy before the last one. */
async function kioskOfTwoVersions() {
  const repository = new TestRepository();
  const kiosk = await kioskAt(repository);
  expect(await kiosk.refresh()).toBeUndefined();
  repository.publish("targets", "snapshot", "timestamp");
  expect(await kiosk.refresh()).toBeUndefined();
  expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 2");
  return { repository, kiosk };
}

const damages: [string, (folder: string, file: string) => void][] = [
  ["emptied", (folder, file) => truncateSync(join(folder, file), 0)],
  ["cut short", (folder, file) => truncateSync(join(folder, file), 40)],
  ["removed", (folder, file) => rmSync(join(folder, file))],
  ["changed", (folder, file) => writeFileSync(join(folder, file), "{}")],
  ["with a folder", (folder) => mkdirSync(join(folder, "folder.json"))],
  ["with a stranger", (folder) => writeFileSync(join(folder, "stranger.json"), "{}")],
];

describe("damaged metadata", () => {
  const files = ["root.json", "timestamp.json", "snapshot.json", "seal"];
  const cases = damages.flatMap(([how, damage]) =>
    files.map((file) => [file, how, damage] as const),
  );

  test.each(cases)("%s %s: the previous copy is used, with an alarm", async (file, _, damage) => {
    const { repository, kiosk } = await kioskOfTwoVersions();
    damage(kiosk.folder, file);
    repository.published.set("timestamp", [repository.published.get("timestamp")?.[0] as Buffer]);
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 1, snapshot 1, targets 1, timestamp 1");
    expect(kiosk.alarms).toEqual([
      "the metadata of updates are damaged: the copy before them is used",
    ]);
  });

  test("forget no version that the copy knows", async () => {
    const { repository, kiosk } = await kioskOfTwoVersions();
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toBeUndefined();
    truncateSync(join(kiosk.folder, "timestamp.json"), 0);
    repository.published.set("timestamp", [repository.published.get("timestamp")?.[0] as Buffer]);
    expect(await kiosk.refresh()).toContain("version 1 is less than current version 2");
  });

  test("with a damaged copy are begun again with the shipped root, with an alarm", async () => {
    const { kiosk } = await kioskOfTwoVersions();
    for (const folder of [kiosk.folder, `${kiosk.folder}.previous`]) {
      truncateSync(join(folder, "root.json"), 100);
    }
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 2");
    expect(kiosk.alarms[0]).toContain("they begin with our root");
  });

  test("without a shipped root end the update, and the server is not asked", async () => {
    const { repository, kiosk } = await kioskOfTwoVersions();
    rmSync(`${kiosk.folder}.previous`, { recursive: true });
    truncateSync(join(kiosk.folder, "root.json"), 0);
    kiosk.settings = { trustedRoot: undefined };
    repository.asked.length = 0;
    expect(await kiosk.refresh()).toBe("no-root: no trusted root of updates is there");
    expect(repository.asked).toEqual([]);
  });
});

test("the first check begins with the shipped root and raises no alarm", async () => {
  const kiosk = new TufKiosk(await new TestRepository().serve());
  expect(await kiosk.refresh()).toBeUndefined();
  expect(kiosk.alarms).toEqual([]);
});

describe("a power cut", () => {
  test("between the two renames of a commit ends in the new folder", async () => {
    const { kiosk } = await kioskOfTwoVersions();
    renameSync(kiosk.folder, `${kiosk.folder}.work`);
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 2");
    expect(kiosk.alarms).toEqual([]);
  });

  test("before the seal was whole ends in the old folder", async () => {
    const { kiosk } = await kioskOfTwoVersions();
    renameSync(kiosk.folder, `${kiosk.folder}.work`);
    rmSync(join(`${kiosk.folder}.work`, "seal"));
    kiosk.repository.url = "http://127.0.0.1:9";
    expect(await kiosk.refresh()).toContain("unreachable: ");
    expect(kiosk.trusted()).toBe("root 1, snapshot 1, targets 1, timestamp 1");
  });

  test("in the middle of the work leaves no trace", async () => {
    const { kiosk } = await kioskOfTwoVersions();
    const work = `${kiosk.folder}.work`;
    renameSync(`${kiosk.folder}.previous`, work);
    writeFileSync(join(work, "timestamp.json"), "torn");
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 2");
    expect(existsSync(work)).toBe(false);
  });
});

test("metadata that cannot be stored change nothing, and raise an alarm", async () => {
  const { repository, kiosk } = await kioskOfTwoVersions();
  repository.publish("targets", "snapshot", "timestamp");
  repository.answers = (_request, _response, path) => {
    // tuf-js writes the snapshot next; a folder in its place makes that fail, like a full disk.
    if (path.endsWith("timestamp.json")) {
      const snapshot = join(`${kiosk.folder}.work`, "snapshot.json");
      rmSync(snapshot, { recursive: true, force: true });
      writeFileSync(join(`${kiosk.folder}.work`, "half.json"), "{");
    }
    return false;
  };
  await kiosk.refresh();
  expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 2");
  expect(kiosk.alarms[0]).toContain("were not stored");
});

describe("a wrong clock", () => {
  test("that was set back does not make metadata fresh that were seen to be old", async () => {
    const { repository, kiosk } = await kioskOfTwoVersions();
    kiosk.settings = { remembersTime: true };
    repository.signed["timestamp"].expires = inDays(20);
    repository.publish("timestamp");
    kiosk.daysAhead = 10;
    expect(await kiosk.refresh()).toBeUndefined();
    kiosk.daysAhead = 0;
    repository.signed["timestamp"].expires = inDays(9);
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toContain("metadata-expired: ");
  });

  test("that ran ahead does no lasting harm, because nothing was fresh at its time", async () => {
    const { kiosk } = await kioskOfTwoVersions();
    kiosk.settings = { remembersTime: true };
    kiosk.daysAhead = 4000;
    expect(await kiosk.refresh()).toContain("metadata-expired: ");
    kiosk.daysAhead = 0;
    expect(await kiosk.refresh()).toBeUndefined();
  });

  test("before the build date counts as the build date", async () => {
    const { kiosk } = await kioskOfTwoVersions();
    kiosk.daysAhead = -9000;
    kiosk.settings = { builtMs: Date.now() + 40 * 86_400_000 };
    expect(await kiosk.refresh()).toContain("metadata-expired: ");
    kiosk.settings = { builtMs: Date.now() };
    expect(await kiosk.refresh()).toBeUndefined();
  });
});

test("with the metadata only the previous copy and the seal are stored", async () => {
  const { kiosk } = await kioskOfTwoVersions();
  expect(readdirSync(join(kiosk.folder, "..")).toSorted()).toEqual([
    "metadata",
    "metadata.previous",
  ]);
  expect(readdirSync(kiosk.folder)).toContain("seal");
});
