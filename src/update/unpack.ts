import {
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { syncFolder, writeSynced } from "../shared/store/store-file.ts";
import { makeFolder, removeWhole, renameSynced } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { isComplete, MARK } from "./release.ts";

const MARK_BYTES_MAX = 1000;
const PATH_LENGTH_MAX = 240;
const DEPTH_MAX = 20;

interface Unpacking {
  /** The path of a verified .tar.gz. */
  readonly archive: string;
  /** The folder to make; it exists only if it is complete. */
  readonly to: string;
  /** Whether the archive must contain the mark of a complete version; a runtime has none. */
  readonly hasMark: boolean;
  readonly limits?: typeof limitsByDefault;
}

/** The largest size and number of entries of an archive; a whole version has about 160 MB. */
const limitsByDefault = { bytesMax: 600_000_000, entriesMax: 20_000 };

/**
 * Unpacks an archive next to the folder and renames the result (docs/updates.md 2.5). Every file is
 * synced, and the mark is written last. A folder that is already complete stays as it is; leftovers
 * of an earlier unpacking are removed. Refuses links, paths that lead out of the folder, names that
 * Windows cannot have and too many bytes; nothing of a refused archive stays.
 */
export async function unpack(unpacking: Unpacking): Promise<void> {
  const { archive, to, hasMark, limits = limitsByDefault } = unpacking;
  const unfinished = `${to}.unpacking`;
  removeWhole(unfinished);
  if (hasMark ? isComplete(to) : existsSync(to)) return;
  makeFolder(dirname(to));
  mkdirSync(unfinished, { mode: 0o755 });
  const files = new UnpackedFiles(unfinished, limits);
  try {
    await pipeline(createReadStream(archive), createGunzip(), (chunks: AsyncIterable<Buffer>) =>
      unpackEntries(new ByteReader(chunks), files),
    );
    files.sync();
    if (hasMark) files.writeMark();
    removeWhole(to);
    renameSynced(unfinished, to);
  } catch (error) {
    removeWhole(unfinished);
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_")) refuse(`is damaged (${message})`); // an error of zlib
    throw error;
  }
}

function refuse(what: string): never {
  throw new UpdateError("archive", `the archive ${what}: refused`);
}

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #next: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns the next `count` bytes. Throws when the archive ends earlier. */
  async take(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(count)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** Yields the next `count` bytes in pieces. Throws when the archive ends earlier. */
  async *pieces(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0; ) {
      if (await this.isAtEnd()) refuse("breaks off");
      const piece = this.#next.subarray(0, left);
      this.#next = this.#next.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#next.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return true;
      this.#next = value;
    }
    return false;
  }
}

const BLOCK = 512;
/** The most bytes of a pax header; a real header contains only a few names and numbers. */
const HEADER_BYTES_MAX = 65_536;
const isEmpty = (block: Buffer): boolean => block.every((byte) => byte === 0);

/** Unpacks the entries of a tar archive (IEEE 1003.1), which may be files and folders only. */
async function unpackEntries(bytes: ByteReader, files: UnpackedFiles): Promise<void> {
  let next: { path?: string; size?: number } = {};
  for (let block = await bytes.take(BLOCK); !isEmpty(block); block = await bytes.take(BLOCK)) {
    checkSum(block);
    const type = String.fromCharCode(block[156] ?? 0);
    const isHeader = "xgL".includes(type);
    const size = (isHeader ? undefined : next.size) ?? numberIn(block, 124, 12);
    if (isHeader) {
      if (size > HEADER_BYTES_MAX) refuse("has a header of more bytes than any needs");
      const header = await bytes.take(size);
      if (type === "x") next = { ...next, ...paxRecords(header) };
      if (type === "L") next.path = textIn(header, 0, size);
    } else {
      const path = next.path ?? pathIn(block);
      const isFolder = isFolderEntry(type, path);
      if (isFolder && size > 0) refuse(`gives the folder ${path} a content`);
      const mode = (numberIn(block, 100, 8) & 0o100) === 0 ? 0o644 : 0o755;
      next = {};
      await files.add({ isFolder, path, size, mode }, bytes);
    }
    await bytes.take((BLOCK - (size % BLOCK)) % BLOCK);
  }
  // Two empty blocks end a tar archive; more empty blocks can follow.
  do {
    files.count(BLOCK);
    if (!isEmpty(await bytes.take(BLOCK))) refuse("goes on after its end");
  } while (!(await bytes.isAtEnd()));
}

/** Returns whether an entry is a folder. Throws unless the entry is a file or a folder. */
function isFolderEntry(type: string, path: string): boolean {
  if (type === "0" || type === "\0") return path.endsWith("/");
  if (type === "5") return true;
  const what = { "1": "a link", "2": "a symbolic link" }[type] ?? `an entry of type ${type}`;
  return refuse(`holds ${what}, ${path}`);
}

function checkSum(block: Buffer): void {
  let sum = 0;
  for (const [i, byte] of block.entries()) sum += i >= 148 && i < 156 ? 0x20 : byte;
  if (sum !== numberIn(block, 148, 8)) refuse("has a damaged header");
}

function textIn(block: Buffer, from: number, length: number): string {
  const bytes = block.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return bytes.subarray(0, end < 0 ? length : end).toString("utf8");
}

function numberIn(block: Buffer, from: number, length: number): number {
  const text = textIn(block, from, length).trim();
  if (!/^[0-7]+$/.test(text)) refuse("has a malformed number");
  return Number.parseInt(text, 8);
}

function pathIn(block: Buffer): string {
  const isUstar = textIn(block, 257, 6) === "ustar";
  const prefix = isUstar ? textIn(block, 345, 155) : "";
  const name = textIn(block, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Returns path and size from the records `LENGTH KEY=VALUE\n` of a pax header. */
function paxRecords(bytes: Buffer): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {};
  for (let at = 0; at < bytes.length; ) {
    const [head, length] = /^(\d{1,6}) /.exec(bytes.subarray(at, at + 7).toString("latin1")) ?? [];
    const end = at + Number(length);
    if (head === undefined || end > bytes.length || end <= at + head.length) {
      refuse("has a damaged header");
    }
    const record = bytes.subarray(at + head.length, end - 1).toString("utf8");
    const [, key, value = ""] = /^([^=]+)=(.*)$/s.exec(record) ?? [];
    if (key === "path") found.path = value;
    if (key === "size" && !/^\d{1,12}$/.test(value)) refuse("has a malformed number");
    if (key === "size") found.size = Number(value);
    if (key === "linkpath") refuse("holds a link");
    at = end;
  }
  return found;
}

interface TarEntry {
  readonly isFolder: boolean;
  readonly path: string;
  readonly size: number;
  readonly mode: number;
}

class UnpackedFiles {
  readonly #root: string;
  readonly #limits: typeof limitsByDefault;
  /** The folders made below the root of the version; none of them can be a link. */
  readonly #folders = new Set<string>();
  /** All names in lower case, because Windows does not distinguish the case of names. */
  readonly #names = new Set<string>();
  #mark: Buffer | undefined;
  #bytes = 0;
  #entries = 0;

  constructor(root: string, limits: typeof limitsByDefault) {
    this.#root = root;
    this.#limits = limits;
  }

  /** Makes a folder, or a file from the next `size` bytes of the archive. */
  async add({ isFolder, path, size, mode }: TarEntry, bytes: ByteReader): Promise<void> {
    this.#entries += 1;
    if (this.#entries > this.#limits.entriesMax) refuse("holds too many entries");
    // An entry never has more bytes than `size`, so the limit is checked before a byte is written.
    this.count(size);
    const parts = safeParts(path);
    this.#makeFolders(isFolder ? parts : parts.slice(0, -1));
    if (isFolder) return;
    const name = parts.join("/");
    this.#claim(name);
    if (name === MARK) {
      if (size > MARK_BYTES_MAX) refuse(`has a ${MARK} of too many bytes`);
      this.#mark = await bytes.take(size);
      return;
    }
    const file = openSync(join(this.#root, ...parts), "wx", mode);
    try {
      for await (const piece of bytes.pieces(size)) writeFileSync(file, piece);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** Counts bytes of the archive. Throws when they are too many. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.bytesMax) refuse("unpacks to more than is allowed");
  }

  sync(): void {
    for (const folder of this.#folders) syncFolder(join(this.#root, folder));
    syncFolder(this.#root);
  }

  writeMark(): void {
    if (this.#mark === undefined) refuse(`has no file ${MARK}`);
    writeSynced(join(this.#root, MARK), this.#mark, { flag: "wx", mode: 0o644 });
    syncFolder(this.#root);
  }

  #makeFolders(parts: readonly string[]): void {
    for (let depth = 1; depth <= parts.length; depth++) {
      const folder = parts.slice(0, depth).join("/");
      if (this.#folders.has(folder)) continue;
      this.#claim(folder);
      mkdirSync(join(this.#root, folder), { mode: 0o755 });
      this.#folders.add(folder);
    }
  }

  #claim(name: string): void {
    const small = name.toLowerCase();
    if (this.#names.has(small)) refuse(`names ${name} twice`);
    this.#names.add(small);
  }
}

const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Returns the parts of a path. Throws for a path that could lead out of the folder. */
function safeParts(path: string): string[] {
  const parts = path.replace(/\/$/, "").split("/");
  const isSafe = (part: string): boolean =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the search is for these characters
    part !== "" && part !== "." && part !== ".." && !/[\\:*?"<>|\x00-\x1f\x7f]|[. ]$/.test(part);
  if (path.length > PATH_LENGTH_MAX || parts.length > DEPTH_MAX) refuse("holds too long a path");
  if (parts.every((part) => isSafe(part) && !reserved.test(part))) return parts;
  return refuse(`holds a path that may lead elsewhere, ${JSON.stringify(path)}`);
}
