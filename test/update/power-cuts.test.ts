import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/time.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { withTargets } from "../../src/update/tuf-client.ts";
import type { DiskRecord } from "../crash/power/disk-record.ts";
import { RecordedDisk } from "../crash/power/recorded-disk.ts";
import { Recorder, recordingLibrary } from "../crash/power/recorder.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { Random } from "../support/inputs/random.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { tarGz } from "./tar-archive.ts";
import { TestRepository } from "./test-repository.ts";

const library = recordingLibrary();
const client = join(projectRoot, "scripts/tuf-client");
/** How many random images of the disk are made for each moment. */
const IMAGES_EACH = 12;

/** What a process did to the files of a folder, with paths below it. */
async function recorded(
  folder: string,
  program: string,
  args: readonly string[],
): Promise<DiskRecord[]> {
  const recorder = new Recorder(library ?? "", folder);
  onTestFinished(() => recorder.close());
  const env = { ...process.env, ...recorder.environment };
  await runToEnd(program, args, { env });
  const below = (path: string): string => relative(folder, path) || ".";
  return recorder.take().flatMap((each) => {
    if (each.what === "send" || each.what === "receive") return [];
    const data = each.what === "rename" ? Buffer.from(below(`${each.data}`)) : each.data;
    return { ...each, path: below(each.path), data };
  });
}

/** The versions that a client finds trusted on such a disk, and its alarms. */
async function foundOn(files: ReadonlyMap<string, Buffer>, root: Buffer) {
  const folder = mkdtempSync(join(temporaryFolder(), "disk-"));
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const alarms: string[] = [];
  const settings = {
    folder: join(folder, "metadata"),
    trustedRoot: root,
    clock: systemClock,
    alarm: (message: string) => void alarms.push(message),
    // Nobody listens: only what is there counts.
    metadataUrl: "http://127.0.0.1:9/",
    builtMs: 0,
    remembersTime: false,
  };
  const failed = await withTargets(settings, () => Promise.resolve()).then(
    () => "nothing",
    (error: { code: string }) => error.code,
  );
  return { alarms, failed, folder: join(folder, "metadata") };
}

describe.skipIf(library === null)("a refresh that a power cut ends at any place", () => {
  test("leaves the old metadata or the new ones, whole, without an alarm", async () => {
    const repository = await new TestRepository().serve();
    const folder = temporaryFolder();
    const rootFile = join(temporaryFolder(), "root.json");
    writeFileSync(rootFile, repository.trustedRoot);
    const given = ["--metadata-dir", join(folder, "metadata")];
    const refresh = [...given, "--metadata-url", `${repository.url}/metadata`, "refresh"];
    const records = await recorded(folder, client, [...given, "init", rootFile]);
    records.push(...(await recorded(folder, client, refresh)));
    const begun = records.length;
    repository.publish("root", "targets", "snapshot", "timestamp");
    records.push(...(await recorded(folder, client, refresh)));
    expect(records.length - begun).toBeGreaterThan(20);

    const random = new Random(1);
    const disk = new RecordedDisk(new Map());
    const broken: string[] = [];
    const states = new Set<string>();
    for (const [moment, record] of records.entries()) {
      if (moment >= begun && record.what !== "write" && record.what !== "create") {
        for (let i = 0; i < IMAGES_EACH; i++) {
          const files = disk.afterPowerCut(random);
          const { alarms, failed } = await foundOn(files, repository.trustedRoot);
          const version = files.get("metadata/timestamp.json")?.includes('"version": 2');
          states.add(version ? "new" : "old");
          if (alarms.length > 0 || failed !== "unreachable") {
            broken.push(`${moment} ${record.what} ${record.path}: ${failed} ${alarms}`);
          }
        }
      }
      disk.apply(record);
    }
    expect(broken).toEqual([]);
    expect(states).toEqual(new Set(["old", "new"]));
  });
});

describe.skipIf(library === null)("an unpacking that a power cut ends at any place", () => {
  test("leaves no version or a whole one, and its mark only on a whole one", async () => {
    const folder = temporaryFolder();
    const archive = join(temporaryFolder(), "archive.tar.gz");
    const contents = { "a.js": "a".repeat(3000), "deep/b.js": "b", "deep/er/c.js": "" };
    const files = Object.entries(contents).map(([path, content]) => ({ path, content }));
    writeFileSync(archive, tarGz([...files, { path: "complete", content: "1.2.3" }]));
    const script = join(import.meta.dirname, "unpack-process.ts");
    const to = join(folder, "versions", "1.2.3");
    const records = await recorded(folder, process.execPath, [script, archive, to]);

    const random = new Random(2);
    const disk = new RecordedDisk(new Map());
    const results = new Set<string>();
    for (const record of [...records, undefined]) {
      for (let i = 0; i < IMAGES_EACH; i++) {
        const left = disk.afterPowerCut(random);
        const contentOf = (path: string): string => `${left.get(`versions/1.2.3/${path}`)}`;
        const isMarked = left.has("versions/1.2.3/complete");
        results.add(isMarked ? "whole" : "none");
        for (const [path, content] of Object.entries(contents)) {
          expect(contentOf(path), path).toBe(isMarked ? content : "undefined");
        }
      }
      if (record) disk.apply(record);
    }
    expect(results).toEqual(new Set(["none", "whole"]));
    expect(disk.afterPowerCut(random).has("versions/1.2.3/complete")).toBe(true);
  });
});
