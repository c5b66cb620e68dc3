import { readdirSync, readFileSync } from "node:fs";
import { extname, join, posix } from "node:path";
import type { FastifyInstance } from "fastify";
import { packageFiles, pageFile } from "../../shared/process/page-packages.ts";
import { assetFile } from "../../shared/version-files.ts";

/**
 * Returns the content security policy of pages: files and connections of their own origin only, no
 * inline scripts or styles, no frame. `media`: directives for images and the like.
 */
export const contentPolicy = (media: readonly string[], more: readonly string[] = []): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ...media,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join("; ");

/** Directives of Trusted Types: no text can become a script. */
const trusted = ["require-trusted-types-for 'script'", "trusted-types 'none'"];
const pagePolicy = contentPolicy(["img-src 'self'"], trusted);

/** The content types of files by their endings; other files are not served. */
export const fileTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp",
  ".gif": "image/gif",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
};

/**
 * Serves a folder of `src` and the npm files that belong to it, without a session, because they
 * hold no data. Each file is read once: the program's files do not change while it runs. `made`
 * returns the content of a file that is not served as it is, by its path in the folder.
 */
export function serveFiles(
  app: FastifyInstance,
  folder: string,
  made: (path: string) => string | undefined,
): void {
  for (const path of filesIn(folder)) {
    const type = fileTypes[extname(path)] ?? "application/octet-stream";
    let content: Buffer | string | undefined;
    app.get(
      path === "index.html" ? "/" : `/${path}`,
      { config: { open: "file" } },
      (_request, reply) => {
        content ??= made(path) ?? readFileSync(pageFile(posix.join(folder, path)));
        void reply.headers({ "content-security-policy": pagePolicy, "content-type": type });
        return reply.send(content);
      },
    );
  }
}

function filesIn(folder: string): string[] {
  const below = filesBelow(assetFile(folder));
  const own = below.filter((path) => fileTypes[extname(path)] !== undefined);
  const packages = Object.keys(packageFiles)
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => path.slice(folder.length + 1));
  return [...new Set([...own, ...packages])].sort();
}

/** Returns relative paths. The option `recursive` would make each from two whole paths, slowly. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? filesBelow(join(folder, entry.name)).map((path) => `${entry.name}/${path}`)
      : [entry.name],
  );
}
