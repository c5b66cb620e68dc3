import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { DiskRecord } from "../crash/power/disk-record.ts";
import { RecordedDisk } from "../crash/power/recorded-disk.ts";
import { Recorder, recordingLibrary } from "../crash/power/recorder.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { Random } from "../support/inputs/random.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { rowsOf } from "../support/run/scope.ts";
import { contentOf } from "./content-of.ts";
import { dataIn, finish, ledger, payments, run } from "./switch-program.ts";

const library = recordingLibrary();

type Files = Map<string, Buffer>;

function filesOf(folder: string): Files {
  const names = readdirSync(folder, { recursive: true }).map(String);
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
}

/** An installation that has sold something with version 1.0.0. */
function installation(): string {
  const root = temporaryFolder();
  mkdirSync(dataIn(root));
  for (const version of ["1.0.0", "2.0.0"]) {
    const folder = join(root, "versions", version);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "complete"), `${version}\n`);
  }
  writeFileSync(join(root, "current"), "1.0.0\n");
  run(root, "1.0.0");
  return root;
}

async function recorded(root: string, how: string): Promise<DiskRecord[]> {
  const recorder = new Recorder(library ?? "", root);
  const script = join(import.meta.dirname, "switch-program.ts");
  const env = { ...process.env, ...recorder.environment };
  await runToEnd(process.execPath, [script, root, how], { env });
  const below = (path: string): string => relative(root, path) || ".";
  const records = recorder.take().flatMap((each) => {
    if (each.what === "send" || each.what === "receive") return [];
    const data = each.what === "rename" ? Buffer.from(below(`${each.data}`)) : each.data;
    return { ...each, path: below(each.path), data };
  });
  recorder.close();
  return records;
}

/** The version that the root scripts run. */
function versionNamed(root: string): string | undefined {
  return ["current", "previous"]
    .filter((name) => existsSync(join(root, name)))
    .map((name) => /^(\d\.0\.0)\n$/.exec(readFileSync(join(root, name), "utf8"))?.[1])
    .find((version) => version !== undefined);
}

/** The sentences that do not hold after the keep-alive has repaired what a cut has left. */
async function broken(files: ReadonlyMap<string, Buffer>, works: boolean): Promise<string[]> {
  const root = mkdtempSync(join(temporaryFolder(), "disk-"));
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), bytes);
  }
  const named = versionNamed(root);
  if (named === undefined) return ["a version is named"];
  await finish(root, works);
  const version = versionNamed(root) ?? "";
  let sold: number[] = [];
  try {
    run(root, version);
    sold = payments(root, version);
  } catch (error) {
    return [`${version} can use the stores: ${(error as Error).message}`];
  }
  const left = ["under-way.json", "probation"].filter((name) =>
    existsSync(join(dataIn(root), "update", name)),
  );
  const lost = ledger(root).filter((id) => !sold.includes(id));
  return [
    ...(left.length > 0 ? [`nothing is left: ${left.join(", ")}`] : []),
    ...(lost.length > 0 ? [`no payment is lost: ${lost.join(", ")}`] : []),
    ...(ledger(root).length > 0 ? [] : ["the ledger is there"]),
  ];
}

describe.skipIf(library === null)("a switch that ends at any place", () => {
  const courses = [
    ["works", "works"],
    ["fails", "fails"],
    ["works", "fails"],
  ] as const;

  test.each(courses)("leaves all that was sold: it %s, and %s after the cut", async (how, then) => {
    const root = installation();
    const before = filesOf(root);
    const records = await recorded(root, how);
    expect(versionNamed(root)).toBe(how === "works" ? "2.0.0" : "1.0.0");
    expect(records.length).toBeGreaterThan(50);
    const random = new Random(1);
    const disk = new RecordedDisk(before);
    const found: string[] = [];
    const steps = records.filter(({ what }) => what !== "write" && what !== "create");
    const tried = new Set(rowsOf(steps, 2));
    const contents = new Set<string>();
    for (const [count, record] of records.entries()) {
      if (tried.has(record)) {
        for (const files of [disk.afterKill(), disk.afterPowerCut(random)]) {
          const content = contentOf(files);
          if (contents.has(content)) continue;
          contents.add(content);
          found.push(
            ...(await broken(files, then === "works")).map((sentence) => `${count}: ${sentence}`),
          );
        }
      }
      disk.apply(record);
    }
    expect(found).toEqual([]);
  });
});
