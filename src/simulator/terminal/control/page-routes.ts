import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { pageFile } from "../../../shared/process/page-packages.ts";

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
      reply.type(`${type}; charset=utf-8`).send(readFileSync(path)),
    );
  }
}

export function sendPage(reply: FastifyReply): FastifyReply {
  return reply.type("text/html; charset=utf-8").send(readFileSync(own("terminal.html")));
}

/** Of every answer, the refusals too: no other page may keep, frame, open or guess at it. */
export function guardAnswers(server: FastifyInstance): void {
  server.addHook("onRequest", (_request, reply, done) => {
    void reply.headers({
      "cache-control": "no-store",
      "content-security-policy": policy,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    done();
  });
}
