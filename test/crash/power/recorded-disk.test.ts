import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Random } from "../../support/inputs/random.ts";
import { type DiskRecord, diskRecords } from "./disk-record.ts";
import { RecordedDisk } from "./recorded-disk.ts";

const FILE = "/data/a";

function record(change: Partial<DiskRecord>): DiskRecord {
  return { what: "sync", atNs: 0n, path: FILE, offset: 0, data: Buffer.alloc(0), ...change };
}

const write = (offset: number, text: string): DiskRecord =>
  record({ what: "write", offset, data: Buffer.from(text) });

/** What each of many power cuts leaves. */
function leftovers(files: Record<string, string>, records: readonly DiskRecord[]) {
  const disk = (): RecordedDisk => {
    const before = Object.entries(files).map(([path, text]) => [path, Buffer.from(text)] as const);
    const made = new RecordedDisk(new Map(before));
    for (const each of records) made.apply(each);
    return made;
  };
  return Array.from({ length: 200 }, (_, seed) => disk().afterPowerCut(new Random(seed)));
}

const texts = (found: ReturnType<typeof leftovers>, path = FILE): string[] =>
  [...new Set(found.map((files) => files.get(path)?.toString() ?? "none"))].sort();

describe("a power cut", () => {
  test("leaves what was synced", () => {
    const found = leftovers({ [FILE]: "one" }, [write(0, "two"), record({})]);
    expect(texts(found)).toEqual(["two"]);
  });

  test("takes or leaves what was not synced", () => {
    expect(texts(leftovers({ [FILE]: "one" }, [write(0, "two")]))).toEqual(["one", "two"]);
  });

  test("can keep a later write and lose an earlier one", () => {
    const found = texts(leftovers({ [FILE]: "--" }, [write(0, "a"), write(1, "b")]));
    expect(found).toEqual(["--", "-b", "a-", "ab"]);
  });

  test("tears a write between sectors, and nowhere else", () => {
    const before = "a".repeat(1_536);
    const found = leftovers({ [FILE]: before }, [write(0, "b".repeat(1_536))]);
    const sectors = texts(found).map((text) => text.match(/.{512}/g) ?? []);
    expect(sectors.length).toBe(8);
    for (const sector of sectors.flat()) expect(new Set(sector).size).toBe(1);
  });

  test("may take back a shortening that was not synced", () => {
    const shorter = record({ what: "truncate", offset: 1 });
    expect(texts(leftovers({ [FILE]: "one" }, [shorter]))).toEqual(["o", "one"]);
  });

  test("takes names whose folder was not synced, a later one never without an earlier", () => {
    const made = ["/data/b", "/data/c"].map((path) => record({ what: "create", path }));
    const names = leftovers({}, made).map((files) => [...files.keys()].join());
    expect([...new Set(names)].sort()).toEqual(["", "/data/b", "/data/b,/data/c"]);
    const synced = leftovers({}, [...made, record({ path: "/data" })]);
    expect(synced.every((files) => files.size === 2)).toBe(true);
  });

  test("after a rename without a sync the new name may hold nothing", () => {
    const found = leftovers({ "/data/c": "old" }, [
      record({ what: "create" }),
      write(0, "new"),
      record({ what: "rename", data: Buffer.from("/data/c") }),
      record({ path: "/data" }),
    ]);
    expect(texts(found, "/data/c")).toEqual(["", "new"]);
    expect(texts(found)).toEqual(["none"]);
  });
});

test("a log whose last record was cut off is read up to there", () => {
  const record = (path: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(29);
    head.writeUInt32LE(29 + path.length + data.length, 0);
    head.writeUInt8(2, 4);
    head.writeBigUInt64LE(5n, 5);
    head.writeBigUInt64LE(7n, 13);
    head.writeUInt32LE(path.length, 21);
    head.writeUInt32LE(data.length, 25);
    return Buffer.concat([head, Buffer.from(path), data]);
  };
  const data = randomBytes(100);
  const whole = record(FILE, data);
  const log = Buffer.concat([whole, whole.subarray(0, 60)]);
  expect(diskRecords(log)).toEqual([{ what: "write", atNs: 5n, path: FILE, offset: 7, data }]);
});
