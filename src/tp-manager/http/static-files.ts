import { readdirSync, readFileSync } from "node:fs";
import { extname, posix } from "node:path";
import type { FastifyInstance } from "fastify";
import { packageFiles, pageFile } from "../../shared/process/page-packages.ts";
import { assetFile } from "../../shared/version-files.ts";

/**
 * A page may load files of its own origin and speak with it, and nothing else: no script and no
 * style inside the page, no frame around it, no text that becomes a script.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Serves the files of a folder below `src`, and those of packages that belong into it, without a
 * session: they hold no data. `index.html` is `/`. They are part of the program, so each is read
 * once.
 */
export function serveFiles(app: FastifyInstance, folder: string): void {
  for (const path of filesIn(folder)) {
    const type = types[extname(path)] ?? "application/octet-stream";
    let content: Buffer | undefined;
    app.get(
      path === "index.html" ? "/" : `/${path}`,
      { config: { open: "file" } },
      (_request, reply) => {
        content ??= readFileSync(pageFile(posix.join(folder, path)));
        void reply.headers({ "content-security-policy": pagePolicy, "content-type": type });
        return reply.send(content);
      },
    );
  }
}

/** Paths below the folder, with forward slashes. */
function filesIn(folder: string): string[] {
  const own = readdirSync(assetFile(folder), { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => types[extname(path)] !== undefined);
  const packages = Object.keys(packageFiles)
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => path.slice(folder.length + 1));
  return [...new Set([...own, ...packages])].sort();
}
