import { createHash, getHashes } from "node:crypto";
import {
  closeSync,
  createReadStream,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { syncFolder } from "../shared/store/store-file.ts";
import { makeFolder, patiently, removeWhole } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import type { WebSource } from "./web-source.ts";

/** A file as the signed metadata describe it. */
interface Signed {
  readonly path: string;
  readonly length: number;
  readonly hashes: Readonly<Record<string, string>>;
}

interface Download {
  readonly source: WebSource;
  readonly url: string;
  /** Where the file lies at the end, whole and verified. */
  readonly file: string;
  readonly target: Signed;
  readonly signal?: AbortSignal | undefined;
}

/** A broken line is taken up again this often in one go; then the next go takes it up. */
const ATTEMPTS_MAX = 5;

/**
 * Downloads a target, or finds that it is there (docs/updates.md 2.3). A part that came before a
 * broken line stays beside it and is taken up again; a file whose length or hash is not the signed
 * one is removed.
 */
export async function downloadTarget(download: Download): Promise<void> {
  const { file, target } = download;
  if (sizeOf(file) === target.length && (await faultOf(file, target)) === undefined) return;
  makeFolder(dirname(file));
  const part = join(dirname(file), `.${basename(file)}.part`);
  if (sizeOf(part) > target.length) removeWhole(part);
  const hadPart = sizeOf(part) > 0;
  await completePart(download, part);
  let fault = await faultOf(part, target);
  if (fault !== undefined && hadPart) {
    // The old part may be the wrong one, so the file gets one try from its beginning.
    removeWhole(part);
    await completePart(download, part);
    fault = await faultOf(part, target);
  }
  if (fault !== undefined) {
    removeWhole(part);
    throw fault;
  }
  patiently(() => renameSync(part, file));
  syncFolder(dirname(file));
}

async function completePart(download: Download, part: string): Promise<void> {
  for (let attempt = 1; sizeOf(part) < download.target.length || attempt === 1; attempt++) {
    const before = sizeOf(part);
    try {
      await readOn(download, part, before);
    } catch (error) {
      const { code } = error as UpdateError;
      if (code === "too-long" || code === "too-short") removeWhole(part);
      const isBroken = code === "unreachable" && sizeOf(part) > before;
      if (!isBroken || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

/** Reads on from where the part ends, and has it on disk when it resolves. */
async function readOn({ source, url, target, signal }: Download, part: string, from: number) {
  const handle = openSync(part, from > 0 ? "r+" : "w", 0o600);
  try {
    if (from === target.length) return;
    const reading = { from, lengthMax: target.length, signal };
    const { offset, isLengthTold, body } = await source.open(url, reading);
    ftruncateSync(handle, offset);
    let at = offset;
    for await (const chunk of body) {
      writeSync(handle, chunk, 0, chunk.length, at);
      at += chunk.length;
    }
    if (at < target.length) {
      const text = `${target.path} ends after ${at} bytes of ${target.length}: refused`;
      throw new UpdateError(isLengthTold ? "too-short" : "unreachable", text);
    }
  } finally {
    fsyncSync(handle);
    closeSync(handle);
  }
}

/** undefined: the length and every hash that this machine can compute are the signed ones. */
async function faultOf(file: string, target: Signed): Promise<UpdateError | undefined> {
  const size = sizeOf(file);
  if (size !== target.length) {
    const text = `${target.path} has ${size} bytes, signed are ${target.length}: refused`;
    return new UpdateError("too-short", text);
  }
  const known = Object.entries(target.hashes).filter(([name]) => getHashes().includes(name));
  if (known.length === 0) {
    return new UpdateError("wrong-hash", `${target.path} has no hash that is known here: refused`);
  }
  for (const [name, signed] of known) {
    const hash = createHash(name);
    await pipeline(createReadStream(file), hash);
    if (hash.digest("hex") === signed.toLowerCase()) continue;
    return new UpdateError("wrong-hash", `${target.path} has not the signed ${name}: refused`);
  }
  return undefined;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
