import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { makeTarGz } from "../../scripts/release/archives.ts";
import { unpack } from "../../src/update/unpack.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { type Entry, paxRecord, tar, tarGz } from "./tar-archive.ts";

const mark: Entry = { path: "complete", content: "1.2.3\n" };

async function unpacked(bytes: Buffer, more: Partial<Parameters<typeof unpack>[0]> = {}) {
  const folder = temporaryFolder();
  const archive = join(folder, "archive.tar.gz");
  writeFileSync(archive, bytes);
  const to = join(folder, "versions", "1.2.3");
  let refusal: string | undefined;
  try {
    await unpack({ archive, to, hasMark: true, ...more });
  } catch (error) {
    refusal = (error as Error).message;
  }
  return { folder, to, refusal };
}

/** Refused with a line that says so, and nothing anywhere. */
async function refused(entries: readonly Entry[] | Buffer, line: string): Promise<void> {
  const bytes = Buffer.isBuffer(entries) ? entries : tarGz([...entries, mark]);
  const { folder, refusal } = await unpacked(bytes);
  expect(refusal).toContain(line);
  expect(refusal).toMatch(/^the archive .*: refused$/s);
  const left = readdirSync(folder, { recursive: true }).toSorted();
  expect(left).toEqual(["archive.tar.gz", "versions"]);
}

describe("an archive", () => {
  test("is unpacked whole, with its mark, its folders and what may be run", async () => {
    const { to, refusal } = await unpacked(
      tarGz([
        mark,
        { path: "programs/", type: "5", mode: 0o755 },
        { path: "programs/a.js", content: "a".repeat(1000) },
        { path: "launch.sh", content: "#!/bin/sh\n", mode: 0o755 },
        { path: "empty" },
      ]),
    );
    expect(refusal).toBeUndefined();
    expect(readFileSync(join(to, "programs/a.js"), "utf8")).toBe("a".repeat(1000));
    expect(readFileSync(join(to, "complete"), "utf8")).toBe("1.2.3\n");
    expect(statSync(join(to, "launch.sh")).mode & 0o111).toBe(0o111);
    expect(statSync(join(to, "empty")).size).toBe(0);
    expect(existsSync(`${to}.unpacking`)).toBe(false);
  });

  test("as the release makes it is unpacked to the same files", async () => {
    const source = temporaryFolder();
    const deep = `${"a-long-name/".repeat(15)}ä file.txt`;
    for (const [path, content] of [
      ["complete", "1.2.3\n"],
      [deep, "deep"],
      ["b.sh", "run"],
    ]) {
      mkdirSync(join(source, "v", path as string, ".."), { recursive: true });
      writeFileSync(join(source, "v", path as string), content as string);
    }
    const archive = join(source, "out.tar.gz");
    await makeTarGz(join(source, "v"), ".", archive, new Date(0));
    const { to, refusal } = await unpacked(readFileSync(archive));
    expect(refusal).toBeUndefined();
    expect(readFileSync(join(to, deep), "utf8")).toBe("deep");
  });

  test("of a runtime needs no mark", async () => {
    const bytes = tarGz([{ path: "node", content: "elf", mode: 0o755 }]);
    expect((await unpacked(bytes, { hasMark: false })).refusal).toBeUndefined();
    expect((await unpacked(bytes)).refusal).toContain("has no file complete");
  });

  test("takes long names from a pax header or a GNU one", async () => {
    const [long, other] = [`${"x".repeat(150)}/file`, `${"y".repeat(120)}/file`];
    const { to, refusal } = await unpacked(
      tarGz([
        { path: "pax", type: "x", content: paxRecord("path", long) },
        { path: "short", content: "one" },
        { path: "gnu", type: "L", content: `${other}\0` },
        { path: "short", content: "two" },
        mark,
      ]),
    );
    expect(refusal).toBeUndefined();
    expect(readFileSync(join(to, long), "utf8")).toBe("one");
    expect(readFileSync(join(to, other), "utf8")).toBe("two");
  });

  test("replaces an unfinished unpacking, and leaves a whole version alone", async () => {
    const { folder, to } = await unpacked(tarGz([mark, { path: "a", content: "1" }]));
    mkdirSync(`${to}.unpacking/old`, { recursive: true });
    const archive = join(folder, "other.tar.gz");
    writeFileSync(archive, tarGz([mark, { path: "a", content: "2" }]));
    await unpack({ archive, to, hasMark: true });
    expect(readFileSync(join(to, "a"), "utf8")).toBe("1");
    expect(existsSync(`${to}.unpacking`)).toBe(false);
  });
});

describe("an archive is refused, and nothing is changed", () => {
  test.each([
    "../evil",
    "a/../../evil",
    "/etc/evil",
    "..",
    "a/..",
    "./../x",
    "a//b",
    "a\\..\\evil",
    "C:evil",
    "aux.txt",
    "dir/con",
    "trailing.",
    "trailing ",
    "a\nb",
    "x".repeat(300),
  ])("with the path %j", async (path) => {
    const entries: Entry[] =
      path.length > 100
        ? [{ path: "p", type: "x", content: paxRecord("path", path) }, { path: "short" }]
        : [{ path, content: "evil" }];
    await refused(
      entries,
      path.length > 100 ? "too long a path" : "a path that may lead elsewhere",
    );
  });

  test("with a path that leads out in a pax header or a long name", async () => {
    const paths = [
      { path: "p", type: "x", content: paxRecord("path", "../../evil") },
      { path: "p", type: "L", content: "../../evil\0" },
    ];
    for (const first of paths) await refused([first, { path: "short" }], "may lead elsewhere");
  });

  test.each([
    ["1", "a link"],
    ["2", "a symbolic link"],
    ["3", "an entry of type 3"],
    ["4", "an entry of type 4"],
    ["6", "an entry of type 6"],
    ["S", "an entry of type S"],
    ["K", "an entry of type K"],
  ])("with an entry of type %s", async (type, what) => {
    const link = { path: "link", type, linkTo: "/etc/passwd" };
    await refused([link, { path: "link/file", content: "evil" }], `holds ${what}, link`);
  });

  test("with a name twice, also in other letters, or a file as a folder", async () => {
    await refused([{ path: "a" }, { path: "a" }], "names a twice");
    await refused([{ path: "Read" }, { path: "read" }], "names read twice");
    await refused([{ path: "a" }, { path: "a/b" }], "names a twice");
    await refused([{ path: "d/a" }, { path: "d" }], "names d twice");
  });

  test("that is cut short, damaged, or goes on after its end", async () => {
    const whole = tar([{ path: "a", content: "b".repeat(2000) }, mark]);
    await refused(gzipSync(whole.subarray(0, 1000)), "breaks off");
    await refused(gzipSync(whole.subarray(0, whole.length - 1024)), "breaks off");
    await refused(tarGz([mark]).subarray(0, 60), "is damaged");
    await refused(Buffer.from("no archive"), "is damaged");
    const flipped = Buffer.from(whole);
    flipped.write("B", 0);
    await refused(gzipSync(flipped), "a damaged header");
    await refused(gzipSync(Buffer.concat([whole, whole])), "goes on after its end");
  });

  test("with more bytes or entries than are allowed, by its header or its content", async () => {
    const limits = { bytesMax: 10_000, entriesMax: 5 };
    const large = tarGz([{ path: "a", content: Buffer.alloc(20_000) }, mark]);
    const many = tarGz([...Array.from({ length: 9 }, (_, i) => ({ path: `f${i}` })), mark]);
    const refusal = tarGz([{ path: "a", content: "b", size: 8_000_000_000 }, mark]);
    expect((await unpacked(large, { limits })).refusal).toContain("more than is allowed");
    expect((await unpacked(many, { limits })).refusal).toContain("too many entries");
    expect((await unpacked(refusal)).refusal).toContain("more than is allowed");
    const empty = gzipSync(Buffer.concat([tar([mark]), Buffer.alloc(20 * 512)]));
    expect((await unpacked(empty, { limits })).refusal).toContain("more than is allowed");
    expect((await unpacked(empty)).refusal).toBeUndefined();
  });

  test("and a link in the place of the folder is not followed", async () => {
    const { folder } = await unpacked(Buffer.from(""));
    const outside = join(folder, "outside");
    mkdirSync(outside);
    const to = join(folder, "versions", "1.2.3");
    symlinkSync(outside, `${to}.unpacking`);
    const archive = join(folder, "good.tar.gz");
    writeFileSync(archive, tarGz([mark]));
    await unpack({ archive, to, hasMark: true });
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(to)).toEqual(["complete"]);
  });
});
