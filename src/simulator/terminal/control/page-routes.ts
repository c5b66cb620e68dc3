import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { pageFile } from "../../../shared/page-packages.ts";

/** Nothing but the page's own files and calls to this program; no script inside the page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const own = (name: string): string => pageFile(`simulator/terminal/page/${name}`);

const files: Readonly<Record<string, { readonly path: string; readonly type: string }>> = {
  "terminal.css": { path: own("terminal.css"), type: "text/css" },
  "terminal.js": { path: own("terminal.js"), type: "text/javascript" },
  "device.js": { path: own("device.js"), type: "text/javascript" },
  "bench.js": { path: own("bench.js"), type: "text/javascript" },
  "wire.js": { path: own("wire.js"), type: "text/javascript" },
  "link.js": { path: own("link.js"), type: "text/javascript" },
  "vendor/htm-preact.js": { path: own("vendor/htm-preact.js"), type: "text/javascript" },
};

/** The terminal to touch, a page that makes the calls of this API and no others. */
export function pageRoutes(server: FastifyInstance): void {
  for (const [name, { path, type }] of Object.entries(files)) {
    server.get(`/page/${name}`, (_request, reply) =>
      guarded(reply).type(`${type}; charset=utf-8`).send(readFileSync(path)),
    );
  }
}

export function sendPage(reply: FastifyReply): FastifyReply {
  return guarded(reply)
    .type("text/html; charset=utf-8")
    .send(readFileSync(own("terminal.html")));
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header("cache-control", "no-store")
    .header("content-security-policy", policy)
    .header("cross-origin-resource-policy", "same-origin")
    .header("x-content-type-options", "nosniff")
    .header("referrer-policy", "no-referrer");
}
