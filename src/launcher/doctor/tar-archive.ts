import { gzipSync } from "node:zlib";

export interface ArchiveFile {
  /** ASCII, at most 100 characters, with / between folders. */
  readonly name: string;
  readonly content: Buffer;
}

const BLOCK_BYTES = 512;

/** A gzipped tar archive in the form of POSIX.1-1988 (ustar), which every system can open. */
export function tarGz(files: readonly ArchiveFile[], modifiedMs: number): Buffer {
  const blocks = files.flatMap(({ name, content }) => [
    header(name, content.length, modifiedMs),
    content,
    Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES),
  ]);
  // Two empty blocks end an archive.
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]));
}

/** IEEE 1003.1, "ustar Interchange Format": numbers are octal text. */
function header(name: string, bytes: number, modifiedMs: number): Buffer {
  if (!/^[\x20-\x7e]{1,100}$/.test(name)) throw new Error(`no name for an archive: ${name}`);
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, "0"), at, "latin1");
  block.write(name, 0, "latin1");
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(bytes, 124, 11);
  octal(Math.floor(modifiedMs / 1_000), 136, 11);
  block.fill(" ", 148, 156); // the checksum counts as blanks while it is computed
  block.write("0", 156, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  block.write("\u0000 ", 154, "latin1");
  return block;
}
