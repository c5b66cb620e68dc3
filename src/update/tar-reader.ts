import { UpdateError } from "./errors.ts";

/* The part of the tar format (IEEE 1003.1) that our archives use: files and folders. */

const BLOCK = 512;
/** Of a pax header: a few names and numbers. */
const HEADER_BYTES_MAX = 65_536;

export interface TarEntry {
  readonly kind: "file" | "folder";
  readonly path: string;
  readonly size: number;
  readonly isExecutable: boolean;
}

interface TarVisitor {
  begin(entry: TarEntry): void;
  content(bytes: Buffer): void;
  end(): void;
}

function refuse(what: string): never {
  throw new UpdateError("archive", `the archive ${what}: refused`);
}

/** Takes an archive in pieces of any size and passes its entries to a visitor. */
export class TarReader {
  readonly #visitor: TarVisitor;
  #held: Buffer = Buffer.alloc(0);
  /** Bytes that are left of the entry's content, and after it to the end of its last block. */
  #left = 0;
  #padding = 0;
  /** Of a pax header or long name that is being read; undefined: content goes to the visitor. */
  #header: { readonly type: string; bytes: Buffer } | undefined;
  #next: { path?: string; size?: number } = {};
  #isEntry = false;
  #zeroBlocks = 0;

  constructor(visitor: TarVisitor) {
    this.#visitor = visitor;
  }

  push(bytes: Buffer): void {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    while (this.#step()) {
      // One step takes one block, or the content that is there.
    }
  }

  /** No more bytes come. Throws when the archive is not at its end. */
  finish(): void {
    if (this.#zeroBlocks < 2 || this.#isEntry || this.#held.length > 0) refuse("breaks off");
  }

  #step(): boolean {
    if (this.#left > 0) return this.#takeContent();
    if (this.#padding > 0) return this.#takePadding();
    if (this.#isEntry) this.#endEntry();
    if (this.#held.length < BLOCK) return false;
    const block = this.#take(BLOCK);
    if (block.every((byte) => byte === 0)) this.#zeroBlocks += 1;
    else if (this.#zeroBlocks > 0) refuse("goes on behind its end");
    else this.#beginEntry(block);
    return true;
  }

  #take(count: number): Buffer {
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  #takeContent(): boolean {
    if (this.#held.length === 0) return false;
    const bytes = this.#take(Math.min(this.#left, this.#held.length));
    this.#left -= bytes.length;
    if (this.#header) this.#header.bytes = Buffer.concat([this.#header.bytes, bytes]);
    else this.#visitor.content(bytes);
    return true;
  }

  #takePadding(): boolean {
    if (this.#held.length === 0) return false;
    this.#padding -= this.#take(Math.min(this.#padding, this.#held.length)).length;
    return true;
  }

  #beginEntry(block: Buffer): void {
    checkSum(block);
    const type = String.fromCharCode(block[156] ?? 0);
    const isHeader = "xgL".includes(type);
    const size = isHeader
      ? numberIn(block, 124, 12)
      : (this.#next.size ?? numberIn(block, 124, 12));
    this.#isEntry = true;
    this.#left = size;
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
    if (isHeader) {
      if (size > HEADER_BYTES_MAX) refuse("has a header of more bytes than any needs");
      this.#header = { type, bytes: Buffer.alloc(0) };
      return;
    }
    const path = this.#next.path ?? pathIn(block);
    const kind = kindOf(type, path);
    if (kind === "folder" && size > 0) refuse(`gives the folder ${path} a content`);
    const isExecutable = (numberIn(block, 100, 8) & 0o100) !== 0;
    this.#next = {};
    this.#visitor.begin({ kind, path, size, isExecutable });
  }

  #endEntry(): void {
    this.#isEntry = false;
    const { type, bytes } = this.#header ?? { type: "", bytes: Buffer.alloc(0) };
    if (!this.#header) this.#visitor.end();
    this.#header = undefined;
    if (type === "x") this.#next = { ...this.#next, ...paxRecords(bytes) };
    if (type === "L") this.#next.path = textIn(bytes, 0, bytes.length);
  }
}

/** Links, devices, pipes and sparse files are in no archive of ours. */
function kindOf(type: string, path: string): "file" | "folder" {
  if (type === "0" || type === "\0") return path.endsWith("/") ? "folder" : "file";
  if (type === "5") return "folder";
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
  if (!/^[0-7]+$/.test(text)) refuse("has a number that is none");
  return Number.parseInt(text, 8);
}

function pathIn(block: Buffer): string {
  const isUstar = textIn(block, 257, 6) === "ustar";
  const prefix = isUstar ? textIn(block, 345, 155) : "";
  const name = textIn(block, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** `LENGTH KEY=VALUE\n`, one after the other; only path and size matter here. */
function paxRecords(bytes: Buffer): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {};
  for (let at = 0; at < bytes.length; ) {
    const [head, told] = /^(\d{1,6}) /.exec(bytes.subarray(at, at + 7).toString("latin1")) ?? [];
    const end = at + Number(told);
    if (head === undefined || end > bytes.length || end <= at + head.length) {
      refuse("has a damaged header");
    }
    const record = bytes.subarray(at + head.length, end - 1).toString("utf8");
    const [, key, value = ""] = /^([^=]+)=(.*)$/s.exec(record) ?? [];
    if (key === "path") found.path = value;
    if (key === "size" && !/^\d{1,12}$/.test(value)) refuse("has a number that is none");
    if (key === "size") found.size = Number(value);
    if (key === "linkpath") refuse("holds a link");
    at = end;
  }
  return found;
}
