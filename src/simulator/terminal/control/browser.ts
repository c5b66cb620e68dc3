import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
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

/** Sent by browsers with every request; programs send none of these. */
const ownSites = new Set(["same-origin", "none"]);

/**
 * Refuses requests of other web pages, across origins or through another name of this host. A link
 * on another page may open our own page, and nothing else.
 */
export function refuseCrossOriginRequests(server: FastifyInstance): void {
  server.addHook("onRequest", async (request, reply) => {
    if (isLocal(request) && (isOwn(request) || opensPage(request))) return;
    await reply.code(403).send({ error: "only local programs and this page may use this" });
  });
}

function isLocal({ headers }: FastifyRequest): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? "");
}

function isOwn({ headers }: FastifyRequest): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  const from = origin === undefined || origin === `http://${headers.host}`;
  return from && (site === undefined || ownSites.has(String(site)));
}

function opensPage({ headers, method, url }: FastifyRequest): boolean {
  const { "sec-fetch-mode": mode, "sec-fetch-dest": destination } = headers;
  return method === "GET" && url === "/" && mode === "navigate" && destination === "document";
}
