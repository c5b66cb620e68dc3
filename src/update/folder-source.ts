import { constants, lstatSync, realpathSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { UpdateError } from "./errors.ts";

/** What reads a file of a repository; the caller checks its signatures and hashes. */
interface Reading {
  readonly lengthMax: number;
  readonly from?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Returns a repository's folder as an address. Throws when it is no folder. */
export function folderAddress(folder: string): string {
  try {
    const path = realpathSync(resolve(folder));
    if (lstatSync(path).isDirectory()) return pathToFileURL(path).href.replace(/\/+$/, "");
  } catch {
    // It is missing, or may not be read.
  }
  throw new UpdateError("address", `${folder} is not a folder that can be read`);
}

/**
 * Opens a file of a repository that is in a folder, such as a USB stick (docs/updates.md 4.8).
 * Below the folder nothing but folders and files is followed, so that no link, pipe or device of a
 * foreign stick is read.
 */
export async function openFolderFile(base: string, url: string, reading: Reading) {
  const { lengthMax, from = 0, signal } = reading;
  const file = pathBelow(base, url);
  const handle = await opened(file);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw refused(file, "is no file");
    if (stat.size > lengthMax) throw refused(file, `is longer than ${lengthMax} bytes`, "too-long");
    const body = bodyOf(handle, file, from, lengthMax - from, signal);
    return { offset: from, hasLength: true, body };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const refused = (file: string, why: string, code: "address" | "too-long" = "address") =>
  new UpdateError(code, `${file} ${why}: refused`);

/** Returns the path of an address below the folder. Throws for one that could lead elsewhere. */
function pathBelow(base: string, url: string): string {
  const parts = url.startsWith(`${base}/`) ? url.slice(base.length + 1).split("/") : [""];
  const names = parts.map(decodeURIComponent);
  const isName = (name: string): boolean => !/^\.{0,2}$|[/\\\0]/.test(name);
  if (!names.every(isName)) throw refused(url, "leads out of its folder");
  let path = fileURLToPath(base);
  for (const name of names) {
    path = join(path, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) throw refused(path, "is a link");
  }
  return path;
}

async function opened(file: string): Promise<FileHandle> {
  // A pipe would never answer, so it is opened without waiting and refused by its kind.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  try {
    return await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw unreadable(file, cause);
    const more = { cause, status: 404 };
    throw new UpdateError("http-status", `${file} is missing`, more);
  }
}

const unreadable = (file: string, cause: unknown): UpdateError =>
  new UpdateError("unreachable", `${file} cannot be read: ${(cause as Error).message}`, { cause });

/** Yields the chunks of a file, which may grow meanwhile, and closes it. */
async function* bodyOf(
  handle: FileHandle,
  file: string,
  start: number,
  bytesMax: number,
  signal: AbortSignal | undefined,
) {
  let bytes = 0;
  try {
    for await (const chunk of handle.createReadStream({ start }) as AsyncIterable<Buffer>) {
      signal?.throwIfAborted();
      bytes += chunk.length;
      if (bytes > bytesMax) throw refused(file, "grew longer than it may be", "too-long");
      yield chunk;
    }
  } catch (error) {
    const isOurs = error instanceof UpdateError || (error as Error).name === "AbortError";
    throw isOurs ? error : unreadable(file, error);
  } finally {
    await handle.close();
  }
}
