import { gzipSync } from "node:zlib";

/** Archives as nobody should make them, block by block. */
export interface Entry {
  readonly path: string;
  readonly content?: string | Buffer;
  readonly type?: string;
  readonly mode?: number;
  readonly linkTo?: string;
  /** Written into the header instead of the content's own size. */
  readonly size?: number;
}

const BLOCK = 512;
const octal = (value: number, length: number): string =>
  `${value.toString(8).padStart(length - 1, "0")}\0`;

function headerOf(entry: Entry, length: number): Buffer {
  const { path, type = "0", mode = 0o644, linkTo = "", size = length } = entry;
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0, 100, "utf8");
  block.write(octal(mode, 8), 100);
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136);
  block.fill(" ", 148, 156);
  block.write(type, 156);
  block.write(linkTo, 157, 100);
  block.write("ustar\x0000", 257, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(octal(sum, 7), 148);
  return block;
}

export function tar(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? "");
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [headerOf(entry, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

export const tarGz = (entries: readonly Entry[]): Buffer => gzipSync(tar(entries));

/** The record of a header of type x: its length counts itself. */
export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = Buffer.byteLength(rest);
  const digits = String(length + String(length).length).length;
  return `${length + digits}${rest}`;
}
