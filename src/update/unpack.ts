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
import type { Clock } from "../shared/time.ts";
import { makeFolder, removeWhole, renameSynced } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { type TarEntry, TarReader } from "./tar-reader.ts";

/** The file that makes a version whole; it is written when all others are on disk. */
const MARK = "complete";
const MARK_BYTES_MAX = 1000;
const PATH_LENGTH_MAX = 240;
const DEPTH_MAX = 20;

interface UnpackLimits {
  readonly bytesMax: number;
  readonly entriesMax: number;
}

/** A version unpacks to some 160 MB with its runtime; this leaves room for years. */
const limitsByDefault: UnpackLimits = { bytesMax: 600_000_000, entriesMax: 20_000 };

interface Unpacking {
  /** A .tar.gz that was verified. */
  readonly archive: string;
  /** The folder that comes into being, whole or not at all. */
  readonly to: string;
  /** Whether the archive has to bring the mark of a whole version; a runtime has none. */
  readonly hasMark: boolean;
  readonly clock: Clock;
  readonly limits?: UnpackLimits;
}

/**
 * Unpacks an archive beside its place (docs/updates.md 2.5): every file synced, the mark last, then
 * renamed. A folder that is whole already stays; one left half way is cleared away. Links, paths
 * that lead out, names that Windows cannot have and more bytes than the limit are refused, and
 * nothing is left.
 */
export async function unpack(unpacking: Unpacking): Promise<void> {
  const { archive, to, hasMark, clock, limits = limitsByDefault } = unpacking;
  const beside = `${to}.unpacking`;
  removeWhole(beside);
  if (existsSync(hasMark ? join(to, MARK) : to)) return;
  makeFolder(dirname(to));
  mkdirSync(beside, { mode: 0o755 });
  const files = new UnpackedFiles(beside, limits);
  try {
    const reader = new TarReader(files);
    await pipeline(createReadStream(archive), createGunzip(), async (chunks) => {
      for await (const chunk of chunks) reader.push(chunk as Buffer);
    });
    reader.finish();
    files.sync();
    if (hasMark) files.writeMark();
    removeWhole(to);
    await renameSynced(beside, to, clock);
  } catch (error) {
    files.close();
    removeWhole(beside);
    throw asArchiveFault(error);
  }
}

/** An error of zlib as the refusal of a damaged archive; any other as it is. */
function asArchiveFault(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith("Z_")) return error;
  return new UpdateError("archive", `the archive is damaged (${message}): refused`);
}

function refuse(what: string): never {
  throw new UpdateError("archive", `the archive ${what}: refused`);
}

class UnpackedFiles {
  readonly #root: string;
  readonly #limits: UnpackLimits;
  /** Folders that were made, below the root; all are ours, so none of them is a link. */
  readonly #folders = new Set<string>();
  /** In small letters: Windows knows no other difference. */
  readonly #names = new Set<string>();
  #mark: Buffer | undefined;
  #isMark = false;
  #open: number | undefined;
  #bytes = 0;
  #entries = 0;

  constructor(root: string, limits: UnpackLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  begin({ kind, path, size, isExecutable }: TarEntry): void {
    this.#entries += 1;
    if (this.#entries > this.#limits.entriesMax) refuse("holds too many entries");
    // Announced sizes are added before a byte is written; the reader lets no entry exceed its own.
    this.#bytes += size;
    if (this.#bytes > this.#limits.bytesMax) refuse("unpacks to more than is allowed");
    const parts = safeParts(path);
    this.#makeFolders(kind === "folder" ? parts : parts.slice(0, -1));
    if (kind === "file") this.#beginFile(parts, size, isExecutable ? 0o755 : 0o644);
  }

  #beginFile(parts: readonly string[], size: number, mode: number): void {
    const name = parts.join("/");
    this.#claim(name);
    this.#isMark = name === MARK;
    if (!this.#isMark) {
      this.#open = openSync(join(this.#root, ...parts), "wx", mode);
      return;
    }
    if (size > MARK_BYTES_MAX) refuse("has a mark that is none");
    this.#mark = Buffer.alloc(0);
  }

  content(bytes: Buffer): void {
    if (this.#isMark) this.#mark = Buffer.concat([this.#mark ?? Buffer.alloc(0), bytes]);
    else if (this.#open !== undefined) writeFileSync(this.#open, bytes);
  }

  end(): void {
    this.#isMark = false;
    if (this.#open === undefined) return;
    fsyncSync(this.#open);
    this.close();
  }

  /** Also in the middle of a file that will not be whole. */
  close(): void {
    if (this.#open !== undefined) closeSync(this.#open);
    this.#open = undefined;
  }

  /** The names of all files and folders are on disk when this returns. */
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

/** The names of a path that stays in its folder, on every system. */
function safeParts(path: string): string[] {
  const parts = path.replace(/\/$/, "").split("/");
  const isSafe = (part: string): boolean =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    part !== "" && part !== "." && part !== ".." && !/[\\:*?"<>|\x00-\x1f\x7f]|[. ]$/.test(part);
  if (path.length > PATH_LENGTH_MAX || parts.length > DEPTH_MAX) refuse("holds too long a path");
  if (parts.every((part) => isSafe(part) && !reserved.test(part))) return parts;
  return refuse(`holds a path that may lead elsewhere, ${JSON.stringify(path)}`);
}
