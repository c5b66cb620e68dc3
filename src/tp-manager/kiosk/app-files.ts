import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../shared/catalog/errors.ts";
import { readOr } from "../../shared/read-or.ts";
import { contentPolicy, fileTypes } from "../http/static-files.ts";

const policy = contentPolicy([
  "img-src 'self' data:",
  "font-src 'self'",
  "media-src 'self'",
  "manifest-src 'self'",
]);

interface AppFolder {
  readonly folder: string;
  /** The data folder, which has the passwords; nothing in it is served. */
  readonly dataDirectory: string;
}

/**
 * Serves the files below `folder` as they are now, without a session: they hold no data
 * (docs/browser-kiosk.md 2). A file is not served if a part of its path begins with a dot, if a
 * link leads to it, or if it is in the data folder and `folder` is not.
 */
export function serveApp(app: FastifyInstance, served: AppFolder): void {
  app.get("/*", { config: { open: "file" } }, async (request, reply) => {
    // Below /api there are no files but only the API's calls, which another handler answers.
    if (/^\/api(\/|$)/.test(request.url)) return reply.callNotFound();
    const path = pathOf(request);
    const file = path === undefined ? undefined : await opened(served, path);
    if (!path || !file) throw new AppError("NOT_FOUND", "There is no such file.");
    const { size } = await file.stat();
    return await reply
      .headers({
        "content-security-policy": policy,
        "content-type": fileTypes[extname(path).toLowerCase()],
        "content-length": size,
      })
      .send(await contentOf(file, size));
  });
}

/** Returns the path of the requested file; undefined: the URL can name no file of the folder. */
function pathOf({ url }: FastifyRequest): string | undefined {
  const path = readOr(undefined, () => decodeURIComponent(url.split("?")[0] ?? ""));
  if (path === undefined) return undefined;
  const parts = path.slice(1).split("/");
  if (parts.at(-1) === "") parts[parts.length - 1] = "index.html";
  const isPlain = parts.every((part) => /^[^.\\:\0][^\\:\0]*$/.test(part));
  const isKnown = fileTypes[extname(parts.at(-1) ?? "").toLowerCase()];
  return isPlain && isKnown ? parts.join(sep) : undefined;
}

/** Returns as many bytes of the file as were announced, even if the file grows meanwhile. */
async function contentOf(file: FileHandle, size: number) {
  if (size > 0) return file.createReadStream({ end: size - 1 });
  await file.close();
  return "";
}

/** The flags for opening a file without waiting for a pipe's writer; Windows has no such flag. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Opens a file; undefined: there is none, it is no plain file, or it is not to be served. */
async function opened(served: AppFolder, path: string): Promise<FileHandle | undefined> {
  let file: FileHandle | undefined;
  try {
    const root = await realpath(served.folder);
    const data = await realpath(served.dataDirectory);
    const wanted = join(root, path);
    if (isBelow(wanted, data) && !isBelow(root, data)) return undefined;
    file = await open(wanted, OPEN_FLAGS);
    const [real, facts] = [await realpath(wanted), await file.stat()];
    if (real === wanted && facts.isFile()) return file;
  } catch {
    // A file that is missing or cannot be read is not served.
  }
  await file?.close();
  return undefined;
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
