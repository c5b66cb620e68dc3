/*
 * The entry of a bundled program that a kiosk runs all the time. It runs the script next to it,
 * `NAME.script.js`, with the code that V8 had compiled when an earlier start was ready. Node's own
 * compile cache has a module as it was before it ran, without the functions that a start calls.
 */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { basename, join } from "node:path";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

const CHECKSUM_BYTES = 4;

const filename = import.meta.filename.replace(/\.js$/, ".script.js");
const folder = getCompileCacheDir();
const cacheFile = folder && join(folder, `${basename(filename)}.compiled`);

const { script, checksum, isKept } = compiled();
const importMeta = { ...import.meta, filename, keepCompiled };
await script.runInThisContext()(importMeta, (specifier: string) => import(specifier));

function compiled() {
  const text = readFileSync(filename);
  const checksum = crc32(text);
  const cachedData = keptCode(checksum);
  const script = new Script(text.toString("latin1"), {
    filename,
    ...(cachedData && { cachedData }),
  });
  for (const read of [text, cachedData]) giveBack(read);
  return { script, checksum, isKept: script.cachedDataRejected === false };
}

/** Gives the memory of a large file back, which a garbage collection would do much later. */
function giveBack(read?: Buffer<ArrayBuffer>): void {
  if (read && read.length > Buffer.poolSize) read.buffer.transfer(0);
}

/**
 * Returns the code of an earlier start. undefined: there is none, or it is damaged, or it is of
 * another text. V8 itself rejects the code of another version of V8, or of other switches.
 */
function keptCode(checksum: number): Buffer<ArrayBuffer> | undefined {
  if (cacheFile === undefined) return undefined;
  try {
    const file = readFileSync(cacheFile);
    const code = file.subarray(0, -CHECKSUM_BYTES);
    return file.readUInt32LE(code.length) === crc32(code, checksum) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps what V8 has compiled by now; without it, the next start compiles the program again. */
function keepCompiled(): void {
  if (cacheFile === undefined || isKept) return;
  const code = script.createCachedData();
  const end = Buffer.alloc(CHECKSUM_BYTES);
  end.writeUInt32LE(crc32(code, checksum));
  try {
    writeFileSync(`${cacheFile}.part`, Buffer.concat([code, end]), { mode: 0o600 });
    renameSync(`${cacheFile}.part`, cacheFile);
  } catch {
    // The disk is full, or another process writes the same file.
  }
}
